"""Bodies of ok answers in the published generation."""

import struct
from collections.abc import Iterable

from wireproof_reference_impl.iggy.behaviour import MessageBehaviour
from wireproof_reference_impl.iggy.core.stats import Stats
from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.streams.group import Group, Member
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.topic import Stream, Topic
from wireproof_reference_impl.iggy.wire.polled import Polled

TCP = 1
"""The transport; QUIC, the other one, is not served."""

_STATS = struct.Struct("<If8QIIIIQII")


def stats(found: Stats) -> bytes:
    """Return the response body of GET_STATS: numbers, then four texts with their lengths."""
    measures = found.measures
    fixed = _STATS.pack(
        found.host.process,
        measures.cpu,
        measures.memory,
        measures.total,
        measures.available,
        found.run_time_s,
        found.start_time_s,
        measures.read,
        measures.written,
        found.messages_size,
        found.streams,
        found.topics,
        found.partitions,
        found.segments,
        found.messages,
        found.clients,
        found.groups,
    )
    host = found.host
    names = (host.hostname, host.os_name, host.os_version, host.kernel_version)
    return fixed + b"".join(_text(name) for name in names)


def client(who: Client) -> bytes:
    """Return a response body that describes a client and its consumer groups."""
    groups = (struct.pack("<III", *reversed(joined)) for joined in who.groups)
    return _client(who) + b"".join(groups)


def clients(every: Iterable[Client]) -> bytes:
    """Return a response body that lists clients without their groups."""
    return b"".join(_client(each) for each in every)


def stream(found: Stream) -> bytes:
    """Return a response body that describes a stream and its topics."""
    return _stream(found) + topics(found.topics.values())


def streams(every: Iterable[Stream]) -> bytes:
    """Return a response body that lists streams without their topics."""
    return b"".join(_stream(each) for each in every)


def topic(found: Topic) -> bytes:
    """Return a response body that describes a topic and its partitions."""
    return _topic(found) + b"".join(_partition(each) for each in found.partitions.list_opened())


def topics(every: Iterable[Topic]) -> bytes:
    """Return a response body that lists topics without their partitions."""
    return b"".join(_topic(each) for each in every)


def group(found: Group) -> bytes:
    """Return a response body that describes a consumer group, its members and their partitions."""
    members = (_member(member) for member in found.members.values())
    return _group(found) + b"".join(members)


def groups(every: Iterable[Group]) -> bytes:
    """Return a response body that lists consumer groups without their members."""
    return b"".join(_group(each) for each in every)


def consumer_offset(consumer: int, stored: int | None) -> bytes:
    """Return a response body with a consumer's stored offset; 0 if it never stored one."""
    return struct.pack("<IQ", consumer, stored or 0)


def encode_polled(found: Polled, behaviour: MessageBehaviour) -> bytes:
    """Return the body of a poll response: a head, then the messages one after the other."""
    return behaviour.head(found) + b"".join(map(behaviour.layout, found.messages))


def _client(who: Client) -> bytes:
    groups = struct.pack("<I", len(who.groups))
    return struct.pack("<IB", who.id, TCP) + _text(who.address) + groups


def _stream(found: Stream) -> bytes:
    head = struct.pack("<IIQQ", found.id, len(found.topics), found.size, found.count)
    return head + _text(found.name)


def _topic(found: Topic) -> bytes:
    head = struct.pack("<IIQQ", found.id, len(found.partitions), found.size, found.count)
    return head + _text(found.name)


def _partition(found: Partition) -> bytes:
    return struct.pack(
        "<IIQQQ",
        found.id,
        len(found.segments),
        found.current_offset,
        found.size,
        found.count,
    )


def _group(found: Group) -> bytes:
    return struct.pack("<III", found.id, found.partitions, len(found.members))


def _member(found: Member) -> bytes:
    numbers = found.partitions
    return struct.pack(f"<II{len(numbers)}I", found.client, len(numbers), *numbers)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data
