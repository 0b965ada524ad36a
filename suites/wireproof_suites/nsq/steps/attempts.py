"""The attempts that come with a message each time it is delivered."""

from collections.abc import Callable, Sequence

from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import PUSH, REDELIVERY
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.nsq.limits import MAX_ATTEMPTS

LARGEST_ATTEMPTS = 0x0FFF
"""The largest number of attempts that leaves the high 4 bits free."""
DELIVERIES = 4200
MOST_SECONDS = 90.0
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


def attempts_beyond(consumer: Consumer, body: bytes) -> Observation:
    """Let a message come again until its attempts no longer leave the high 4 bits free.

    ``attempts:counted`` if each delivery has the number of attempts, ``attempts:capped`` if it
    stays from some large number on, ``attempts:wrapped`` if it begins again at 0 or 1 after 4095.
    A broker is ``unsupported:slow-redelivery`` if one redelivery exceeds the patience, which that
    of a real broker does after a hundred, or if all exceed 90 s: a busy machine needs some of it.
    """
    deadline, last, kind = Deadline(MOST_SECONDS), 0, "counted"
    for number in range(DELIVERIES):
        seconds = min(consumer.connection.seconds(PUSH), deadline.rest())
        delivery = consumer.take(body, seconds=seconds)
        if delivery is None or delivery.message is None:
            note = f"{number} of {DELIVERIES} deliveries came"
            return observed("unsupported:slow-redelivery", note=note)
        attempts = delivery.message.attempts
        if attempts != last + 1:
            kind = _name_step(last, attempts)
            if kind == "high-bits":
                return _high_bits(attempts).on(delivery)
            if kind == "other":
                return _observe_counts([last, attempts]).on(delivery)
        last = attempts
        consumer.requeue(delivery, 0)
    return observed(f"attempts:{kind}")


def _name_step(last: int, attempts: int) -> str:
    """Return what the attempts of two deliveries in turn show, if they do not differ by 1."""
    if attempts == last:  # or a copy, which a broker may send
        return "capped" if last >= MAX_ATTEMPTS else "counted"
    if last == LARGEST_ATTEMPTS and attempts in (0, 1):
        return "wrapped"
    return "high-bits" if attempts > LARGEST_ATTEMPTS else "other"


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
