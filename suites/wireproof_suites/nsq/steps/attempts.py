"""The attempts that come with a message each time it is delivered."""

from collections.abc import Callable, Sequence

from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import REDELIVERY

LARGEST_ATTEMPTS = 0x0FFF
READY = 5


def attempts_seen(
    consumer: Consumer, body: bytes, *, times: int, again: Callable[[Delivery], None]
) -> Observation:
    """Take a message several times, and return the attempts counts of its deliveries.

    ``again`` gives back each delivery but the last. ``attempts:1-2-3`` are the counts in order. A
    copy with the same count is passed over, since a broker may send a message twice. If only
    copies come, the observation has the count of a copy, too.
    """
    taken: list[Delivery] = []
    counts: list[int] = []
    copies: list[int] = []
    while len(counts) < times and len(copies) <= len(counts):
        delivery = consumer.take(body, REDELIVERY)
        if delivery is None or delivery.message is None:
            break
        taken.append(delivery)
        attempts = delivery.message.attempts
        if attempts > LARGEST_ATTEMPTS:
            return _high_bits(attempts).on(delivery)
        if attempts in counts[-1:]:
            copies.append(attempts)
            continue
        counts.append(attempts)
        if len(counts) < times:
            again(delivery)
    complete = len(counts) == times
    seen = counts if complete else [*counts, *copies[:1]]
    return _observe_counts(seen, overdue=not complete).on(*reversed(taken))


def attempts_of(delivery: Delivery | None) -> Observation:
    """Return the attempts count of one delivery as an observation."""
    if delivery is None or delivery.message is None:
        return observed("missing", overdue=True)
    attempts = delivery.message.attempts
    is_high = attempts > LARGEST_ATTEMPTS
    return (_high_bits(attempts) if is_high else _observe_counts([attempts])).on(delivery)


def _high_bits(attempts: int) -> Observation:
    difference = Difference("attempts", 8, f"at most {LARGEST_ATTEMPTS}", str(attempts))
    return observed("attempts:high-bits", difference=difference)


def _observe_counts(counts: Sequence[int], *, overdue: bool = False) -> Observation:
    words = "-".join(str(count) for count in counts)
    return observed(f"attempts:{words}" if words else "missing", overdue=overdue)
