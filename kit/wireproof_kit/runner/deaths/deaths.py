"""The deaths of a target during a run.

Up to seventeen cases run at once, and all of them lose their connections when the target ends.
Without a command that restarts the target, the first case that notices and has sent something is
charged; it need not be the culprit. With one, no case is charged while others run: they go alone
after it, see `culprits`. Whatever else ran stays undecided, since nobody knows what it would have
shown.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.observation import Observation
from wireproof_kit.runner.deaths.gate import Gate
from wireproof_kit.runner.deaths.recovery import Recovery, accepts
from wireproof_kit.targets.process import TargetProcess
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import DIED, KIT_ERROR, TARGET_DIED, UNDECIDED
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import SeenRecord

_LOST = ("closed", "ended", "nonsense")
"""Parts of observations and notes that may mean that the target ended the connection."""


def describe_nobody() -> str:
    """Return nothing: no other case has sent anything."""
    return ""


@dataclass(slots=True)
class Deaths:
    """Notices that the target died during a run, and which cases killed it; thread-safe.

    The target has died when ``process`` has ended, even if something starts it again at once.
    ``number`` counts deaths in company so far. ``is_final``: the target is dead and nothing
    restarts it. ``is_down``: it must be restarted before the next case. ``alone`` is the case that
    runs alone now; ``is_fresh``: no other case has run since the last restart.
    """

    session: Session
    restart: Callable[[], bool] | None = None
    process: TargetProcess | None = None
    gate: Gate = field(default_factory=Gate)
    number: int = 0
    is_final: bool = False
    is_down: bool = False
    is_fresh: bool = False
    alone: str = ""
    _case: str = ""
    _how: str = ""
    _is_charged: bool = True
    _is_sure: bool = True
    _charged: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int | None:
        """Return the number of deaths as a case begins; None if the target is dead for good.

        While a death is being looked into, this waits: a case that began then with the new number
        would be charged with the same death once more.
        """
        with self._lock:
            self.is_fresh = False
            return None if self.is_final else self.number

    def may_repeat(self, since: int) -> bool:
        """Return True unless a case that began at that number of deaths is to run again alone."""
        with self._lock:
            return self.restart is None or self.number == since

    def looks_closely(self, seen: Observation) -> bool:
        """Return True if a death is looked for though the case has shown what conforms.

        What ends a target may be just what the text allows: the end of the connection.
        """
        return bool(self.alone) or _is_lost(seen)

    def notice(
        self,
        case: str,
        seen: Observation,
        *,
        since: int,
        has_sent: bool = True,
        describe_others: Callable[[], str] = describe_nobody,
    ) -> SeenRecord | None:
        """Return the observation that a case killed the target, or None if the target is alive.

        ``since`` is the number of deaths when the case began. ``has_sent``: the case has sent
        anything. ``describe_others`` says what other cases sent last.
        """
        with self._lock:
            if self.alone == case:
                return self._notice_alone(seen, has_sent=has_sent)
            if self.number == since:
                how = self._describe_death(seen)
                if not how:
                    return None
                self._begin_death(case, how)
            if self._is_charged or since != self.number - 1:
                return self.make_undecided(case, seen.value)
            others = describe_others()
            # Where no case has sent anything, what prepared the run has ended the target: a death
            # that nobody is charged with would leave a broken premise undecided.
            if others and not has_sent:
                return self.make_undecided(case, seen.value)
            self._case, self._is_charged = case, True
            self._charged.add(case)
            self._is_sure = not others
            if not has_sent:
                others = "; no case had sent anything before: a probe of the kit may have ended it"
            return SeenRecord(DIED, note=f"{self._how}{_describe(seen.value, case)}{others}")

    def has_killed(self, case: str) -> bool:
        """Return True if a death of the target was blamed on the case."""
        return case in self._charged

    def is_noticed_by(self, case: str) -> bool:
        """Return True if the case was the first to notice the last death."""
        return case == self._case

    def bring_back(self) -> None:
        """Restart the target if it is dead, and wait until it answers.

        Raises:
            RestartFailed: it does not come back; no further case may go.
        """
        if self.is_down and self.restart is not None:
            Recovery(self.session, self.restart, self.gate).bring_back()
            self.is_down, self.is_fresh = False, True

    def _begin_death(self, case: str, how: str) -> None:
        self.number += 1
        self._case, self._how = case, how
        if self.restart is not None:
            self.is_down = True
            self.gate.shut()
            return
        self._is_charged = False
        # A supervisor may have started it again.
        self.is_final = not accepts(self.session)

    def _notice_alone(self, seen: Observation, *, has_sent: bool) -> SeenRecord | None:
        how = self._describe_death(seen)
        if not how:
            return None
        self.is_down = True
        if not has_sent:
            note = f"{how} before the case had sent anything, though no other case ran"
            return SeenRecord(TARGET_DIED, note=note)
        if not self.is_fresh:
            note = f"{how}, which may be the late effect of a case that ran before"
            return SeenRecord(TARGET_DIED, note=note)
        self._charged.add(self.alone)
        told = _describe(seen.value, self.alone)
        return SeenRecord(DIED, note=f"{how}{told}; no other case ran meanwhile")

    def _describe_death(self, seen: Observation) -> str:
        """Return how the target died; empty if it lives."""
        if self.process is not None and self.process.has_ended():
            how, self.process = f"process {self.process.pid} of the target has ended", None
            return how
        return "" if self._lives(seen) else "the target no longer accepts connections"

    def _lives(self, seen: Observation) -> bool:
        """Return True if the target accepts connections.

        A process that ends closes its connections before its listener now and then: where one was
        closed, an answer shows that the target lives, or a second look that it does not.
        """
        if not accepts(self.session):
            return False
        is_suspect = _is_lost(seen) and self.session.control().state == "dead"
        return not is_suspect or accepts(self.session)

    def make_undecided(self, case: str, seen: str = "") -> SeenRecord:
        """Return ``undecided`` for a case that a death of the target prevented.

        ``seen`` is what the case itself had observed.
        """
        so_far = _describe(seen, case)
        whose = "" if self._is_charged and self._is_sure else ", which need not be the culprit"
        return SeenRecord(TARGET_DIED, note=f"target died at {self._case}{whose}{so_far}")


def _describe(seen: str, case: str) -> str:
    """Return what a case itself observed, in words; empty if that was nothing."""
    if not seen or seen.startswith((UNDECIDED, KIT_ERROR)):
        return ""
    return f" (what the case observed: {spoken(seen, case)})"


def _is_lost(seen: Observation) -> bool:
    return any(word in f"{seen.value} {seen.note}" for word in _LOST)
