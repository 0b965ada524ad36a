"""PUB and PUB_TRACE, and what every publish command checks first."""

from collections.abc import Generator, Sequence
from functools import partial

from wireproof_reference_impl.nsq.core.commands import partition_word, sized
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.landing import Landing
from wireproof_reference_impl.nsq.core.message import Entry, Stored
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.refusal import EndOfStream, Refusal
from wireproof_reference_impl.nsq.core.timers import LATE_NS
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.core.words import shown
from wireproof_spec.nsq import error_codes

TRACE_ID_BYTES = 8
SIZE = "size"

Located = Generator[int, bytes, Partition]


class Address:
    """Where a publish line points to, before it is known whether that exists."""

    __slots__ = ("partition", "topic")

    def __init__(self, topic: str, partition: int | None) -> None:
        self.topic = topic
        self.partition = partition


def address(connection: Connection, words: Sequence[bytes]) -> Address:
    """Read topic and partition of a publish line.

    Raises:
        Refusal: a word is missing, or the partition is no number.
    """
    rules = connection.node.behaviour.publish
    if len(words) < 2 or (len(words) != 3 and _is_partition_needed(connection, words)):
        raise Refusal(error_codes.E_INVALID, "insufficient number of parameters")
    topic = shown(words[1])
    if rules.name_checked and not rules.topic_names(topic):
        raise Refusal(error_codes.E_BAD_TOPIC, f'PUB topic name "{topic}" is not valid')
    code = rules.bad_partition
    if rules.partition_required and len(words) == 3:
        return Address(topic, partition_word.partition_number(words[2], code))
    return Address(topic, partition_word.optional(words, 2, code))


def _is_partition_needed(connection: Connection, words: Sequence[bytes]) -> bool:
    rules = connection.node.behaviour.publish
    return rules.partition_required and rules.needs_partition(
        connection.node.topics.get(shown(words[1]))
    )


def locate(connection: Connection, to: Address, size: int) -> Located:
    """Return the partition a publish goes to.

    Raises:
        Refusal: it is not on this node, or the topic is ordered and the line names none.
    """
    node = connection.node
    partition = node.find(to.topic, to.partition)
    if partition is None:
        ends = connection.node.behaviour.publish.missing_topic_ends
        if not ends:
            yield size
        known = to.topic in node.topics
        code = node.behaviour.cluster.absent if known else error_codes.E_TOPIC_NOT_EXIST
        raise Refusal(code, fatal=ends)
    if partition.topic.ordered and to.partition is None:
        text = f"topic partition is not valid for multi partition: {partition_word.ANY}"
        raise Refusal(error_codes.E_BAD_PARTITION, text)
    connection.authorize("PUB")
    return partition


def body_size(connection: Connection) -> sized.Number:
    """Read the size of a single message, and refuse it when it is out of range."""
    rules = connection.node.behaviour.publish
    limit = connection.node.limits.message
    size = yield from sized.number(
        otherwise=lambda: Refusal(error_codes.E_BAD_BODY, "failed to read body size")
    )
    size = sized.declared(connection, SIZE, size)
    yield from sized.check_size(
        connection,
        size,
        limit=limit,
        invalid=lambda: Refusal(rules.bad_size, f"invalid body size {size}"),
        too_big=lambda: Refusal(error_codes.E_BAD_MESSAGE, f"message too big {size} > {limit}"),
    )
    return size


def body(connection: Connection, size: int) -> sized.Bytes:
    """Read the bytes of a single message; a stream that ends before is refused."""
    rules = connection.node.behaviour.parser
    try:
        data = yield size
    except EndOfStream as end:
        rest = rules.cut_body(end.data, size)
        if rest is None:
            rest = rules.late_cut_body(end.data, size)
            connection.cut = True
        if rest is None:
            raise _cut() from end
        return rest
    connection.body = data
    return rules.assembled(data, connection.pieces)


