"""The polling strategies: each returns the offset a poll starts at, and how many messages.

No offset means that no message is found.
"""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.requests import PollMessages, consumer_number
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP

Start = Callable[[Partition, PollMessages], int | None]


def at_offset(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset in the request, where the poll starts; None if beyond the last message."""
    return request.value


def at_timestamp(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset of the first message with this timestamp or a later one, or None."""
    for offset in range(partition.count):
        if partition.get_stored(offset).timestamp >= request.value:
            return offset
    return None


def at_timestamp_of_a_segment(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset of the first message not older than a time, if a segment has the time.

    A time before the first message finds nothing.
    """
    for span in partition.spans():
        if (
            partition.get_stored(span[0]).timestamp
            <= request.value
            <= partition.get_stored(span[-1]).timestamp
        ):
            return next(
                each for each in span if partition.get_stored(each).timestamp >= request.value
            )
    return None


def at_first(partition: Partition, request: PollMessages) -> int | None:
    """Return 0, the offset of the first message."""
    return 0


def at_last(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset from which exactly the requested number of messages follows."""
    return max(0, partition.count - request.count)


def at_next(partition: Partition, request: PollMessages) -> int | None:
    """Return the offset after the stored one, or that of the first message."""
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
