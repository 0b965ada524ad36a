"""The log of the server of generation apache: the messages of `iggy.clients.log`, in batches."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from wireproof_kit.iggy.apache.batches import header_block
from wireproof_kit.iggy.clients.log import FIRST_US, LOG
from wireproof_spec.iggy.apache.batch import (
    Batch,
    BatchHeader,
    MessageFrame,
    make_batch,
    seal_frame,
)
from wireproof_spec.iggy.apache.user_headers import UserHeader
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.kinds import LAST, NEXT, OFFSET, TIMESTAMP

PARTITION: Final = 0
"""The number of the only partition: those of generation apache count from 0."""
BATCH_SIZE: Final = 5
SECOND_US: Final = 10**6
ORIGIN_BEFORE_US: Final = 1000
"""How long before the server, the producer looked at the clock."""


def make_frame(
    payload: bytes, *headers: UserHeader, id: int = 0, delta: int = 0, time: int = 0
) -> MessageFrame:
    """Return a message with the right checksum; ``time`` is its producer's delta in us."""
    return seal_frame(
        MessageFrame(
            id=id,
            offset_delta=delta,
            timestamp_delta=time,
            payload=payload,
            user_headers=header_block(headers),
        )
    )


def stamp(base_offset: int, frames: Sequence[MessageFrame], *, time_us: int = 0) -> Batch:
    """Return a batch as a server stores it, with right counts and checksum.

    ``time_us`` is the server's time; by default it follows from the offset.
    """
    time_us = time_us or FIRST_US + base_offset * SECOND_US
    header = BatchHeader(
        partition_id=PARTITION,
        base_offset=base_offset,
        base_timestamp=time_us,
        origin_timestamp=time_us - ORIGIN_BEFORE_US,
    )
    return make_batch(header, frames)


def in_order(base_offset: int, frames: Sequence[MessageFrame]) -> Batch:
    """Return a batch of messages whose offsets follow one another."""
    placed = (replace(each, offset_delta=delta) for delta, each in enumerate(frames))
    return stamp(base_offset, [seal_frame(each) for each in placed])


def _log() -> Iterator[Batch]:
    for start in range(0, len(LOG), BATCH_SIZE):
        found = LOG[start : start + BATCH_SIZE]
        yield in_order(
            start,
            [
                make_frame(each.payload, id=each.id, time=number)
                for number, each in enumerate(found)
            ],
        )


BATCHES: Final = tuple(_log())


def newest(batches: Sequence[Batch]) -> int:
    """Return the newest offset in some batches, 0 if there is none."""
    return max(
        (
            batch.header.base_offset + frame.offset_delta
            for batch in batches
            for frame in batch.frames
        ),
        default=0,
    )


def find(poll: PollMessages, batches: Sequence[Batch], stored: int | None) -> tuple[Batch, ...]:
    """Return what a poll finds, with batches cut; ``stored`` is the consumer's stored offset."""
    starts = {
        OFFSET: poll.value,
        NEXT: 0 if stored is None else stored + 1,
        LAST: max(newest(batches) + 1 - poll.count, 0),
    }
    start = starts.get(poll.strategy, 0)
    if poll.strategy == TIMESTAMP:
        later = (batch for batch in batches if batch.header.base_timestamp >= poll.value)
        start = next((each.header.base_offset for each in later), newest(batches) + 1)
    return cut(batches, start, poll.count)


def cut(batches: Sequence[Batch], start: int, count: int) -> tuple[Batch, ...]:
    """Return batches with only the messages from an offset on, at most so many."""
    found: list[Batch] = []
    for batch in batches:
        base = batch.header.base_offset
        frames = [frame for frame in batch.frames if base + frame.offset_delta >= start][:count]
        count -= len(frames)
        if len(frames) == len(batch.frames):
            found.append(batch)
        elif frames:
            found.append(make_batch(batch.header, frames))
    return tuple(found)