def store(connection: Connection, partition: Partition, entries: Sequence[Entry]) -> Stored:
    """Publish messages to a partition; its channels are served when all bytes are read.

    Raises:
        Refusal: the partition is led elsewhere, or it or its topic is gone since the size was
            read; or the messages cannot be kept.
    """
    node = connection.node
    connection.suffer()
    _refuse_gone(node, partition)
    partition = _landed(connection, partition, entries)
    check_role(partition)
    extend = partition.topic.extend
    node.behaviour.publish.check_record(entries, extend, node.limits.message)
    if connection.cut:
        node.timers.at(connection.now_ns + LATE_NS, partial(_late, node, partition, entries))
        raise _cut()
    if connection.node.behaviour.weakness.stored is not None:
        entries = connection.node.behaviour.weakness.stored(connection, entries)
    if node.harm.losing:
        node.harm.losing -= 1
        return Stored(1, 0, partition.log.end, 0)
    try:
        stored = partition.publish(entries, connection.now_ns)
    except OSError as error:
        raise Refusal(error_codes.E_PUB_FAILED, str(error), fatal=False) from error
    node.touch(partition)
    return stored


def _refuse_gone(node: Node, partition: Partition) -> None:
    """Refuse messages whose body came after their topic was deleted, or made anew."""
    topic = partition.topic
    here = topic.partitions.get(partition.number) is partition
    if node.topics.get(topic.name) is not topic or not here:
        raise Refusal(error_codes.E_TOPIC_NOT_EXIST)


def _landed(connection: Connection, partition: Partition, entries: Sequence[Entry]) -> Partition:
    """Return the partition that gets the messages; one that is not here gets none."""
    rules = connection.node.behaviour.publish
    landing = Landing(partition.number, partition.log.count, entries)
    here = partition.topic.partitions
    if rules.strays is not None:
        strayed = here.get(rules.strays(landing), partition)
        if strayed is not partition:
            when_ns = connection.now_ns + LATE_NS
            node = connection.node
            node.timers.at(when_ns, partial(_late, node, strayed, entries))
    return here.get(rules.lands(landing), partition)


def _cut() -> Refusal:
    return Refusal(error_codes.E_BAD_MESSAGE, "failed to read message body")


def _late(node: Node, partition: Partition, entries: Sequence[Entry], now_ns: int) -> None:
    if node.topics.get(partition.topic.name) is not partition.topic:
        return
    partition.publish(entries, now_ns)
    node.touch(partition)


def check_role(partition: Partition) -> None:
    """Let a publish through where the partition is led and may be written.

    Clause: smart.cluster

    Raises:
        Refusal: another node leads it, or it takes no messages at present; not fatal.
    """
    if not partition.leads:
        raise Refusal(error_codes.E_FAILED_ON_NOT_LEADER, fatal=False)
    if not partition.writable:
        raise Refusal(error_codes.E_FAILED_ON_NOT_WRITABLE, fatal=False)


def pub(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Store one message as it is."""
    return plain(connection, address(connection, words))


def plain(connection: Connection, to: Address) -> Generator[int, bytes, None]:
    """Store one message as it is where the line points to."""
    size = yield from body_size(connection)
    partition = yield from locate(connection, to, size)
    data = yield from body(connection, size)
    rules = connection.node.behaviour.publish
    stored = store(connection, partition, (Entry(rules.plain_body(data)),))
    connection.respond(rules.plain_ok(stored))


def pub_trace(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Store one message with the trace id in front of it, and tell where."""
    to = address(connection, words)
    size = yield from body_size(connection)
    partition = yield from locate(connection, to, size)
    rules = connection.node.behaviour.publish
    if not rules.has_trace_room(size):
        text = f"invalid body size {size} with trace id enabled"
        raise Refusal(rules.bad_size, text)
    data = yield from body(connection, size)
    trace_id, message = rules.split_traced(data)
    entry = Entry(message, trace_id)
    stored = store(connection, partition, (entry,))
    connection.respond(rules.trace_response(stored))
