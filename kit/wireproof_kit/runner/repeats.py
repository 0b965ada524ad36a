"""Which failures are run again, and how often: a failure that was seen once decides nothing.

The budget is a number of runs, not of seconds: seconds would leave out exactly the slow cases.
Each failing must clause has one repeat beyond the budget. A failure that came in all runs of one
case confirms failures with the same signature in others: they have the same cause.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.runner.instance import Instance
from wireproof_kit.verdicts.judge import JudgedRun, JudgedRuns, is_undecided_by_kit

MOST_REPEATS = 600
"""The repeats of a whole run. The real brokers that deviate most need some 400."""
SPENT = "the repeats of the run, {} in all, were spent on other cases"
NO_PATIENCE = "the kit no longer waits long: the target owes too much"

RunAgain = Callable[[bool], JudgedRun | None]
"""Runs a case again, patiently even in a hurried run if True; None if the target is dead."""


@dataclass(slots=True)
class Repeats:
    """Repeats failing cases of one run within a budget; thread-safe.

    ``runs`` is the number of runs of one failing case, ``most`` the number of repeats of all.
    """

    runs: int
    most: int = MOST_REPEATS
    _taken: int = 0
    _reserves: set[str] = field(default_factory=set[str])
    _confirmed: dict[str, str] = field(default_factory=dict[str, str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Take one repeat from the budget; return False if it is spent."""
        with self._lock:
            is_left = self._taken < self.most
            self._taken += is_left
        return is_left

    def take_reserve(self, instance: Instance) -> bool:
        """Take the repeat that is reserved for a must clause; return False if there is none."""
        with self._lock:
            is_left = instance.clause.level == "must" and instance.clause.id not in self._reserves
            self._reserves.add(instance.clause.id)
        return is_left

    def repeat(
        self,
        instance: Instance,
        first: JudgedRun,
        signature: str,
        again: RunAgain,
        is_hasty: Callable[[], bool],
    ) -> JudgedRuns:
        """Run a failing case again; no repeat ever turns a failure green.

        ``is_hasty`` returns True when a repeat would wait shorter than the first run did.
        """
        if self.runs == 1:
            return JudgedRuns(first)
        if by := self._confirmed.get(signature):
            return JudgedRuns(first, confirmed_by=by)
        repeats, why = list[JudgedRun](), ""
        for _ in range(self.runs - 1):
            hasty = is_hasty()
            may_run = not hasty and self.take()
            if not may_run and (repeats or not self.take_reserve(instance)):
                why = why or (NO_PATIENCE if hasty else SPENT.format(self.most))
                break
            run = again(hasty)
            if run is None:
                why = "the target died before"
                break
            if is_undecided_by_kit(run.seen):
                why = run.judgement.reason
            else:
                repeats.append(run)
        return self._conclude(instance, first, repeats, signature, why)

    def _conclude(
        self,
        instance: Instance,
        first: JudgedRun,
        repeats: list[JudgedRun],
        signature: str,
        why: str,
    ) -> JudgedRuns:
        others = tuple(run for run in repeats if run.seen.value != first.seen.value)
        alike = 1 + len(repeats) - len(others)
        if alike == self.runs:
            with self._lock:
                self._confirmed.setdefault(signature, instance.id)
        return JudgedRuns(first, others, alike, unrepeated="" if repeats else why)
