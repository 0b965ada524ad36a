"""The deaths of a target during a run: each is charged to one case.

Up to seventeen cases run at once, and all of them lose their connections when the target ends. The
case that notices first is charged. The other cases stay undecided, since nobody knows what they
would have shown.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.observation import Observation
from wireproof_kit.targets.process import TargetProcess
from wireproof_kit.targets.session import Session
from wireproof_kit.verdicts.judge import DIED, UNDECIDED
from wireproof_spec.record import SeenRecord

_LOST = ("closed", "ended", "nonsense")
"""Parts of observations and notes that may mean that the target ended the connection."""


@dataclass(slots=True)
class Deaths:
    """Notices that the target died during a run, and which cases killed it; thread-safe.

    The target has died when ``process`` has ended, even if something starts it again at once.
    ``number`` counts deaths so far. ``is_final``: the target is dead and could not be restarted.
    """

    session: Session
    restart: Callable[[], bool] | None = None
    process: TargetProcess | None = None
    number: int = 0
    is_final: bool = False
    _case: str = ""
    _charged: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int | None:
        """Return the number of deaths as a case begins; None if the target is dead for good.

        While a death is being looked into, this waits: a case that began then with the new number
        would be charged with the same death once more.
        """
        with self._lock:
            return None if self.is_final else self.number

    def notice(self, case: str, seen: Observation, *, since: int) -> SeenRecord | None:
        """Return the observation that a case killed the target, or None if the target is alive.

        ``since`` is the number of deaths when the case began. A dead target is restarted if the
        user gave a command for it.
        """
        with self._lock:
            if self.number != since:
                return self.make_undecided(seen.value)
            how = self._describe_death(seen)
            if not how:
                return None
            self.number += 1
            self._case = case
            self._charged.add(case)
            # A supervisor may have been faster than the user's command.
            self.is_final = not (self.restart() if self.restart else self._accepts())
        return SeenRecord(value=DIED, note=f"{how} (seen: {seen.value})")

    def has_killed(self, case: str) -> bool:
        """Return True if a death of the target was blamed on the case."""
        return case in self._charged

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
        if not self._accepts():
            return False
        is_lost = any(word in f"{seen.value} {seen.note}" for word in _LOST)
        is_suspect = is_lost and self.session.control().state == "dead"
        return not is_suspect or self._accepts()

    def _accepts(self) -> bool:
        """Return True if the target accepts a connection; a session may let a refusal through."""
        try:
            return self.session.is_alive()
        except ConnectionRefusedError:
            return False

    def make_undecided(self, seen: str = "") -> SeenRecord:
        """Return ``undecided`` for a case that another case prevented by killing the target.

        ``seen`` is what the case itself had observed.
        """
        so_far = f" (seen: {seen})" if seen else ""
        note = f"target died at {self._case}{so_far}"
        return SeenRecord(value=f"{UNDECIDED}:target-died", note=note)
