"""A fuzz session with a client: which states it can play, and cases tried with it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Final, Generic

from wireproof_kit.clients.events import Answered
from wireproof_kit.clients.launch import check_command
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.session import PROBE_TRIES, ROLES, explain
from wireproof_kit.clients.story import Story
from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.fuzz.case import GRAMMAR, WHOLE, Case, Step
from wireproof_kit.fuzz.clients.idle import IdleCases
from wireproof_kit.fuzz.clients.part import ClientFuzzPart, S, T
from wireproof_kit.fuzz.clients.run import ClientRun, RunResult
from wireproof_kit.fuzz.driver import Choice, ClientRunResult, Generation
from wireproof_kit.fuzz.generate.case_sources import make_generation, names_of
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Unsupported

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
UNDONE: Final = (
    "and worked as a {}, but did not go on",
    "and worked as a {}, but did not come back after the kit had ended its connection",
)
"""What a client did that plays a role, by the number of its cases that were over."""


@dataclass(slots=True)
class FuzzedClient(Generic[S, T]):
    """The client of a campaign: started anew for every run of cases.

    ``states`` are those that its short runs have shown; ``not_shown`` says of each other one why
    no case is tried in it.
    """

    part: ClientFuzzPart[S, T]
    command: str
    states: tuple[str, ...] = ()
    not_shown: Mapping[str, str] = field(default_factory=dict[str, str])
    stories: list[Story] = field(default_factory=list[Story])
    is_cut: Callable[[], bool] = lambda: False
    """Returns True once the user interrupts, or the time is over; `meet` then ends at once."""
    patience_s: float = FIRST_S
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])
    is_closed: bool = False

    def meet(self, role: str | None) -> None:
        """Start the client once in each test situation, with a server that makes no mistake.

        ``role`` limits these situations.

        Raises:
            UsageFault: the client cannot be started.
            TargetUnreachable: the client works in none of the situations.
        """
        runs: dict[T, RunResult] = {}
        able: list[Role] = []
        for each in ROLES[role]:
            found = self._rehearse_all(self.part.first[each])
            if self.is_cut():
                return
            runs |= found
            if any(run.done == REHEARSED for run in found.values()):
                able.append(each)
        lacking: list[Role] = [each for each in ROLES[role] if each not in able]
        if not able or (role is not None and lacking):
            tried = [runs[each] for each in self.part.first[lacking[0]]]
            raise TargetUnreachable(self._explain_unfit(lacking[0], tried))
        further = [client for client in self.part.clients() if client.role in able]
        runs |= self._rehearse_all([each for each in further if each not in runs])
        if self.is_cut():
            return
        fit = {each: run for each, run in runs.items() if run.done == REHEARSED}
        self.states = tuple(
            name
            for name, each in self.part.states.items()
            if each.client in fit and self.part.plays(each, fit[each.client].story)
        )
        timed = self._rehearse_timed()
        late = {name for name, run in timed.items() if run.done < REHEARSED}
        away = {name for name in self.states if {name, self.part.needs.get(name)} & late}
        self.states = tuple(name for name in self.states if name not in away)
        asked = {name: each for name, each in self.part.states.items() if each.role in ROLES[role]}
        self.not_shown = {
            name: _explain_run(runs.get(each.client, runs[self.part.first[each.role][0]]))
            for name, each in asked.items()
            if name not in self.states
        } | {name: _explain_run(timed[_late_one(name, late, self.part)]) for name in away}
        self.fingerprint = {
            **self.fingerprint,
            "states": " ".join(self.states),
            "not_tried": _group_by_reason(self.not_shown),
        }
        self.stories = [run.story for run in fit.values()]
        runs_in_time = (*fit.values(), *(timed[name] for name in timed if name not in late))
        slowest = max(run.slowest_s for run in runs_in_time)
        self.patience_s = min(max(FACTOR * slowest, LEAST_S), MOST_S)

    def _explain_unfit(self, role: Role, tried: Sequence[RunResult]) -> str:
        """Return a sentence on the run that came farthest of those of a role."""
        part, run = self.part.part, max(tried, key=lambda run: run.done)
        shown = part.observe_capability({role: run.story}, f"client-{role}")
        undone = UNDONE[run.done].format(role) if shown.value == "ok" else ""
        return explain(part, self.command, role, run.story, undone=undone)

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases.

        Raises:
            UsageFault: a state is chosen that the client was not seen in.
        """
        for name in choice.states:
            if name in self.part.states and name not in self.states:
                why = self.not_shown.get(name, "it belongs to the other role")
                raise UsageFault(f"--states {name}: no case can be tried in this state: {why}")
        known = self.part.grammar(self.stories)
        frames = choice.frames or tuple(names_of(known))
        chosen = choice.states or self.states
        inner = make_generation(known, replace(choice, frames=frames, states=chosen))
        return IdleCases(inner, choice, tuple(each for each in self.part.idle if each in chosen))

    def arrange(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Return the cases with those of one client together."""
        order = {each: number for number, each in enumerate(self.part.clients())}
        return sorted(cases, key=lambda case: order[self.part.client_of(case)])

    def perform(
        self, cases: Sequence[Case], is_stopped: Callable[[], bool]
    ) -> Iterator[ClientRunResult]:
        """Try cases with one client after the other; yield what came of each."""
        clients = dict.fromkeys(map(self.part.client_of, cases))
        parts = [
            part
            for client in clients
            for part in self._divide([c for c in cases if self.part.client_of(c) == client])
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
        client = self.part.client_of(cases[-1])
        self._run(client, cases, is_stopped, transcript).play()
        return transcript

    def revive(self) -> bool:
        """Return True: each run starts a client."""
        return True

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
        client = self.part.client_of(cases[0])
        left = tuple(cases)
        try:
            while left and not is_stopped():
                run = self._play(client, left, is_stopped)
                tried = min(run.done + (run.trouble is not None), len(left))
                if not tried:
                    break
                tell(ClientRunResult(left[:tried], run.trouble, run.key, run.log))
                left = left[tried:]
        finally:
            tell(None)

    def _divide(self, cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
        """Yield the cases of each run; a client must start for those about its start."""
        starting = [case for case in cases if self.part.starts(self.part.states[case.state])]
        yield from ([each] for each in starting)
        cases = [case for case in cases if case not in starting]
        for start in range(0, len(cases), CASES_A_RUN):
            yield cases[start : start + CASES_A_RUN]

    def _run(
        self,
        client: T,
        cases: Sequence[Case],
        is_stopped: Callable[[], bool],
        transcript: Transcript,
    ) -> ClientRun[S, T]:
        def is_over() -> bool:
            return self.is_closed or is_stopped()

        return ClientRun(
            self.part, self.command, client, cases, self.patience_s, is_over, transcript
        )

    def _rehearse_all(self, clients: Sequence[T]) -> dict[T, RunResult]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="client-fuzz") as pool:
            return dict(zip(clients, pool.map(self._rehearse, clients), strict=True))

    def _rehearse_timed(self) -> dict[str, RunResult]:
        """Try each timed state with usual answers, to see how soon a client asks again."""
        names = [name for name in self.states if name in self.part.timed]
        cases = (
            [_send_nothing(2 * number, name) for number in range(REHEARSED)] for name in names
        )
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="client-fuzz") as pool:
            return dict(zip(names, pool.map(self._try_shortly, cases), strict=True))

    def _rehearse(self, client: T) -> RunResult:
        """Try the client with nothing, and with a connection that ends."""
        state = next(name for name, each in self.part.states.items() if each.client == client)
        return self._try_shortly([_send_nothing(number, state) for number in range(REHEARSED)])

    def _try_shortly(self, cases: Sequence[Case]) -> RunResult:
        return self._play(self.part.client_of(cases[0]), cases, self.is_cut)

    def _play(self, client: T, cases: Sequence[Case], is_stopped: Callable[[], bool]) -> RunResult:
        """Try cases; again if something went wrong while other programs kept the client waiting.

        Of one that died, the patience for the case was over before its end was told, and it was
        called stuck.
        """
        for _ in range(PROBE_TRIES - 1):
            run = self._run(client, cases, is_stopped, Transcript()).play()
            is_right = run.done and run.trouble is None
            if is_right or is_stopped() or not run.story.is_starved():
                return run
        return self._run(client, cases, is_stopped, Transcript()).play()


def open_fuzzed_client(
    part: ClientFuzzPart[S, T],
    target: Target,
    timeout_s: float | None,
    is_cut: Callable[[], bool],
) -> FuzzedClient[S, T] | None:
    """Start a client and see that it can be fuzzed; return None if it is cut short.

    Raises:
        UsageFault: the command cannot be used.
        TargetUnreachable: as `FuzzedClient.meet`.
    """
    command = target.command or ""
    check_command(command, part.part.settings)
    told = {"command": command} | ({"role": target.role} if target.role else {})
    session = FuzzedClient(part, command, fingerprint=told, is_cut=is_cut)
    session.meet(target.role)
    if is_cut():
        return None
    if timeout_s is not None:
        session.patience_s = timeout_s
    return session


def _explain_run(run: RunResult) -> str:
    """Return why a short run has not shown a state, as part of a sentence."""
    if run.trouble is not None:
        starved = run.story.is_starved()
        return run.trouble.words + (", but other programs kept it from running" if starved else "")
    for event in run.story.of(Answered):
        if isinstance(event.answer, Unsupported):
            return f"its driver does not support {event.answer.what}"
    return "the client did not show it"


def _late_one(name: str, late: Collection[str], part: ClientFuzzPart[S, T]) -> str:
    """Return the state in which a client asked too late, of a state and the one that it needs."""
    return name if name in late else part.needs[name]


def _group_by_reason(reasons: Mapping[str, str]) -> str:
    """Return one clause for each reason, with the names of its states before it."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(those)}: {why}" for why, those in names.items())


def _send_nothing(number: int, state: str) -> Case:
    """Return a case that sends nothing; those with odd numbers end the connection."""
    steps = (Step(b"", WHOLE),)
    return Case(number, state, NOTHING_SENT, state, GRAMMAR, steps, delimited=not number % 2)
