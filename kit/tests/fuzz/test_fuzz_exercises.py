"""When exercises are done although few batches are sent."""

from collections import Counter

import pytest
from fuzz_grammars import NSQ

from wireproof_kit.fuzz.campaign.exercises import ONCE_S, TWICE_S, ExerciseTimes
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.case import EXERCISES
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.send.counts import Counts

SEED = 7


def done(time_s: float, until_s: float, worker: int = 0, workers: int = 1, **counts: float) -> str:
    """Return the first letters of the exercises that are done out of turn until a moment."""
    times = ExerciseTimes(WorkerPlan(Choice(SEED), time_s, worker=worker, workers=workers))
    generator, found = Generator(NSQ, SEED), ""
    for second in range(int(until_s)):
        counted = Counts(exercised_s=counts.get("had_s", 0.0))
        counted.exercised = Counter(dict.fromkeys(EXERCISES, int(counts.get("had", 0))))
        case = times.take_overdue(generator, counted, float(second))
        found += case.exercise[0] if case is not None else ""
    return found


def test_each_exercise_is_done_in_the_first_half_and_again_in_the_second_of_a_long_one() -> None:
    assert done(ONCE_S, ONCE_S / 2) == done(TWICE_S, TWICE_S / 2) == "grm"
    assert done(ONCE_S, ONCE_S) == "grm"
    assert done(TWICE_S, TWICE_S) == "grmgrm"
    assert done(ONCE_S - 1, ONCE_S) == ""


def test_what_the_batches_did_is_not_done_again() -> None:
    assert done(TWICE_S, TWICE_S, had=1) == "grm"
    assert done(TWICE_S, TWICE_S, had=2) == ""


def test_where_exercises_take_long_none_is_done_twice() -> None:
    assert done(TWICE_S, TWICE_S, had_s=TWICE_S) == "grm"


@pytest.mark.parametrize(("worker", "share"), [(0, "gm"), (1, "r")])
def test_workers_share_exercises(worker: int, share: str) -> None:
    assert done(ONCE_S, ONCE_S, worker, 2) == share
