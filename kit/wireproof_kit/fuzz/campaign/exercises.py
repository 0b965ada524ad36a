"""When the kit's own clients do an exercise, however few batches a campaign can send."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Final

from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.generate.held_cases import EXERCISE_AT
from wireproof_kit.fuzz.send.counts import Counts

ONCE_S: Final = 60.0
"""The time of a campaign in which each exercise is done at least once, in its first half."""
TWICE_S: Final = 90.0
"""The time of a campaign in which each is done a second time, in its second half."""
MOST_SHARE: Final = 0.4
"""The part of the time so far after which exercises are not done a second time."""


@dataclass(slots=True)
class ExerciseTimes:
    """The moments by which exercises must have been done, by the batches or else out of turn.

    A target that dies often leaves no time for many batches, and few cases are exercises.
    """

    plan: WorkerPlan
    taken: Counter[str] = field(default_factory=Counter[str])

    def take_overdue(
        self, generation: Generation, counts: Counts, elapsed_s: float
    ) -> Case | None:
        """Return an exercise to be done now; each is returned once for each of its moments."""
        time_s = self.plan.time_s or 0.0
        if time_s < ONCE_S:
            return None
        exercises = _list_exercises(generation, self.plan)
        is_done_twice = time_s >= TWICE_S and counts.exercised_s < MOST_SHARE * elapsed_s
        moment_s = time_s / 2 / (len(exercises) + 1)
        for half in range(1 + is_done_twice):
            for place, case in enumerate(exercises, 1):
                is_due = elapsed_s >= half * time_s / 2 + place * moment_s
                had = max(counts.exercised[case.exercise], self.taken[case.exercise])
                if is_due and had <= half:
                    self.taken[case.exercise] = had + 1
                    return case
        return None


def _list_exercises(generation: Generation, plan: WorkerPlan) -> Sequence[Case]:
    """Return the first case with each exercise; several workers share them.

    The last one, which looks at the most, comes first.
    """
    cases = map(generation.case, count(EXERCISE_AT, EXERCISE_AT))
    found = list(takewhile(lambda case: case.exercise, cases))
    return [*found[-1:], *found[:-1]][plan.worker :: plan.workers]
