"""A fuzz session with a system behind an adapter: cases are tried run by run."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.errors import KitError
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import (
    Choice,
    ClientRunResult,
    FuzzSessionOptions,
    Generation,
)
from wireproof_kit.fuzz.generate.case_sources import make_generation
from wireproof_kit.oms.adapter.link import open_link
from wireproof_kit.oms.adapter.messages import NOTHING
from wireproof_kit.oms.adapter.session import AdapterSession
from wireproof_kit.oms.adapter.system import System
from wireproof_kit.oms.fuzz.cases import AdapterCases
from wireproof_kit.oms.fuzz.frames import grammar
from wireproof_kit.oms.fuzz.run import FUZZ_GROUP, SystemRun
from wireproof_kit.runner.patience import machine_load
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.strict_json import JsonValue

CASES_A_RUN: Final = 16
LEAST_S: Final = 2.0
"""Seconds at least that an answer may take: a broken message may take another way than others."""
_PROPERTIES: Mapping[str, JsonValue] = {"wp-text": "a", "wp-number": 7}


@dataclass(slots=True)
class AdapterFuzzSession:
    """A system behind an adapter, opened again when the adapter has ended or cannot be used."""

    target: Target
    options: FuzzSessionOptions
    restart: Callable[[], bool] | None = None
    patience_s: float = LEAST_S
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])
    _session: AdapterSession | None = None
    _carried: tuple[type, ...] = ()
    _openings: int = 0

    def open(self) -> None:
        """Start or reach the adapter, and see a first message arrive.

        Raises:
            UsageFault: the command cannot be started.
            KitError: the adapter breaks the protocol, or the system cannot be used.
        """
        token = f"{self.options.token}{self._openings}"
        self._openings += 1
        options = SessionOptions(seed=0, run_token=token, timeout=self.options.timeout_s)
        session = AdapterSession(open_link(self.target), options)
        try:
            session.meet()
            self._carried = _see_carried(session.system(Transcript()))
        except BaseException:
            session.close()
            raise
        self._session = session
        self.fingerprint = session.fingerprint()
        self.patience_s = self.options.timeout_s or max(session.patience.answer, LEAST_S)

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, for the operations and claims of the adapter.

        Raises:
            UsageFault: there is no such kind of request.
        """
        assert self._session is not None, "the session is open"
        hello = self._session.hello
        known = grammar(hello.operations, hello.claims)
        return make_generation(known, replace(choice, drawn=False), usual=AdapterCases)

    def arrange(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Return the cases as they are: one adapter tries all."""
        return cases

    def perform(
        self, cases: Sequence[Case], is_stopped: Callable[[], bool]
    ) -> Iterator[ClientRunResult]:
        """Try cases run by run; yield what is wrong with some of them."""
        starts = range(0, len(cases), CASES_A_RUN)
        left = deque([cases[start : start + CASES_A_RUN] for start in starts])
        while left and not is_stopped() and self.revive():
            run = self._run(left.popleft(), is_stopped, Transcript())
            yield from run.play()
            if run.is_broken:
                self.close()
            if run.left:
                left.appendleft(run.left)

    def record(self, cases: Sequence[Case], is_stopped: Callable[[], bool]) -> Transcript:
        """Try cases once more and return the exchange."""
        transcript = Transcript()
        if self.revive():
            run = self._run(cases, is_stopped, transcript)
            for _ in run.play():
                pass
            if run.is_broken:
                self.close()
        return transcript

    def revive(self) -> bool:
        """Restart the adapter if it has ended; return True if it runs."""
        if self._session is not None and self._session.is_alive():
            return True
        self.close()
        return self._reopen() or (self.restart is not None and self.restart() and self._reopen())

    def close(self) -> None:
        """Close the adapter, and end it if the kit has started it."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _reopen(self) -> bool:
        try:
            self.open()
        except KitError:
            return False
        return True

    def _run(
        self, cases: Sequence[Case], is_stopped: Callable[[], bool], transcript: Transcript
    ) -> SystemRun:
        assert self._session is not None, "the session is open"
        within_s = self.patience_s * machine_load()
        system = self._session.system(transcript, within_s=within_s)
        return SystemRun(system, cases, self._carried, is_stopped)


def open_adapter_session(
    target: Target, options: FuzzSessionOptions, restart: Callable[[], bool] | None
) -> AdapterFuzzSession:
    """Open a system behind an adapter and see that it can be fuzzed.

    Raises:
        UsageFault: the command cannot be started.
        KitError: as `AdapterFuzzSession.open`.
    """
    session = AdapterFuzzSession(target, options, restart)
    session.open()
    return session


def _see_carried(system: System) -> tuple[type, ...]:
    """Return the types of properties that arrive with a message as they were sent."""
    destination = system.new_destination()
    consumer = destination.new_consumer(FUZZ_GROUP)
    sent = destination.send(properties=_PROPERTIES)
    delivery = consumer.take([sent]).get(sent.key) if sent.is_accepted else None
    found = delivery.properties if delivery is not None else NOTHING
    return tuple(type(each) for name, each in _PROPERTIES.items() if found.get(name) == each)
