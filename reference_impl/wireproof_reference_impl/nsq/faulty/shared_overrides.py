"""Overrides that several families of faults share."""

from collections.abc import Callable, Generator, Sequence

from wireproof_reference_impl.nsq.core.commands import publish, publish_ext, sized
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition, Topic
from wireproof_reference_impl.nsq.faulty import harm
from wireproof_reference_impl.nsq.faulty.late import LATE_NS
from wireproof_reference_impl.nsq.wire.frame_reading import Split
from wireproof_reference_impl.nsq.wire.header import Header
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function

Entries = Sequence[NewMessage]
Change = Callable[[Connection, Entries], Entries]
Choose = Callable[[Partition, Entries], int]
Number = Generator[int, bytes, int]


def change_stored(change: Change) -> Override:
    """Return an override that changes the messages of TCP publishes before they are stored."""

    def store(
        original: Original, connection: Connection, partition: Partition, entries: Entries
    ) -> object:
        return original(connection, partition, change(connection, entries))

    return around(publish, "store", store)


def storing_header(change: Callable[[bytes, Topic], bytes | None]) -> Override:
    """Return an override that changes the headers of TCP publishes; None stores no header."""

    def entry(
        original: Callable[..., NewMessage], partition: Partition, header: Header, split: Split
    ) -> NewMessage:
        changed = change(split.header, partition.topic)
        return original(partition, header, split)._replace(header=changed)

    return around(publish_ext, "entry", entry)


def taking_header(takes: Callable[[bytes, Topic], bool]) -> Override:
    """Return an override with another rule for which headers of TCP publishes a topic accepts."""

    def read_header(connection: Connection, partition: Partition, data: bytes) -> Header:
        header = connection.node.behaviour.publish.header(data)
        if not takes(data, partition.topic):
            raise publish_ext.not_supported(partition.topic)
        return header

    return replace_function(publish_ext, "read_header", read_header)


def storing_elsewhere(choose: Choose) -> Override:
    """Return an override that stores messages in another partition that this node has."""

    def store(
        original: Original, connection: Connection, partition: Partition, entries: Entries
    ) -> object:
        here = partition.topic.partitions
        return original(connection, here.get(choose(partition, entries), partition), entries)

    return around(publish, "store", store)


def storing_elsewhere_late(choose: Choose) -> Override:
    """Return an override that stores messages in another partition as well, 3 s late."""

    def store(
        original: Original, connection: Connection, partition: Partition, entries: Entries
    ) -> object:
        other = partition.topic.partitions.get(choose(partition, entries), partition)
        stored = original(connection, partition, entries)
        if other is not partition:
            publish_late(connection, other, entries)
        return stored

    return around(publish, "store", store)


def publish_late(connection: Connection, partition: Partition, entries: Entries) -> None:
    """Publish messages 3 s later, if the topic still exists then."""
    node = connection.node

    def publish_now(now_ns: int) -> None:
        if node.topics.get(partition.topic.name) is partition.topic:
            partition.publish(entries, now_ns)
            node.touch(partition)

    node.timers.at(connection.now_ns + LATE_NS, publish_now)


def watch_refusals(change: Callable[[Connection, Refusal], None]) -> Override:
    """Return an override that calls a function at each refused TCP command."""

    def refuse(original: Original, connection: Connection, refusal: Refusal) -> None:
        change(connection, refusal)
        original(connection, refusal)

    return around(Connection, "refuse", refuse)


def reading_body(change: Callable[[Connection, bytes], bytes]) -> Override:
    """Return an override that changes the body of each single message once it is complete."""

    def read_body(
        original: Callable[..., sized.Bytes], connection: Connection, size: int
    ) -> sized.Bytes:
        return change(connection, (yield from original(connection, size)))

    return around(publish, "read_body", read_body)


def change_declared(change: Callable[[Connection, str, int], int | Number]) -> Override:
    """Return an override that changes the sizes and counts read from TCP frames.

    Their kinds are `size` (of a message or a batch), `identify size`, `count` and `message size`
    (in a batch).
    """

    def number(original: Callable[..., Number], *, otherwise: sized.Refuse) -> Number:
        size = yield from original(otherwise=otherwise)
        connection = harm.at_hand()
        kind = _kind(otherwise().text or "")
        if connection is None or not kind:
            return size
        changed = change(connection, kind, size)
        return changed if isinstance(changed, int) else (yield from changed)

    return around(sized, "number", number)


def _kind(text: str) -> str:
    """Return the kind of a number, recognised by the error for its absence."""
    kinds = {
        "AUTH": "",
        "IDENTIFY": "identify size",
        "MPUB failed to read message count": "count",
        "MPUB": "message size",
        "": "size",
    }
    return next(kind for begin, kind in kinds.items() if text.startswith(begin))
