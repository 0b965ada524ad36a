"""SUB, SUB_ORDER, SUB_ORDERED and SUB_ADVANCED."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import partition_word
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.states import Event
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import ext_filter, subscribe_rules
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.wire.identity import MILLISECOND, Identity
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import BadWord, integer, show
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.names import OK, SUB, SUB_ADVANCED

_OFFSET_KINDS = frozenset({"timestamp", "special", "virtual_queue", "msgcount"})
_END = ("special", -1)

Offset = tuple[str, int]


def subscribe(connection: Connection, words: Sequence[bytes]) -> None:
    """Run a subscribe command: make the connection a client of a channel."""
    offset = _offset(words) if words[0] == SUB_ADVANCED else None
    connection.move(Event.SUB)
    _check_words(connection, words)
    partition = find_partition(connection, words)
    wish = checked_wish(connection, words, partition)
    _check_role(partition, show(words[2]))
    ordered = words[0] not in (SUB, SUB_ADVANCED)
    if ordered and connection.identity.sample_rate:
        text = "order consume is not allowed while sample rate is not 0"
        raise Refusal(error_codes.E_INVALID, text)
    channel = open_channel(connection, partition, show(words[2]))
    if offset is not None and not channel.subscribers:
        _start_at(channel, offset)
    channel.ordered = channel.ordered or ordered
    channel.join(make_subscriber(connection, channel, wish))
    connection.respond(OK)
    connection.node.touch(partition)


def checked_wish(
    connection: Connection, words: Sequence[bytes], partition: Partition
) -> SubscribeRequest:
    """Return the request of a subscribe command, if the rules permit it.

    Raises:
        Refusal: the rules of ordered topics or of the extend feature forbid it.
    """
    wish = read_wish(connection, words, partition)
    refusal = subscribe_rules.order_rule(wish) or subscribe_rules.support_rule(wish)
    if refusal is not None:
        raise refusal
    return wish


def read_wish(
    connection: Connection, words: Sequence[bytes], partition: Partition
) -> SubscribeRequest:
    """Return the request of a subscribe command, whether it is permitted or not."""
    topic = partition.topic
    channel = partition.channels.get(show(words[2]))
    return SubscribeRequest(
        connection.identity,
        words[0],
        topic.extend,
        topic.born_extend,
        ordered=topic.ordered,
        known=channel is not None,
        used=channel is not None and bool(channel.subscribers),
    )


def _check_words(connection: Connection, words: Sequence[bytes]) -> None:
    if connection.identity.heartbeat_ms is None:
        raise Refusal(error_codes.E_INVALID, "cannot SUB with heartbeats disabled")
    if len(words) < 3:
        raise Refusal(error_codes.E_INVALID, "SUB insufficient number of parameters")
    topic, channel = show(words[1]), show(words[2])
    if not subscribe_rules.is_topic_name(topic):
        raise Refusal(error_codes.E_BAD_TOPIC, f'SUB topic name "{topic}" is not valid')
    if not subscribe_rules.is_channel_name(channel):
        raise Refusal(error_codes.E_BAD_CHANNEL, f'SUB channel name "{channel}" is not valid')


def find_partition(connection: Connection, words: Sequence[bytes]) -> Partition:
    """Return the partition that the line of a subscribe command names.

    Clause: smart.partition.subscribe, smart.order.partition

    Raises:
        Refusal: the word is no number, or this node has no such topic or partition.
    """
    rules = connection.node.behaviour.subscribe
    end = 4 if rules.partition_beside_offset else len(words)
    number = partition_word.optional(words[:end], 3, error_codes.E_BAD_PARTITION)
    connection.authorize("SUB")
    partition = connection.node.find(show(words[1]), number)
    if partition is None:
        raise Refusal(error_codes.E_TOPIC_NOT_EXIST)
    return partition


def _check_role(partition: Partition, channel: str) -> None:
    if not partition.leads:
        raise Refusal(error_codes.E_FAILED_ON_NOT_LEADER)
    if channel not in partition.channels and not partition.topic.channels_made:
        text = "channel is not registered under topic."
        raise Refusal(error_codes.E_SUB_CHANNEL_NOT_REGISTERED, text)


def open_channel(connection: Connection, partition: Partition, name: str) -> Channel:
    """Return a channel of a partition; create it if it does not exist.

    Raises:
        Refusal: a new channel cannot be stored.
    """
    try:
        return connection.node.channel(partition, name)
    except OSError as error:
        raise Refusal(error_codes.E_INVALID, f"SUB cannot keep the channel: {error}") from error


def _offset(words: Sequence[bytes]) -> Offset | None:
    if len(words) < 5:
        return None
    kind, colon, number = show(words[4]).partition(":")
    if not colon or kind not in _OFFSET_KINDS:
        raise Refusal(error_codes.E_INVALID, f"invalid consume offset:{show(words[4])}")
    try:
        return kind, integer(number.encode("utf-8", "surrogateescape"), "ParseInt")
    except BadWord as error:
        raise Refusal(error_codes.E_INVALID, str(error)) from error


def _start_at(channel: Channel, offset: Offset) -> None:
    if offset == _END:
        channel.backlog.skip_to_end()
    elif offset[0] == _END[0]:
        raise Refusal(error_codes.E_INVALID, "not supported offset type")
    else:
        text = "Not supported while coordinator disabled"
        raise Refusal(error_codes.E_INVALID, text)


def make_subscriber(
    connection: Connection, channel: Channel, wish: SubscribeRequest
) -> Subscriber:
    """Return the subscriber of a connection; it has not joined the channel yet."""
    identity = connection.identity
    subscriber = Subscriber(
        connection,
        topic_extend=wish.topic_extend,
        extend=wish.topic_extend and identity.extend_support,
        position=wish.command != SUB,
        message_timeout_ns=identity.message_timeout_ms * MILLISECOND,
    )
    subscriber.desired_tag = subscribe_rules.desired_tag(wish)
    subscriber.takes = _make_sampling(identity) or ext_filter.make_filter(identity.ext_filter)
    if channel.ignores_ready:
        subscriber.ready = 1
    connection.subscriber = subscriber
    connection.channel = channel
    return subscriber


def _make_sampling(identity: Identity) -> Callable[[Message], bool] | None:
    rate = identity.sample_rate
    return (lambda message: message.internal_id % 100 < rate) if rate else None
