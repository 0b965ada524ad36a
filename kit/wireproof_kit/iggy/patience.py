"""Measures how long to wait for a target; uses generous limits where it cannot measure."""

import statistics
from collections.abc import Callable

from wireproof_kit.runner.patience import Patience

ROUND_TRIPS = 5
# Pings are answered at once where a send waits for a disk.
ANSWER_LEAST, ANSWER_MOST = 1.0, 5.0
FACTOR = 20
PREPARING = 10.0
# Servers write to disk now and then, or after a number of messages. The published server waits
# 30 s by default, longer than this: a case is then undecided (docs/peers/iggy.md).
DISK = 15.0
BEFORE_MEASURING = Patience(answer=2.0, push=PREPARING, redelivery=DISK)


def make_fixed(seconds: float) -> Patience:
    """Return the same time limit, given by the user, for every kind of wait."""
    return Patience(answer=seconds, push=seconds, redelivery=seconds)


def measure(round_trip: Callable[[], float], so_far: float) -> Patience:
    """Return time limits for waits, far above the slowest of several measured round trips.

    ``round_trip`` makes one and returns its seconds; ``so_far`` is a round trip already measured.
    """
    times = [so_far, *(round_trip() for _ in range(ROUND_TRIPS - 1))]
    budget = max(FACTOR * statistics.median(times), 4 * max(times))
    answer = round(min(max(budget, ANSWER_LEAST), ANSWER_MOST), 3)
    return Patience(answer=answer, push=PREPARING, redelivery=DISK)
