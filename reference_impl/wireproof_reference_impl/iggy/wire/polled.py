"""Results of polls, and what surrounds their messages over TCP and in JSON."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from wireproof_reference_impl.iggy.wire.message import Message


class Polled(NamedTuple):
    """The messages that a poll found, and their partition."""

    partition: int
    current_offset: int
    messages: list[Message]


def count_head(found: Polled) -> bytes:
    """Return how many messages there are, u32."""
    return struct.pack("<I", len(found.messages))


def bare_array(found: Polled, messages: Sequence[object]) -> object:
    """Return the messages of a poll without anything around them."""
    return messages


def partition_offset_count_head(found: Polled) -> bytes:
    """Return the partition u32, its current offset u64, how many messages there are u32."""
    return struct.pack("<IQI", found.partition, found.current_offset, len(found.messages))


def polled_object(found: Polled, messages: Sequence[object]) -> object:
    """Return a poll as a JSON value."""
    return {
        "partition_id": found.partition,
        "current_offset": found.current_offset,
        "messages": messages,
    }
