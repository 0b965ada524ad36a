"""Faults of message ids, of FIN and TOUCH, and of heartbeats."""

from collections.abc import Callable, Mapping, Sequence

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import identify
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.preset import (
    READERS,
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
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq import names
from wireproof_spec.nsq.names import HEARTBEAT, IDENTIFY, MPUB

_U63 = 1 << 63
_KNOWN = {name for name in vars(names).values() if isinstance(name, bytes)}


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


def _without_heartbeats(frame_type: int, data: bytes) -> bytes:
    return b"" if data == HEARTBEAT else packed.frame(frame_type, data)


def _in_a_response(is_meant: Callable[[bytes], bool]) -> tuple[Override, ...]:
    """Return overrides under which some commands are refused without an error frame."""
    return (answered_with_a_response(lambda command, code: is_meant(command)),)


def _at_once_below_2_s(
    original: Original, channel: Channel, held: Held, now_ns: int, *, delay_ns: int
) -> None:
    original(channel, held, now_ns, delay_ns=delay_ns if delay_ns >= 2_000_000_000 else 0)


def _below_99(original: Original) -> Callable[..., object]:
    def sample_rate(value: int) -> object:
        return original(value if value < 99 else value + 1)

    return sample_rate


def _one_more(original: Original, channel: Channel, subscriber: Subscriber, count: int) -> None:
    original(channel, subscriber, count + (count > 0))


def _with_compression(fields: Mapping[str, object]) -> bytes:
    return compact_json({**fields, "deflate": True})


def _every_tenth_ahead(number: int) -> int:
    return number + 1000 if number % 10 == 0 else number


def _one_of_a_pair_ahead(number: int) -> int:
    return number + 1 if number % 2 else number - 1


_ANY = "smart.trace.any-id"
_INTERNAL = "smart.trace.internal-id"
_HALVES = "smart.message-id.halves"
_FINISH = "smart.message-id.finish"
_GROW = "smart.message-id.increasing"
_BATCH = "smart.trace.batch"


FAULTS: tuple[Preset, ...] = (
    missing(
        "finish-by-anybody",
        "FIN finishes a message that is in flight to another client",
        breaks="smart.message-id.not-held",
        may_break="smart.order.one-in-flight",
        overrides=(around(InFlight, "finish", _by_anybody),),
    ),
    missing(
        "touch-not-heeded",
        "TOUCH does not extend the time-out of a message",
        breaks="smart.message-id.touch",
        overrides=(around(InFlight, "touch", _not_beyond_1_s),),
    ),
    missing(
        "no-heartbeats",
        "the broker sends no heartbeats",
        breaks="smart.connection.heartbeat",
        may_break="upgrade.open-subscription",
        settings={"output.frame": _without_heartbeats},
    ),
    boundary(
        "put-back-comes-at-once",
        "REQ ignores delays below 2 s",
        breaks="smart.connection.requeue",
        overrides=(around(Channel, "put_back", _at_once_below_2_s),),
    ),
    boundary(
        "nothing-in-a-response",
        "an empty line and a wrong magic are refused in a response frame instead of an error "
        "frame",
        breaks="smart.connection.odd-command smart.connection.wrong-magic",
        overrides=_in_a_response(lambda command: not command),
    ),
    wrong_value(
        "unknown-in-a-response",
        "an unknown command is refused in a response frame instead of an error frame",
        breaks="smart.connection.unknown-command",
        may_break="smart.connection.odd-command smart.connection.wrong-magic",
        overrides=_in_a_response(lambda command: command not in _KNOWN),
    ),
    boundary(
        "identify-sample-rate-below-99",
        "IDENTIFY with sample_rate 99, the highest legal value, is refused",
        breaks="smart.connection.identify",
        overrides=(Override(identify, "_sample_rate", _below_99),),
    ),
    boundary(
        "ready-allows-one-more",
        "a client may hold one message more than its RDY count",
        breaks="smart.connection.ready",
        may_break=(
            f"{TRACED} {READERS} smart.history.kept dispatch.history smart.partition.own-messages"
        ),
        overrides=(around(Channel, "set_ready", _one_more),),
    ),
    extra(
        "identify-tells-of-compression",
        "the answer to IDENTIFY lists a compression that the client did not request",
        breaks="smart.connection.identify-told",
        settings={"output.identify_json": _with_compression},
    ),
    wrong_value(
        "unidentified-without-a-code",
        "an IDENTIFY is refused in a response frame instead of an error frame",
        breaks="smart.connection.identify-refused",
        may_break="smart.connection.identify-odd smart.connection.identify-refused-limits",
        overrides=_in_a_response(lambda command: command == IDENTIFY),
    ),
    wrong_value(
        "batch-without-a-code",
        "a batch is refused in a response frame instead of an error frame",
        breaks="smart.connection.batch-refused",
        may_break="smart.connection.batch-of-none",
        overrides=_in_a_response(lambda command: command == MPUB),
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
        breaks="smart.message-id.again",
        may_break="smart.partition.stored-once",
        overrides=_head(lambda message, attempts: message.trace_id or attempts - 1),
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
        may_break="disk.layout smart.trace.internal-id smart.trace.offset",
        settings={"publish.first_id": _far_up, "publish.id_step": -1},
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
