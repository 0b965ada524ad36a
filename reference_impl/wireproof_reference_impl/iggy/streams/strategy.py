"""What a poll asks for: the offset that it starts at by its strategy, and how many messages.

No offset means that there is nothing.
"""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.requests import PollMessages, consumer_number
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP

Start = Callable[[Partition, PollMessages], int | None]


def at_offset(partition: Partition, request: PollMessages) -> int | None:
    """Start where it is said; beyond the end there is nothing."""
    return request.value


def at_timestamp(partition: Partition, request: PollMessages) -> int | None:
    """Start with the first message of that time or later."""
    for offset in range(partition.count):
        if partition.kept(offset).timestamp >= request.value:
            return offset
    return None


def at_timestamp_of_a_segment(partition: Partition, request: PollMessages) -> int | None:
    """Start so only in a segment that had begun by then: an earlier time finds nothing."""
    for span in partition.spans():
        if (
            partition.kept(span[0]).timestamp
            <= request.value
            <= partition.kept(span[-1]).timestamp
        ):
            return next(each for each in span if partition.kept(each).timestamp >= request.value)
    return None


def at_first(partition: Partition, request: PollMessages) -> int | None:
    """Start with the first message."""
    return 0


def at_last(partition: Partition, request: PollMessages) -> int | None:
    """Start so that the last messages come, as many as are asked for."""
    return max(0, partition.count - request.count)


def at_next(partition: Partition, request: PollMessages) -> int | None:
    """Start behind the stored offset, or with the first message."""
    consumer = request.consumer
    stored = partition.stored_offset(consumer.kind, consumer_number(consumer))
    return 0 if stored is None else stored + 1


STARTS: Mapping[int, Start] = {
    OFFSET: at_offset,
    TIMESTAMP: at_timestamp,
    FIRST: at_first,
    LAST: at_last,
    NEXT: at_next,
}
"""What each strategy starts at."""

DEPLOYED_STARTS: Mapping[int, Start] = {TIMESTAMP: at_timestamp_of_a_segment}
"""Where the measured server parts from that."""
