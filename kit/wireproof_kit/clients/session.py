"""A session with a client: the client is probed once, then started again for every case."""

import itertools
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Generic, TypeAlias, TypeVar

from wireproof_kit.clients.client import StartedClient
from wireproof_kit.clients.events import (
    Answered,
    BadLine,
    Connected,
    Ended,
    Expired,
    Flooded,
    Greeted,
    Malformed,
    Wrote,
)
from wireproof_kit.clients.launch import PREFIX, check_command
from wireproof_kit.clients.limits import OF_SHORT_RUN
from wireproof_kit.clients.observe import RAN_OUT, has_run_out
from wireproof_kit.clients.part import ClientPart, Experiment, Role, Stories
from wireproof_kit.clients.story import STDERR, STDOUT, Story
from wireproof_kit.drivers.child import end_all
from wireproof_kit.drivers.output import Kept
from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.observation import observed
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Failure, Unsupported
from wireproof_spec.wording import show_value

CLIENT = "client"
START_S, START_LEAST, START_MOST = 30.0, 10.0, 60.0
FACTOR = 10
ANSWER_S = 0.25
"""Seconds of a loopback round trip above which the machine is too busy to judge a client."""
NOT_SHOWN = "not-shown"
"""The observation of a capability that no short run has shown, for every protocol."""
PROBES_AT_ONCE = 3
PROBE_S = 6.0
ENDING_S = 0.05
PROBE_TRIES = 3
LINE = 60
CHECK = "; for a driver, try `wireproof client --check-driver`"
ROLES: Mapping[str | None, tuple[Role, ...]] = {
    "producer": ("producer",),
    "consumer": ("consumer",),
    "both": ("producer", "consumer"),
    None: ("producer", "consumer"),
}


S = TypeVar("S")
Probed: TypeAlias = tuple[Story, Transcript]


