"""Results of polls, and what surrounds their messages over TCP and in JSON."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from wireproof_reference_impl.iggy.wire.message import Message


class Polled(NamedTuple):
    """What a poll found: messages, their partition, and the offset of its last message."""

    partition: int
    current_offset: int
    messages: list[Message]


class StoredOffset(NamedTuple):
    """The stored offset of a consumer, None if there is none, and where its partition ends."""

    consumer: int
    partition: int
    current_offset: int
    stored: int | None


def count_head(found: Polled) -> bytes:
    """Return the head of a poll response: the number of messages, u32."""
    return struct.pack("<I", len(found.messages))


def bare_array(found: Polled, messages: Sequence[object]) -> object:
    """Return the JSON of a poll response: an array of messages, with nothing around it."""
    return messages


def partition_offset_count_head(found: Polled) -> bytes:
    """Return the head of a poll response: partition u32, last offset u64, message count u32."""
    return struct.pack("<IQI", found.partition, found.current_offset, len(found.messages))


def polled_object(found: Polled, messages: Sequence[object]) -> object:
    """Return the JSON of a poll response: an object with partition, last offset and messages."""
    return {
        "partition_id": found.partition,
        "current_offset": found.current_offset,
        "messages": messages,
    }


def three_offsets(found: StoredOffset) -> object:
    """Return the JSON of a stored offset with partition and last offset, as the text has it."""
    return {
        "partition_id": found.partition,
        "current_offset": found.current_offset,
        "stored_offset": found.stored or 0,
    }
