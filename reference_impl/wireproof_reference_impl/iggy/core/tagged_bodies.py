"""Bodies of ok answers in the tagged generation: server 0.4.209, whose peer is crate 0.6.202.

The module has only bodies that a session of that crate needs; other bodies are as published.
"""

import struct
from collections.abc import Iterable

from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.topic import Stream, Topic
from wireproof_spec.iggy.kinds import TCP

_NO_COMPRESSION = 1
_NEVER = 0
_UNLIMITED = (1 << 64) - 1
_ONE_COPY = 1
_NOBODY = 0


def stream(found: Stream) -> bytes:
    """Return a response body, in generation `tagged`, that describes a stream and its topics."""
    return _stream(found) + topics(found.topics.values())


def streams(every: Iterable[Stream]) -> bytes:
    """Return a response body, in generation `tagged`, that lists streams without their topics."""
    return b"".join(_stream(each) for each in every)


def topic(found: Topic) -> bytes:
    """Return a response body, in generation `tagged`, that describes a topic with partitions."""
    partitions = (_partition(each, found.created_us) for each in found.partitions.list_opened())
    return _topic(found) + b"".join(partitions)


def topics(every: Iterable[Topic]) -> bytes:
    """Return a response body, in generation `tagged`, that lists topics without partitions."""
    return b"".join(_topic(each) for each in every)


def consumer_offset(partition: Partition, stored: int | None) -> bytes:
    """Return a response body with partition, last and stored offset; empty if none is stored."""
    if stored is None:
        return b""
    return struct.pack("<IQQ", partition.id, partition.current_offset, stored)


def client(who: Client) -> bytes:
    """Return a response body, in generation `tagged`, that describes a client and its groups."""
    groups = (struct.pack("<III", *joined) for joined in who.groups)
    return _client(who) + b"".join(groups)


def clients(every: Iterable[Client]) -> bytes:
    """Return a response body, in generation `tagged`, that lists clients without groups."""
    return b"".join(_client(each) for each in every)


def _stream(found: Stream) -> bytes:
    head = struct.pack(
        "<IQIQQ", found.id, found.created_us, len(found.topics), found.size, found.count
    )
    return head + _text(found.name)


def _topic(found: Topic) -> bytes:
    head = struct.pack(
        "<IQIQBQBQQ",
        found.id,
        found.created_us,
        len(found.partitions),
        _NEVER,
        _NO_COMPRESSION,
        _UNLIMITED,
        _ONE_COPY,
        found.size,
        found.count,
    )
    return head + _text(found.name)


def _partition(found: Partition, created_us: int) -> bytes:
    return struct.pack(
        "<IQIQQQ",
        found.id,
        created_us,
        len(found.segments),
        found.current_offset,
        found.size,
        found.count,
    )


def _client(who: Client) -> bytes:
    address = who.address.encode()
    head = struct.pack("<IIBI", who.id, who.user or _NOBODY, TCP, len(address))
    return head + address + struct.pack("<I", len(who.groups))


def _text(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data
