"""Faults of message ids, and of FIN and TOUCH."""

from collections.abc import Callable, Sequence
from weakref import WeakSet

from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight, NotInFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.preset import (
    TRACED,
    Preset,
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


def _turn(message: Message, attempts: int) -> int:
    return int.from_bytes(message.trace_id.to_bytes(8), "little")


def _forgotten_again(message: Message, attempts: int) -> int:
    return message.trace_id if attempts == 1 else 0


def _finish_when(finishes: Callable[[Held, InFlight], bool]) -> tuple[Override, ...]:
    """Return overrides under which FIN finishes only some messages."""

    def finish(
        original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
    ) -> None:
        held = in_flight.held.get(internal_id)
        if held is None or held.subscriber is not subscriber or finishes(held, in_flight):
            original(in_flight, internal_id, subscriber)

    return (around(InFlight, "finish", finish),)


def _only_low_trace_ids(held: Held, in_flight: InFlight) -> bool:
    return held.message.trace_id < _U63


def _only_the_oldest(held: Held, in_flight: InFlight) -> bool:
    return held.message.internal_id == min(
        number for number, each in in_flight.held.items() if each.subscriber is held.subscriber
    )


def _not_every_third(held: Held, in_flight: InFlight) -> bool:
    return held.message.internal_id % 3 != 0 or held.attempts > 1


def _number_with(number: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that compute internal ids from the next number with a function."""

    def next_ids(
        original: Callable[..., Sequence[int]], partition: Partition, count: int
    ) -> Sequence[int]:
        return list(map(number, original(partition, count)))

    return (around(Partition, "next_ids", next_ids),)


def _turn_id(number: int) -> int:
    return int.from_bytes(number.to_bytes(8), "little")


def _far_up(partition: int) -> int:
    return 1 << 56


def _by_partition(partition: int) -> int:
    return (partition << 50) + 2


def _by_anybody(
    original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
) -> None:
    held = in_flight.held.get(internal_id)
    original(in_flight, internal_id, subscriber if held is None else held.subscriber)


def _not_beyond_1_s(
    original: Original,
    in_flight: InFlight,
    internal_id: int,
    subscriber: Subscriber,
    *,
    now_ns: int,
    most_ns: int,
) -> None:
    original(in_flight, internal_id, subscriber, now_ns=now_ns, most_ns=1_000_000_000)


def _most_of_the_time_gone(
    original: Original,
    in_flight: InFlight,
    internal_id: int,
    subscriber: Subscriber,
    *,
    now_ns: int,
    most_ns: int,
) -> None:
    # Tests use time-outs of one second.
    original(in_flight, internal_id, subscriber, now_ns=now_ns - 800_000_000, most_ns=most_ns)


def _refused_after_nop() -> Override:
    """Return the override under which TOUCH directly after NOP is refused."""
    after_nop: WeakSet[Connection] = WeakSet()

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        if words[0] == TOUCH and connection in after_nop:
            raise Refusal(E_INVALID, "cannot TOUCH after NOP")
        (after_nop.add if words[0] == NOP else after_nop.discard)(connection)
        original(connection, words)

    return around(Connection, "run_command", run_command)


def _dropped_by_others(
    original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
) -> object:
    try:
        return original(in_flight, internal_id, subscriber)
    except NotInFlight:
        held = in_flight.held.get(internal_id)
        if held is not None and held.subscriber is not None:
            original(in_flight, internal_id, held.subscriber)
        raise


def _closes_when_not_held(command: bytes, code: str, fatal: bool) -> bool:
    return fatal or code in (E_FIN_FAILED, E_REQ_FAILED, E_TOUCH_FAILED)


def _time_of_the_first(message: Message, attempts: int) -> int:
    return message.trace_id or (0 if attempts == 1 else message.timestamp_ns)


def _marked_again(message: Message, attempts: int) -> int:
    return message.trace_id or int(attempts > 1)


def _every_tenth_ahead(number: int) -> int:
    return number + 1000 if number % 10 == 0 else number


def _one_of_a_pair_ahead(number: int) -> int:
    return number + 1 if number % 2 else number - 1


_ANY = "smart.trace.any-id"
_INTERNAL = "smart.trace.internal-id"
_HALVES = "smart.message-id.halves"
_FINISH = "smart.message-id.finish"
_NOT_HELD = "smart.message-id.not-held"
_TOUCH = "smart.message-id.touch"
_AGAIN = "smart.message-id.again"
_GROW = "smart.message-id.increasing"
_BATCH = "smart.trace.batch"


FAULTS: tuple[Preset, ...] = (
    missing(
        "finish-by-anybody",
        "FIN finishes a message that is in flight to another client",
        breaks=_NOT_HELD,
        may_break="smart.order.one-in-flight",
        overrides=(around(InFlight, "finish", _by_anybody),),
    ),
    condition(
        "put-back-by-anybody",
        "REQ of a message that is in flight to another client is refused, and drops the message",
        breaks=_NOT_HELD,
        may_break="smart.order.one-in-flight",
        overrides=(around(InFlight, "take", _dropped_by_others),),
    ),
    wrong_value(
        "not-held-closes",
        "FIN, REQ and TOUCH of a message that the client does not hold close the connection",
        breaks=_NOT_HELD,
        settings={"output.fatal": _closes_when_not_held},
    ),
    missing(
        "touch-not-heeded",
        "TOUCH does not extend the time-out of a message",
        breaks=_TOUCH,
        overrides=(around(InFlight, "touch", _not_beyond_1_s),),
    ),
    wrong_value(
        "touch-takes-time-away",
        "TOUCH grants a message 800 ms less than its time-out",
        breaks=_TOUCH,
        may_break="smart.order.one-in-flight",
        overrides=(around(InFlight, "touch", _most_of_the_time_gone),),
    ),
    condition(
        "touch-refused-after-nop",
        "TOUCH directly after NOP is refused",
        breaks=_TOUCH,
        overrides=(_refused_after_nop(),),
    ),
    wrong_value(
        "id-low-half-little-endian",
        "the trace id of delivered messages is in little-endian byte order",
        breaks=_HALVES,
        may_break=f"{_ANY} {_INTERNAL} {_BATCH} publish.trace-response http.trace-response",
        overrides=_head(_turn),
    ),
    missing(
        "id-low-half-zero",
        "the lower half of delivered message ids is always 0",
        breaks=_HALVES,
        may_break=(
            f"{_ANY} {_INTERNAL} {_BATCH} publish.trace-response http.trace-response "
            "consume.layout"
        ),
        overrides=_head(lambda message, attempts: 0),
    ),
    condition(
        "id-low-half-forgotten",
        "a redelivered message has lost its trace id",
        breaks=_HALVES,
        may_break="smart.message-id.again",
        overrides=_head(_forgotten_again),
    ),
    condition(
        "id-of-untraced-counts-deliveries",
        "the low half of an untraced message's id is the number of times it came again",
        breaks=_AGAIN,
        may_break="smart.partition.stored-once",
        overrides=_head(lambda message, attempts: message.trace_id or attempts - 1),
    ),
    wrong_value(
        "id-of-untraced-is-the-time",
        "the low half of an untraced message's id is its time stamp once it comes again",
        breaks=_AGAIN,
        may_break="smart.partition.stored-once",
        overrides=_head(_time_of_the_first),
    ),
    extra(
        "id-of-untraced-marked",
        "the low half of an untraced message's id is 1 once it comes again",
        breaks=_AGAIN,
        may_break="smart.partition.stored-once",
        overrides=_head(_marked_again),
    ),
    boundary(
        "finish-not-from-2-to-the-63",
        "FIN is ignored for messages with trace ids from 2^63 on",
        breaks=_FINISH,
        may_break=(
            "smart.connection.ready-again "
            f"{TRACED} smart.order.in-order smart.order.layout smart.order.increasing "
            "smart.order.position smart.order.rdy"
        ),
        overrides=_finish_when(_only_low_trace_ids),
    ),
    condition(
        "finish-the-oldest-only",
        "FIN is ignored unless it names the oldest message in flight to the client",
        breaks=_FINISH,
        may_break=(
            "smart.connection.ready-again "
            "dispatch.to-matching dispatch.fallback dispatch.leave smart.history.kept "
            "dispatch.history smart.partition.own-messages"
        ),
        overrides=_finish_when(_only_the_oldest),
    ),
    missing(
        "finish-not-every-third",
        "the first FIN of every third message is ignored",
        breaks=_FINISH,
        may_break=(
            "smart.connection.ready-again "
            f"{TRACED} consume.batch consume.layout consume.no-header smart.order.in-order "
            "smart.order.one-in-flight smart.order.rdy smart.order.again smart.order.is-must "
            "smart.order.increasing smart.order.position smart.order.partition smart.order.layout "
            "smart.order.plain-topic smart.history.order smart.history.kept dispatch.history "
            "dispatch.to-matching dispatch.never-other-tag "
            "dispatch.fallback dispatch.leave dispatch.untagged smart.partition.publish"
        ),
        overrides=_finish_when(_not_every_third),
    ),
    wrong_value(
        "ids-fall",
        "internal ids decrease from message to message",
        breaks=f"{_GROW} smart.order.increasing",
        may_break="disk.layout smart.trace.any-id smart.trace.internal-id smart.trace.offset",
        settings={"publish.first_id": _far_up, "publish.id_step": -1},
    ),
    wrong_value(
        "ids-little-endian",
        "internal ids are in little-endian byte order, in answers and in messages",
        breaks=_GROW,
        may_break=(
            f"{TRACED} smart.order.increasing smart.trace.response smart.trace.size "
            "publish.trace-response disk.position disk.layout"
        ),
        overrides=_number_with(_turn_id),
    ),
    condition(
        "ids-swapped-in-pairs",
        "in every pair of messages, the first has the greater internal id",
        breaks=f"{_GROW} smart.order.increasing",
        may_break="disk.layout",
        settings={"publish.first_id": _by_partition},
        overrides=_number_with(_one_of_a_pair_ahead),
    ),
    boundary(
        "ids-every-tenth-ahead",
        "every tenth internal id is greater than the ids after it",
        breaks=f"{_GROW} smart.order.increasing",
        may_break="disk.layout",
        overrides=_number_with(_every_tenth_ahead),
    ),
)
