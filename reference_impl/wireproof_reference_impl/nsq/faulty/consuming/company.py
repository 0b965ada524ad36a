"""Faults that show where several clients, publishers, channels or messages come together."""

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.states import State
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing
from wireproof_reference_impl.nsq.wire.identity import MILLISECOND
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.names import CLS, FIN

_AT_ONCE_NS = 20 * MILLISECOND


@condition("smart.connection.requeue", around(Channel, "put_back"))
def put_back_at_once_in_company(
    original: Original, channel: Channel, held: Held, now_ns: int, *, delay_ns: int
) -> None:
    """REQ ignores its delay on a channel with several clients."""
    original(channel, held, now_ns, delay_ns=delay_ns if len(channel.subscribers) < 2 else 0)


@condition("smart.connection.timeout-negotiated", around(Channel, "join"))
def timeout_halved_for_later_clients(
    original: Original, channel: Channel, joining: Subscriber
) -> None:
    """Messages of all clients of a channel but the first time out in half the time."""
    if channel.subscribers:
        joining.message_timeout_ns //= 2
    original(channel, joining)


@condition("smart.message-id.touch", around(InFlight, "touch"))
def touch_ignored_when_it_comes_again(
    original: Original, in_flight: InFlight, internal_id: int, *client: Subscriber, **times: int
) -> None:
    """TOUCH has no effect on a message that was delivered before."""
    held = in_flight.held.get(internal_id)
    if held is None or held.attempts == 1:
        original(in_flight, internal_id, *client, **times)


@condition("smart.connection.ready", around(Channel, "set_ready"))
def ready_one_more_in_company(
    original: Original, channel: Channel, subscriber: Subscriber, count: int
) -> None:
    """A client of a channel with several clients may hold one message more than its RDY count."""
    original(channel, subscriber, count + (count > 0 and len(channel.subscribers) > 1))


@boundary("smart.connection.ready", around(Channel, "set_ready"))
def ready_of_zero_ignored(
    original: Original, channel: Channel, subscriber: Subscriber, count: int
) -> None:
    """RDY 0 has no effect."""
    original(channel, subscriber, count or subscriber.ready)


def _closing(is_meant: Callable[[Subscriber, int], bool]) -> tuple[Override, ...]:
    """Return overrides under which CLS of some clients is answered, and changes nothing.

    A client is told by its subscription and its RDY count.
    """

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        subscriber = connection.subscriber
        before = subscriber.ready if subscriber is not None else 0
        original(connection, words)
        if words[0] == CLS and subscriber is not None and is_meant(subscriber, before):
            subscriber.ready = before

    return (around(Connection, "run_command", run_command),)


@missing("smart.connection.close", _closing)
def closing_client_receives(subscriber: Subscriber, ready: int) -> bool:
    """A client that sent CLS receives messages as before."""
    return True


@boundary("smart.connection.close", _closing)
def closing_client_with_a_large_rdy_receives(subscriber: Subscriber, ready: int) -> bool:
    """A client with RDY 10 or more that sent CLS receives messages as before."""
    return ready >= 10


@condition("smart.connection.close", _closing)
def closing_client_without_a_tag_receives(subscriber: Subscriber, ready: int) -> bool:
    """A client without a desired tag that sent CLS receives messages as before."""
    return subscriber.desired_tag is None


@missing("smart.connection.close-finish", around(Connection, "run_command"))
def closing_finishes_nothing(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> None:
    """FIN after CLS is ignored."""
    if words[0] != FIN or connection.state is not State.CLOSING:
        original(connection, words)


@condition("consume.attempts consume.plain-topic", around(Channel, "data"))
def attempts_count_idle_clients(
    original: Original, channel: Channel, held: Held, subscriber: Subscriber
) -> object:
    """Attempts count one more for each other client of the channel."""
    others = len(channel.subscribers) - 1
    held.attempts += others
    data = original(channel, held, subscriber)
    held.attempts -= others
    return data


@condition("smart.message-id.again", around(Channel, "data"))
def one_body_for_a_trace_id(
    original: Original, channel: Channel, held: Held, subscriber: Subscriber
) -> object:
    """Of two messages in flight with one trace id, the second has the body of the first."""
    message = held.message
    alike = [each for each in channel.in_flight.messages() if each.trace_id == message.trace_id]
    if not alike or not message.trace_id:
        return original(channel, held, subscriber)
    held.message = message._replace(body=alike[0].body)
    data = original(channel, held, subscriber)
    held.message = message
    return data


@condition("smart.history.kept", around(InFlight, "finish"))
def finish_ends_a_whole_trace(
    original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
) -> None:
    """FIN finishes all messages in flight that have the same trace id."""
    held = in_flight.held.get(internal_id)
    original(in_flight, internal_id, subscriber)
    trace_id = held.message.trace_id if held is not None else 0
    for number, other in list(in_flight.held.items()):
        if trace_id and other.message.trace_id == trace_id and other.subscriber is subscriber:
            original(in_flight, number, subscriber)


@condition("consume.header-intact")
def header_of_another_publisher() -> Change:
    """Of two publishers at once, the message of the second has the header of the first."""
    latest: WeakKeyDictionary[Partition, tuple[Connection, int, bytes]] = WeakKeyDictionary()

    def store(
        original: Original,
        connection: Connection,
        partition: Partition,
        entries: Sequence[NewMessage],
    ) -> object:
        publisher, at_ns, header = latest.get(partition, (connection, 0, b""))
        own = entries[0].header
        if own is None:
            return original(connection, partition, entries)
        latest[partition] = connection, connection.now_ns, own
        is_at_once = connection.now_ns - at_ns < _AT_ONCE_NS
        if publisher is not connection and is_at_once and header != own:
            entries = [entries[0]._replace(header=header)]
        return original(connection, partition, entries)

    return around(publish, "store", store)


@condition("dispatch.to-matching", around(Channel, "join"))
def third_tag_is_taken_for_the_first(
    original: Original, channel: Channel, joining: Subscriber
) -> None:
    """A channel knows two tags: a client that desires a third one gets messages of another."""
    tags = sorted(
        {subscriber.desired_tag for subscriber in channel.subscribers if subscriber.desired_tag}
    )
    if joining.desired_tag not in (None, *tags) and len(tags) > 1:
        joining.desired_tag = tags[0]
    original(channel, joining)


@condition("subscribe.support-needed", around(subscribe_rules, "support_rule"))
def support_not_needed_beside_a_client(original: Original, wish: SubscribeRequest) -> object:
    """A client without extend_support may join a channel of an ext topic that is in use."""
    return None if wish.topic_extend and wish.used else original(wish)


@condition("subscribe.support-refused", around(subscribe_rules, "support_rule"))
def support_accepted_beside_a_client(original: Original, wish: SubscribeRequest) -> object:
    """A client with extend_support may join a channel of a plain topic that is in use."""
    return None if not wish.topic_extend and wish.used else original(wish)


FAULTS = list_faults(__name__)
