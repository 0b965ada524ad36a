"""PUB and PUB_TRACE, and the checks that all publish commands begin with."""

from collections.abc import Generator, Sequence

from wireproof_reference_impl.nsq.core.commands import partition_word, sized
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.wire.message import NewMessage, PublishResult
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import OK, is_valid_name

TRACE_ID_BYTES = 8

Located = Generator[int, bytes, Partition]


class Address:
    """The topic and partition named by a publish line, whether they exist or not."""

    __slots__ = ("partition", "topic")

    def __init__(self, topic: str, partition: int | None) -> None:
        self.topic = topic
        self.partition = partition


def address(connection: Connection, words: Sequence[bytes]) -> Address:
    """Read topic and partition from the words of a publish line.

    Raises:
        Refusal: a word is missing, or the partition is no number.
    """
    rules = connection.node.behaviour.publish
    if len(words) < 2 or (len(words) != 3 and needs_partition(connection, words)):
        raise Refusal(error_codes.E_INVALID, "insufficient number of parameters")
    topic = show(words[1])
    if rules.name_checked and not is_valid_name(topic):
        raise Refusal(error_codes.E_BAD_TOPIC, f'PUB topic name "{topic}" is not valid')
    code = rules.bad_partition
    if rules.partition_required and len(words) == 3:
        return Address(topic, partition_word.partition_number(words[2], code))
    return Address(topic, partition_word.optional(words, 2, code))


def needs_partition(connection: Connection, words: Sequence[bytes]) -> bool:
    """Return True if a publish line must name a partition."""
    return connection.node.behaviour.publish.partition_required


def locate(connection: Connection, to: Address, size: int) -> Located:
    """Return the partition that a publish goes to.

    Raises:
        Refusal: the partition is not on this node, or is missing for an ordered topic.
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
    """Read the size of a single message from the connection; refuse it if out of range."""
    rules = connection.node.behaviour.publish
    limit = connection.node.limits.message
    size = yield from sized.number(
        otherwise=lambda: Refusal(error_codes.E_BAD_BODY, "failed to read body size")
    )
    sized.check_size(
        size,
        limit=limit,
        invalid=lambda: Refusal(rules.bad_size, f"invalid body size {size}"),
        too_big=lambda: Refusal(error_codes.E_BAD_MESSAGE, f"message too big {size} > {limit}"),
    )
    return size


def read_body(connection: Connection, size: int) -> sized.Bytes:
    """Read the bytes of a single message; a stream that ends before them is refused."""
    return (yield from sized.exactly(size, otherwise=cut_body))


def store(
    connection: Connection, partition: Partition, entries: Sequence[NewMessage]
) -> PublishResult:
    """Publish messages to a partition; its channels are served after all input has been read.

    Raises:
        Refusal: another node leads the partition, or it or its topic was deleted after the
            size was read, or the messages cannot be stored.
    """
    node = connection.node
    _refuse_gone(node, partition)
    check_role(partition)
    extend = partition.topic.extend
    node.behaviour.publish.check_record(entries, extend, node.limits.message)
    try:
        stored = partition.publish(entries, connection.now_ns)
    except OSError as error:
        raise Refusal(error_codes.E_PUB_FAILED, str(error), fatal=False) from error
    node.touch(partition)
    return stored


def _refuse_gone(node: Node, partition: Partition) -> None:
    """Refuse messages if their topic was deleted or recreated before their body arrived."""
    topic = partition.topic
    here = topic.partitions.get(partition.number) is partition
    if node.topics.get(topic.name) is not topic or not here:
        raise Refusal(error_codes.E_TOPIC_NOT_EXIST)


def cut_body() -> Refusal:
    """Return the refusal of a message whose body was cut off.

    Clause: ext.parser.truncated
    """
    return Refusal(error_codes.E_BAD_MESSAGE, "failed to read message body")


def split_traced(data: bytes) -> tuple[int, bytes]:
    """Return the trace id and the message in a traced body.

    Clause: smart.trace.layout, smart.trace.any-id
    """
    return int.from_bytes(data[:TRACE_ID_BYTES]), data[TRACE_ID_BYTES:]


def check_role(partition: Partition) -> None:
    """Check that this node leads a partition, and that the partition is writable.

    Clause: smart.cluster

    Raises:
        Refusal: another node leads the partition, or it takes no messages now; not fatal.
    """
    if not partition.leads:
        raise Refusal(error_codes.E_FAILED_ON_NOT_LEADER, fatal=False)
    if not partition.writable:
        raise Refusal(error_codes.E_FAILED_ON_NOT_WRITABLE, fatal=False)


def pub(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run PUB: store one message without a header."""
    return plain(connection, address(connection, words))


def plain(connection: Connection, to: Address) -> Generator[int, bytes, None]:
    """Read one message without a header, and store it in the partition that its line names."""
    size = yield from body_size(connection)
    partition = yield from locate(connection, to, size)
    data = yield from read_body(connection, size)
    store(connection, partition, (NewMessage(data),))
    connection.respond(OK)


def pub_trace(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run PUB_TRACE: store the message after its trace id, and answer with its position."""
    to = address(connection, words)
    size = yield from body_size(connection)
    partition = yield from locate(connection, to, size)
    rules = connection.node.behaviour.publish
    if not rules.has_trace_room(size):
        text = f"invalid body size {size} with trace id enabled"
        raise Refusal(rules.bad_size, text)
    data = yield from read_body(connection, size)
    trace_id, message = split_traced(data)
    stored = store(connection, partition, (NewMessage(message, trace_id),))
    connection.respond(rules.trace_response(stored))
