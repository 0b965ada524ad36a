"""Where a publish lands, and where a subscription is."""

from collections.abc import Sequence
from typing import NamedTuple

from wireproof_reference_impl.nsq.core.message import Entry
from wireproof_reference_impl.nsq.core.upgrading import TopicKind


class Landing(NamedTuple):
    """A publish on its way: the partition it names, how many messages that has, what it brings."""

    partition: int
    stored: int
    entries: Sequence[Entry]


def where_named(landing: Landing) -> int:
    """Return the partition that a publish goes to: the one it names.

    Clause: smart.partition.own-messages, smart.trace.partition
    """
    return landing.partition


def always_needed(topic: TopicKind | None) -> bool:
    """Tell whether a publish to a topic has to name a partition; None is a topic not here.

    Clause: smart.partition.required
    """
    return True


def whole(data: bytes) -> bytes:
    """Return the message of a plain body: all of it.

    Clause: smart.partition.publish
    """
    return data


def the_one_named(partition: int) -> int:
    """Return the partition that is subscribed to.

    Clause: smart.partition.subscribe, smart.order.partition
    """
    return partition


def split_traced(data: bytes) -> tuple[int, bytes]:
    """Return trace id and message of a traced body.

    Clause: smart.trace.layout, smart.trace.any-id
    """
    return int.from_bytes(data[:8]), data[8:]


def has_trace_room(size: int) -> bool:
    """Tell whether a body of this size has room for a trace id and a message behind it.

    Clause: smart.trace.short
    """
    return size > 8


def as_counted(number: int) -> int:
    """Return the internal id of a message from the number that comes next.

    Clause: smart.message-id.increasing
    """
    return number