def loopback_round_trip(within: float) -> float:
    """Measure a round trip over loopback between two threads; return its seconds.

    It tells whether this machine is fast enough to judge clients.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(within)
        answering = threading.Thread(target=_answer, args=(server,), daemon=True)
        started = time.monotonic()
        answering.start()
        with socket.create_connection(server.getsockname(), within) as connection:
            connection.sendall(b".")
            connection.recv(1)
        answering.join(within)
    return time.monotonic() - started


def _answer(server: socket.socket) -> None:
    accepted, _ = server.accept()
    with accepted:
        accepted.sendall(accepted.recv(1))


class ClientSession(Generic[S]):
    """A session with the client program of one run; its methods are thread-safe."""

    def __init__(self, part: ClientPart[S], target: Target, options: SessionOptions) -> None:
        self._part = part
        self._command = target.command or ""
        self._role = target.role
        self._token = options.run_token
        self._numbers = itertools.count(1)
        self._start_s = options.timeout or START_S
        self._least_s = options.timeout or 0.0
        self._played: Role = ROLES[target.role][0]
        self._runs: dict[str, Probed] = {}
        self._forgive: Callable[[S], S] | None = None
        self.patience = Patience(answer=ANSWER_S, push=0.0, redelivery=0.0, is_fixed=True)

    def meet(self) -> None:
        """Start the client in each role and check that it can be tested.

        Raises:
            UsageFault: the client cannot be started.
            TargetUnreachable: the client ends at once, never connects, does not play its role, or
                ends by itself after a few messages.
        """
        roles: tuple[Role, ...] = ROLES[self._role]
        played = self._meet_in(roles)
        if self._lacks_role(played, roles) and self._has_connected():
            played = self._meet_forgiven(played, roles)
        if self._lacks_role(played, roles):
            lacking: Role = next(role for role in roles if role not in played)
            story, _ = self._runs[lacking]
            raise TargetUnreachable(explain(self._part, self._command, lacking, story))
        self._check_lasting(played)
        preferred: list[Role] = [role for role in played if self._part.prefer(self._runs[role][0])]
        self._played = (preferred or played)[0]
        self._start_s = self._measured_start()
        further = self._part.further
        self._run_all({name: run for name, run in further.items() if run.role in played})

    def _meet_in(self, roles: Sequence[Role]) -> list[Role]:
        """Start the client in each role; return the roles that it plays."""
        self._run_all({name: run for name, run in self._part.first.items() if run.role in roles})
        return [role for role in roles if self._plays(role)]

    def _meet_forgiven(self, played: list[Role], roles: Sequence[Role]) -> list[Role]:
        """Start a client again with servers that also serve it at a wrong address."""
        before, self._forgive = dict(self._runs), self._part.forgive
        forgiven = self._meet_in(roles) if self._forgive is not None else played
        if self._lacks_role(forgiven, roles):
            self._runs, self._forgive = before, None
            return played
        return forgiven

    def _lacks_role(self, played: Sequence[Role], roles: Sequence[Role]) -> bool:
        return not played or (self._role is not None and len(played) < len(roles))

    def _has_connected(self) -> bool:
        return any(story.first(Connected) for story in self._stories().values())

    def _check_lasting(self, played: Sequence[Role]) -> None:
        """Refuse a program that has ended by itself before its first run was over."""
        for role in played:
            story, _ = self._runs[role]
            if has_run_out(story) and not self._part.first[role].until(story):
                raise TargetUnreachable(explain(self._part, self._command, role, story))

    def probe_capability(self, name: str) -> Probe:
        """Return what the short runs before the cases show of a capability.

        A client that other programs kept from running may have a capability that it has not shown.
        """
        seen = self._part.observe_capability(self._stories(), name)
        starved = [run for run in self._runs_about(name) if _is_starved(self._runs[run][0])]
        if seen.value == NOT_SHOWN and starved:
            note = f"other programs kept the client from running ({', '.join(starved)})"
            seen = observed("starved", note=note)
        return Probe(seen, self._evidence(name))

    def probe_reading(self, name: str) -> Probe:
        """Return which reading the client follows, if a short run shows that."""
        return Probe(self._part.observe_reading(self._stories(), name), Transcript())

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the client for one run of a case, with topics and other names of its own."""
        return {CLIENT: self._client(transcript)} if CLIENT in names else {}

    def release(self, arguments: Mapping[str, object]) -> None:
        """Do nothing: a client is ended when its case ends."""

    def open_ledger(self) -> Ledger:
        """Return what judges the connections of all cases of a run."""
        return self._part.open_ledger()

    def control(self) -> Control:
        """Measure a round trip over loopback between threads, to see if the machine is busy."""
        return control_round_trip(loopback_round_trip, self.patience)

    def is_alive(self) -> bool:
        """Return True: the next case starts a new client."""
        return True

    def fingerprint(self) -> dict[str, str]:
        """Return what the client's driver reports about itself, and the client's command line."""
        facts = {"command": self._command}
        if self._part.describe is not None:
            facts |= self._part.describe(self._stories())
        for story in self._stories().values():
            greeted = story.first(Greeted)
            if greeted is not None:
                hello = greeted.hello
                facts |= {"name": hello.name, "version": hello.version, "driver": "yes"}
        if self._role is not None:
            facts["role"] = self._role
        return facts

    def begin(self, kinds: object) -> None:
        """Do nothing: cases share nothing."""

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Do nothing: the client itself decides which spellings it uses."""

    def prepare(self, kinds: object) -> None:
        """Do nothing: every case has servers of its own."""

    def close(self) -> None:
        """End every client process that still runs."""
        end_all()

    def _client(self, transcript: Transcript) -> StartedClient[S]:
        return StartedClient(
            part=self._part,
            command=self._command,
            names=self._part.name(self._token, next(self._numbers)),
            role=self._played,
            start_s=self._start_s,
            transcript=transcript,
            least_s=self._least_s,
            forgive=self._forgive,
        )

    def _run_all(self, experiments: Mapping[str, Experiment[S]]) -> None:
        runs: dict[str, Future[Probed]] = {}
        with ThreadPoolExecutor(PROBES_AT_ONCE, thread_name_prefix="client-probe") as pool:
            try:
                for name, each in experiments.items():
                    runs[name] = pool.submit(self._run, each)
                self._runs |= {name: run.result() for name, run in runs.items()}
            except BaseException:
                _end_probes(tuple(runs.values()))
                raise

    def _run(self, experiment: Experiment[S]) -> Probed:
        """Play a short run; again if the client was kept from running meanwhile."""
        for _ in range(PROBE_TRIES - 1):
            story, transcript = self._run_once(experiment)
            if not _is_starved(story):
                return story, transcript
        return self._run_once(experiment)

    def _run_once(self, experiment: Experiment[S]) -> Probed:
        transcript = Transcript()
        client = replace(self._client(transcript), kept=OF_SHORT_RUN)
        return client.play(experiment.script, experiment.until, within=PROBE_S), transcript

    def _stories(self) -> Stories:
        return {name: story for name, (story, _) in self._runs.items()}

    def _plays(self, role: Role) -> bool:
        return self._part.observe_capability(self._stories(), f"client-{role}").value == "ok"

    def _runs_about(self, name: str) -> list[str]:
        """Return the short runs that a capability is named after, else the first ones."""
        short = name.removeprefix(f"{CLIENT}-")
        named = [run for run in self._runs if run.startswith(short)]
        return named or [run for run in self._runs if run in self._part.first]

    def _evidence(self, name: str) -> Transcript:
        return self._runs[self._runs_about(name)[0]][1]

    def _measured_start(self) -> float:
        """Return the time limit of a start: far longer than the slowest start seen."""
        firsts = [story.first(Connected) for story in self._stories().values()]
        slowest = max((event.at for event in firsts if event is not None), default=START_S)
        return min(max(FACTOR * slowest, START_LEAST), START_MOST)


def _end_probes(runs: Sequence[Future[Probed]]) -> None:
    """End the clients of all short runs; one may just be starting another client."""
    for run in runs:
        run.cancel()
    while wait(runs, ENDING_S).not_done:
        end_all()


def _is_starved(story: Story) -> bool:
    return story.has_expired() and story.is_starved()


def open_client(part: ClientPart[S], target: Target, options: SessionOptions) -> ClientSession[S]:
    """Start a client and check that it can be tested.

    Raises:
        UsageFault: an option does not apply to clients, or the command cannot be used.
        TargetUnreachable: the client ends at once, never connects, or does not play its role.
    """
    if options.topics:
        raise UsageFault("--topic cannot be used with a client; leave it out")
    check_command(target.command or "", part.settings)
    session = ClientSession(part, target, options)
    try:
        session.meet()
    except BaseException:
        session.close()
        raise
    return session


def explain(
    part: ClientPart[S], command: str, role: Role, story: Story, *, undone: str = ""
) -> str:
    """Return a sentence on why a client cannot be tested in a role.

    ``undone`` says what a client did that plays the role, and what it did not do.
    """
    told = _last_words(story)
    bad = story.first(BadLine)
    if bad is not None:
        return f"`{command}` breaks the driver protocol: {bad.fault}{told}{CHECK}"
    if story.first(Connected) is None:
        return f"`{command}` {_explain_unconnected(part, story)}"
    if has_run_out(story):
        return f"`{command}`: {RAN_OUT}{told}"
    ended = story.first(Ended)
    after = f"ended with exit code {ended.code}" if ended else _describe_wait(story)
    undone = undone or f"but {part.undone[role]} as a {role}"
    malformed = story.first(Malformed)
    sent = f" (what it sent is malformed: {malformed.error})" if malformed is not None else ""
    return f"`{command}` connected {undone}{sent}, and {after}{told}"


def _explain_unconnected(part: ClientPart[S], story: Story) -> str:
    wrote, told = _no_greeting(story), _last_words(story)
    ended = story.first(Ended)
    if ended is not None:
        return f"ended with exit code {ended.code} before it connected{wrote}{told}"
    if story.first(Flooded) is not None:
        return f"wrote more than the kit keeps, and did not connect{wrote}{told}"
    if story.first(Greeted) is not None:
        return f"greeted as a driver, {_describe_answers(story)}, and did not connect{told}{CHECK}"
    filled = ", ".join(f"{{{name}}}" for name in part.addresses)
    set_to = ", ".join(f"{PREFIX}{name.upper()}" for name in part.addresses)
    given = f"did not connect to the addresses it was given ({filled}, or {set_to})"
    return f"{given}{wrote}{told}{CHECK if wrote else ''}"


def _describe_answers(story: Story) -> str:
    """Return how the driver failed at what it was asked for, and what it did not answer."""
    answers = {event.answer.id: event for event in story.of(Answered)}
    told = [told for event in answers.values() if (told := _describe_answer(event))]
    open_ = [str(asked["op"]) for id, asked in story.requests.items() if id not in answers]
    if open_:
        told.append(f"did not answer {', '.join(open_)}")
    return ", ".join(told) or "answered every request"


def _describe_answer(event: Answered) -> str:
    """Return what a driver answered to a request that it did not do; empty if it did it."""
    if isinstance(event.answer, Failure):
        return f"answered {event.op} with the error {show_value(event.answer.message, width=LINE)}"
    if isinstance(event.answer, Unsupported):
        what = show_value(event.answer.what, width=LINE)
        return f"answered that it does not support {what} of the request {event.op}"
    return ""


def _describe_wait(story: Story) -> str:
    if story.first(Flooded) is not None:
        return "sent or wrote more than the kit keeps"
    expired = story.first(Expired)
    return f"still ran after {expired.at:.0f} s" if expired else "still ran at the end"


def _no_greeting(story: Story) -> str:
    """Return, for a program that wrote to stdout, why it is not taken for a driver."""
    wrote = b"".join(event.data for event in story.of(Wrote, lambda each: each.conn == STDOUT))
    if not wrote:
        return ""
    line = show_value(next(filter(bytes.strip, wrote.splitlines()), b""), width=LINE)
    return f"; it is not taken for a driver: its first line on stdout is no greeting, {line}"


def _last_words(story: Story) -> str:
    kept = Kept()
    for event in story.of(Wrote, lambda event: event.conn == STDERR):
        kept.add(event.data)
    return f"; it wrote: {kept.end()}" if kept.size else "; it wrote nothing to stderr"
