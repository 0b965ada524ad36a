"""The comparison with boofuzz ends as soon as no further fault can change what comes of it."""

import sys
from pathlib import Path
from statistics import median

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.append(str(BENCH))
import fuzz_find  # noqa: E402  # the bench is no package

LATE, SOON = 50.0, 3.0


@pytest.mark.parametrize("faults", [1, 2, 5, 6])
def test_more_than_half_decide(faults: int) -> None:
    needed = faults // 2 + 1
    assert fuzz_find.decided(5.0, [LATE] * needed, faults) is True
    assert fuzz_find.decided(5.0, [LATE] * (needed - 1), faults) is None
    assert fuzz_find.decided(5.0, [SOON] * needed, faults) is False
    assert fuzz_find.decided(5.0, [SOON] * (needed - 1), faults) is None


@pytest.mark.parametrize("late", range(8))
def test_what_is_decided_is_what_all_would_have_come_to(late: int) -> None:
    theirs = [LATE] * late + [SOON] * (7 - late)
    decisions = [fuzz_find.decided(5.0, theirs[:count], 7) for count in range(8)]

    (decision,) = {each for each in decisions if each is not None}
    assert decision == (fuzz_find.DUE * median(theirs) >= 5.0)


def test_half_on_either_side_decide_nothing_before_all_are_known() -> None:
    assert fuzz_find.decided(5.0, [LATE, SOON, LATE, SOON], 4) is None
