"""A fuzz session with an NSQ client: which states it can play, and cases tried with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Final

from wireproof_kit.clients.launch import check_command
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.session import ROLES, explain
from wireproof_kit.clients.story import Story
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.fuzz.case import GRAMMAR, WHOLE, Case, Step
from wireproof_kit.fuzz.driver import Choice, ClientRunResult, Generation
from wireproof_kit.fuzz.generate.case_sources import make_generation, names_of
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, SETTINGS
from wireproof_kit.nsq.clients.events import ORDERED, Commanded, Requested
from wireproof_kit.nsq.clients.fuzz import states
from wireproof_kit.nsq.clients.fuzz.frames import grammar
from wireproof_kit.nsq.clients.fuzz.idle import IdleCases
from wireproof_kit.nsq.clients.fuzz.run import ClientRun, RunResult
from wireproof_kit.nsq.clients.fuzz.states import (
    HTTP_PLACES,
    LOOKUP_DEAD,
    LOOKUP_DOWN,
    PUSH,
    STATES,
    Situation,
)
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript

AT_ONCE: Final = 12
"""How many clients run at once: most of the time each waits until it may connect again."""
CASES_A_RUN: Final = 16
"""How many cases one start of a client tries.

Many, since a program may take half a second to start, but so few that clients run in parallel.
"""
FIRST_S: Final = 15.0
FACTOR: Final = 3
LEAST_S, MOST_S = 4.0, 40.0
REHEARSED: Final = 2


@dataclass(slots=True)
class NsqClientSession:
    """The client of a fuzz campaign; it is started anew for every few cases."""

    command: str
    states: tuple[str, ...] = ()
    patience_s: float = FIRST_S
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])
    is_closed: bool = False

    def meet(self, role: str | None) -> None:
        """Start the client once for each situation that it may be tested in, without a fault.

        ``role`` limits these situations.

        Raises:
            UsageFault: the client cannot be started.
            TargetUnreachable: the client works in none of the situations.
        """
        played = ROLES[role]
        runs = self._rehearse_all([Situation(each, PUSH) for each in played])
        able = [each.role for each, run in runs.items() if run.done == REHEARSED]
        lacking: list[Role] = [each for each in played if each not in able]
        if not able or (role is not None and lacking):
            run = runs[Situation(lacking[0], PUSH)]
            raise TargetUnreachable(explain(NSQ_CLIENTS, self.command, lacking[0], run.story))
        further = [each for each in states.clients(STATES) if each.role in able]
        runs |= self._rehearse_all([each for each in further if each not in runs])
        fit = {each: run for each, run in runs.items() if run.done == REHEARSED}
        self.states = tuple(
            name for name, each in STATES.items() if _is_played(each, fit.get(each.client))
        )
        self.fingerprint = {**self.fingerprint, "states": " ".join(self.states)}
        slowest = max(run.slowest_s for run in fit.values())
        self.patience_s = min(max(FACTOR * slowest, LEAST_S), MOST_S)

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, in the states that the client can be brought into."""
        known = grammar()
        frames = choice.frames or tuple(names_of(known))
        chosen = choice.states or self.states
        inner = make_generation(known, replace(choice, frames=frames, states=chosen))
        return IdleCases(inner, choice, tuple(each for each in states.IDLE if each in chosen))

    def arrange(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Return the cases ordered so that those for the same kind of client are together."""
        order = {each: number for number, each in enumerate(states.clients(STATES))}
        return sorted(cases, key=lambda case: order[STATES[case.state].client])

    def perform(
        self, cases: Sequence[Case], is_stopped: Callable[[], bool]
    ) -> Iterator[ClientRunResult]:
        """Send the cases to one client after the other; yield the result for each client."""
        clients = dict.fromkeys(STATES[case.state].client for case in cases)
        parts = [
            part
            for client in clients
            for part in _divide([c for c in cases if STATES[c.state].client == client])
        ]
        results = SimpleQueue[ClientRunResult | None]()
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="client-fuzz") as pool:
            doing = [pool.submit(self._perform, part, is_stopped, results.put) for part in parts]
            left = len(doing)
            while left:
                # One at a time, and at once: it may be enough for whoever asked.
                result = results.get()
                left -= result is None
                if result is not None:
                    yield result
            for each in doing:
                each.result()

    def record(self, cases: Sequence[Case], is_stopped: Callable[[], bool]) -> Transcript:
        """Send the cases of one client once more, and return the transcript."""
        transcript = Transcript()
        client = STATES[cases[-1].state].client
        self._run(client, cases, is_stopped, transcript).play()
        return transcript

    def close(self) -> None:
        """End every client of this session that still runs; others may run in this process."""
        self.is_closed = True

    def _perform(
        self,
        cases: Sequence[Case],
        is_stopped: Callable[[], bool],
        tell: Callable[[ClientRunResult | None], None],
    ) -> None:
        """Try all cases, with another client after each that violated a rule; tell None last."""
        client = STATES[cases[0].state].client
        left = tuple(cases)
        try:
            while left and not is_stopped():
                run = self._run(client, left, is_stopped, Transcript()).play()
                tried = min(run.done + (run.trouble is not None), len(left))
                if not tried:
                    break
                tell(ClientRunResult(left[:tried], run.trouble, run.key, run.log))
                left = left[tried:]
        finally:
            tell(None)

    def _run(
        self,
        client: Situation,
        cases: Sequence[Case],
        is_stopped: Callable[[], bool],
        transcript: Transcript,
    ) -> ClientRun:
        def is_over() -> bool:
            return self.is_closed or is_stopped()

        return ClientRun(self.command, client, cases, self.patience_s, is_over, transcript)

    def _rehearse_all(self, clients: Sequence[Situation]) -> dict[Situation, RunResult]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="client-fuzz") as pool:
            return dict(zip(clients, pool.map(self._rehearse, clients), strict=True))

    def _rehearse(self, client: Situation) -> RunResult:
        """Try the client with nothing, and with a connection that ends."""
        state = next(name for name, each in STATES.items() if each.client == client)
        cases = [_send_nothing(number, state) for number in range(REHEARSED)]
        return self._run(client, cases, lambda: False, Transcript()).play()


def open_client_session(target: Target, timeout_s: float | None) -> NsqClientSession:
    """Start a client and check that it can be fuzzed.

    Raises:
        UsageFault: the command cannot be used.
        TargetUnreachable: the client works in none of the situations.
    """
    command = target.command or ""
    check_command(command, SETTINGS)
    told = {"command": command} | ({"role": target.role} if target.role else {})
    session = NsqClientSession(command, fingerprint=told)
    session.meet(target.role)
    if timeout_s is not None:
        session.patience_s = timeout_s
    return session


def _send_nothing(number: int, state: str) -> Case:
    """Return a case that sends nothing; those with odd numbers end the connection."""
    steps = (Step(b"", WHOLE),)
    return Case(number, state, NOTHING_SENT, state, GRAMMAR, steps, delimited=not number % 2)


def _divide(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Yield the cases of each run; a client must start for those that are about its start."""
    starting = [each for each in cases if STATES[each.state].place == LOOKUP_DEAD]
    yield from ([each] for each in starting)
    cases = [each for each in cases if STATES[each.state].place != LOOKUP_DEAD]
    for start in range(0, len(cases), CASES_A_RUN):
        yield cases[start : start + CASES_A_RUN]


def _is_played(situation: Situation, run: RunResult | None) -> bool:
    """Return True if a run has shown that the client does what a state is about."""
    if run is None or not _shows_ways(situation, run.story):
        return False
    paths = {event.path for event in run.story.of(Requested)}
    if situation.place in (LOOKUP_DOWN, LOOKUP_DEAD):
        return bool(paths)
    return situation.place not in HTTP_PLACES or f"/{situation.place}" in paths


def _shows_ways(situation: Situation, story: Story) -> bool:
    """Return True if a client does what makes it differ from one that is told less."""
    names = {event.name for event in story.of(Commanded)}
    if situation.role == "producer":
        wanted = "PUB_TRACE" if situation.trace else "PUB_EXT" if situation.extend else "PUB"
        return wanted in names or (wanted == "PUB" and "MPUB" in names)
    if situation.extend and not any(
        each.get("extend_support") is True for each in list_identities(story)
    ):
        return False
    if situation.trace:
        return "SUB_ADVANCED" in names
    return not situation.ordered or bool(names & ORDERED)
