"""Faults of message ids, and of FIN and TOUCH."""

from collections.abc import Callable, Sequence
from weakref import WeakSet

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight, NotInFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Effect
from wireproof_spec.nsq.error_codes import E_FIN_FAILED, E_INVALID, E_REQ_FAILED, E_TOUCH_FAILED
from wireproof_spec.nsq.names import NOP, TOUCH

_U63 = 1 << 63


def _head(trace_id: Callable[[Message, int], int]) -> tuple[Override, ...]:
    """Return overrides that change the low half of delivered message ids."""

    def head(message: Message, attempts: int) -> bytes:
        return packed.message_head(
            message.timestamp_ns,
            attempts,
            internal_id=message.internal_id,
            trace_id=trace_id(message, attempts),
        )

    return (replace_function(message_parts, "head", head),)


def _finish_when(finishes: Callable[[Held, InFlight], bool]) -> tuple[Override, ...]:
    """Return overrides under which FIN finishes only some messages."""

    def finish(
        original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
    ) -> None:
        held = in_flight.held.get(internal_id)
        if held is None or held.subscriber is not subscriber or finishes(held, in_flight):
            original(in_flight, internal_id, subscriber)

    return (around(InFlight, "finish", finish),)


def _number_with(number: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that compute internal ids from the next number with a function."""

    def next_ids(
        original: Callable[..., Sequence[int]], partition: Partition, count: int
    ) -> Sequence[int]:
        return list(map(number, original(partition, count)))

    return (around(Partition, "next_ids", next_ids),)


@missing("smart.message-id.not-held", around(InFlight, "finish"))
def finish_by_anybody(
    original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
) -> None:
    """FIN finishes a message that is in flight to another client."""
    held = in_flight.held.get(internal_id)
    original(in_flight, internal_id, subscriber if held is None else held.subscriber)


@condition("smart.message-id.not-held", around(InFlight, "take"))
def put_back_by_anybody(
    original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
) -> object:
    """REQ of a message that is in flight to another client is refused, and drops the message."""
    try:
        return original(in_flight, internal_id, subscriber)
    except NotInFlight:
        held = in_flight.held.get(internal_id)
        if held is not None and held.subscriber is not None:
            original(in_flight, internal_id, held.subscriber)
        raise


@condition("smart.message-id.not-held", around(Channel, "requeue"))
def delayed_by_anybody(
    original: Original,
    channel: Channel,
    internal_id: int,
    subscriber: Subscriber,
    *,
    delay_ns: int,
    now_ns: int,
) -> None:
    """REQ with a delay requeues a message that is in flight to another client."""
    held = channel.in_flight.held.get(internal_id)
    if delay_ns and held is not None and held.subscriber is not None:
        subscriber = held.subscriber
    original(channel, internal_id, subscriber, delay_ns=delay_ns, now_ns=now_ns)


@wrong_value("smart.message-id.not-held", setting("output.fatal"))
def not_held_closes(command: bytes, code: str, fatal: bool) -> bool:
    """FIN, REQ and TOUCH of a message that the client does not hold close the connection."""
    return fatal or code in (E_FIN_FAILED, E_REQ_FAILED, E_TOUCH_FAILED)


def _touching(grant: Callable[[int, int, int], tuple[int, int]]) -> Override:
    """Return the override under which TOUCH grants another time.

    `grant` gets now, the most that is granted in all, and a message's time-out, and returns from
    when TOUCH counts and the most.
    """

    def touch(
        original: Original,
        in_flight: InFlight,
        internal_id: int,
        subscriber: Subscriber,
        *,
        now_ns: int,
        most_ns: int,
    ) -> None:
        now_ns, most_ns = grant(now_ns, most_ns, subscriber.message_timeout_ns)
        original(in_flight, internal_id, subscriber, now_ns=now_ns, most_ns=most_ns)

    return around(InFlight, "touch", touch)


@missing("smart.message-id.touch", _touching)
def touch_not_heeded(now_ns: int, most_ns: int, timeout_ns: int) -> tuple[int, int]:
    """TOUCH does not extend the time-out of a message."""
    return now_ns, 1_000_000_000


@wrong_value("smart.message-id.touch", _touching)
def touch_takes_time_away(now_ns: int, most_ns: int, timeout_ns: int) -> tuple[int, int]:
    # Tests use time-outs of one second.
    """TOUCH grants a message 800 ms less than its time-out."""
    return now_ns - 800_000_000, most_ns


@boundary("smart.message-id.touch", _touching)
def touch_adds_a_time_out(now_ns: int, most_ns: int, timeout_ns: int) -> tuple[int, int]:
    """TOUCH grants a message two time-outs from then on."""
    return now_ns + timeout_ns, most_ns


@condition("smart.message-id.touch")
def touch_refused_after_nop() -> Change:
    """TOUCH directly after NOP is refused."""
    after_nop: WeakSet[Connection] = WeakSet()

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        if words[0] == TOUCH and connection in after_nop:
            raise Refusal(E_INVALID, "cannot TOUCH after NOP")
        (after_nop.add if words[0] == NOP else after_nop.discard)(connection)
        original(connection, words)

    return around(Connection, "run_command", run_command)


@wrong_value("smart.message-id.halves", _head)
def id_low_half_little_endian(message: Message, attempts: int) -> int:
    """The trace id of delivered messages is in little-endian byte order."""
    return int.from_bytes(message.trace_id.to_bytes(8), "little")


@missing("smart.message-id.halves", _head)
def id_low_half_zero(message: Message, attempts: int) -> int:
    """The lower half of delivered message ids is always 0."""
    return 0


@condition("smart.message-id.halves", _head)
def id_low_half_forgotten(message: Message, attempts: int) -> int:
    """A redelivered message has lost its trace id."""
    return message.trace_id if attempts == 1 else 0


@condition("smart.message-id.again", _head)
def id_of_untraced_counts_deliveries(message: Message, attempts: int) -> int:
    """The low half of an untraced message's id is the number of times it came again."""
    return message.trace_id or attempts - 1


@wrong_value("smart.message-id.again", _head)
def id_of_untraced_is_the_time(message: Message, attempts: int) -> int:
    """The low half of an untraced message's id is its time stamp once it comes again."""
    return message.trace_id or (0 if attempts == 1 else message.timestamp_ns)


@extra("smart.message-id.again", _head)
def id_of_untraced_marked(message: Message, attempts: int) -> int:
    """The low half of an untraced message's id is 1 once it comes again."""
    return message.trace_id or int(attempts > 1)


@boundary("smart.message-id.finish", _finish_when)
def finish_not_from_2_to_the_63(held: Held, in_flight: InFlight) -> bool:
    """FIN is ignored for messages with trace ids from 2^63 on."""
    return held.message.trace_id < _U63


@condition("smart.message-id.finish", _finish_when)
def finish_the_oldest_only(held: Held, in_flight: InFlight) -> bool:
    """FIN is ignored unless it names the oldest message in flight to the client."""
    return held.message.internal_id == min(
        number for number, each in in_flight.held.items() if each.subscriber is held.subscriber
    )


@missing("smart.message-id.finish", _finish_when)
def finish_not_every_third(held: Held, in_flight: InFlight) -> bool:
    """The first FIN of every third message is ignored."""
    return held.message.internal_id % 3 != 0 or held.attempts > 1


def _far_up(partition: int) -> int:
    return 1 << 56


@wrong_value("smart.message-id.increasing smart.order.increasing")
def ids_fall() -> Change:
    """Internal ids decrease from message to message."""
    return {"publish.first_id": _far_up, "publish.id_step": -1}


@wrong_value("smart.message-id.increasing", _number_with)
def ids_little_endian(number: int) -> int:
    """Internal ids are in little-endian byte order, in answers and in messages."""
    return int.from_bytes(number.to_bytes(8), "little")


def _by_partition(partition: int) -> int:
    return (partition << 50) + 2


def _one_of_a_pair_ahead(number: int) -> int:
    return number + 1 if number % 2 else number - 1


@condition("smart.message-id.increasing smart.order.increasing")
def ids_swapped_in_pairs() -> Change:
    """In every pair of messages, the first has the greater internal id."""
    return Effect({"publish.first_id": _by_partition}, (*_number_with(_one_of_a_pair_ahead),))


@boundary("smart.message-id.increasing smart.order.increasing", _number_with)
def ids_every_tenth_ahead(number: int) -> int:
    """Every tenth internal id is greater than the ids after it."""
    return number + 1000 if number % 10 == 0 else number


FAULTS = list_faults(__name__)
