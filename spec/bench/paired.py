"""Ways of doing one thing, timed in turn within one run: what disturbs one disturbs all."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from timeit import Timer

ROUNDS = 41
SAMPLE_S = 0.004
"""How long one way is tried in one round."""
_TRIED = 200


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds that a statement took in each round, on this thread's processor time."""

    seconds: Sequence[float]

    @property
    def ns(self) -> float:
        """The median in nanoseconds."""
        return statistics.median(self.seconds) * 1e9

    def over(self, other: "Timed") -> float:
        """Return how many times as long as another way it took: the median of the rounds."""
        pairs = zip(self.seconds, other.seconds, strict=True)
        return statistics.median(mine / others for mine, others in pairs)


def timed_in_turn(
    ways: Mapping[str, str], names: Mapping[str, object], *, rounds: int = ROUNDS
) -> Mapping[str, Timed]:
    """Time each statement in every round; the order rotates from round to round.

    `ways` has the statements by label. `names` are the names that the statements use.
    """
    timers = {
        way: Timer(text, timer=time.thread_time, globals={**names}) for way, text in ways.items()
    }
    counts = {way: _count(timer) for way, timer in timers.items()}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    order = list(ways)
    for turn in range(rounds):
        first = turn % len(order)
        for way in order[first:] + order[:first]:
            seconds[way].append(timers[way].timeit(counts[way]) / counts[way])
    return {way: Timed(each) for way, each in seconds.items()}


def _count(timer: Timer) -> int:
    timer.timeit(_TRIED)
    return max(1, int(SAMPLE_S * _TRIED / timer.timeit(_TRIED)))
