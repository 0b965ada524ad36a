"""Faults of heartbeats, IDENTIFY, RDY, REQ and unknown commands."""

from collections.abc import Callable, Mapping, Sequence
from weakref import WeakKeyDictionary

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import identify
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.heartbeat import Heartbeat
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Outlet, Subscriber
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
from wireproof_reference_impl.nsq.wire import identify_json, packed
from wireproof_reference_impl.nsq.wire.identify_json import BadIdentify, IdentifyFields
from wireproof_reference_impl.nsq.wire.identity import Identity
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq import names
from wireproof_spec.nsq.error_codes import E_IDENTIFY_FAILED
from wireproof_spec.nsq.names import HEARTBEAT, IDENTIFY, NOP, OK

_KNOWN = {name for name in vars(names).values() if isinstance(name, bytes)}


def _do_nothing(heartbeat: Heartbeat, now_ns: int) -> None:
    """Do nothing."""


def _without_heartbeats(frame_type: int, data: bytes) -> bytes:
    return b"" if data == HEARTBEAT else packed.frame(frame_type, data)


def _heartbeats_as_ok(frame_type: int, data: bytes) -> bytes:
    return packed.frame(frame_type, OK if data == HEARTBEAT else data)


def _nop_unheard() -> Override:
    """Return the override under which NOP does not count as a sign of life."""
    heard_ns: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        if words[0] == NOP:
            connection.last_read_ns = heard_ns.get(connection, connection.last_read_ns)
        heard_ns[connection] = connection.last_read_ns
        original(connection, words)

    return around(Connection, "run_command", run_command)


def _in_a_response(is_meant: Callable[[bytes], bool]) -> tuple[Override, ...]:
    """Return overrides under which some commands are refused without an error frame."""
    return (answered_with_a_response(lambda command, code: is_meant(command)),)


def _unknown_ignored(is_meant: Callable[[bytes], bool]) -> tuple[Override, ...]:
    """Return overrides under which some unknown commands have no effect and no answer."""

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        if words[0] in _KNOWN or not is_meant(words[0]):
            original(connection, words)

    return (around(Connection, "run_command", run_command),)


def _put_back_after(delay_ns_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that change the delay of REQ."""

    def put_back(
        original: Original, channel: Channel, held: Held, now_ns: int, *, delay_ns: int
    ) -> None:
        original(channel, held, now_ns, delay_ns=delay_ns_of(delay_ns))

    return (around(Channel, "put_back", put_back),)


def _sample_rate_as(value_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that change a sample rate before its range is checked."""

    def sample_rate(original: Original, value: int) -> object:
        return original(value_of(value))

    return (around(identify, "_sample_rate", sample_rate),)


def _compression_refused(original: Callable[..., Identity], fields: IdentifyFields) -> Identity:
    if fields.flag("deflate") or fields.flag("snappy"):
        raise Refusal(E_IDENTIFY_FAILED, "cannot enable compression")
    return original(fields)


def _unbuffered_unanswered(original: Original, connection: Connection, data: bytes) -> None:
    is_unbuffered = connection.identity.output_buffer_timeout_ms == 0
    if connection.command != IDENTIFY or not is_unbuffered:
        original(connection, data)


def _nothing_for_what_is_not_json(
    original: Callable[..., IdentifyFields], data: bytes
) -> IdentifyFields:
    try:
        return original(data)
    except BadIdentify:
        return original(b"{}")


def _ready_as(count_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that change the RDY count of a client."""

    def set_ready(
        original: Original, channel: Channel, subscriber: Subscriber, count: int
    ) -> None:
        original(channel, subscriber, count_of(count))

    return (around(Channel, "set_ready", set_ready),)


def _room_for_those_before(original: Original, channel: Channel, joining: Subscriber) -> None:
    for subscriber in channel.subscribers:
        subscriber.ready += subscriber.ready > 0
    original(channel, joining)


def _no_room_after_four() -> Override:
    """Return the override under which RDY 1 becomes RDY 0 after the client's fourth FIN."""
    finished: WeakKeyDictionary[Outlet, int] = WeakKeyDictionary()

    def finish(
        original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
    ) -> None:
        original(in_flight, internal_id, subscriber)
        finished[subscriber.outlet] = finished.get(subscriber.outlet, 0) + 1
        if subscriber.ready == 1 and finished[subscriber.outlet] == 4:
            subscriber.ready = 0

    return around(InFlight, "finish", finish)


def _with_compression(fields: Mapping[str, object]) -> bytes:
    return compact_json({**fields, "deflate": True})


_HEARTBEAT = "smart.connection.heartbeat"
_IDENTIFY = "smart.connection.identify"
_REFUSED = "smart.connection.identify-refused"
_REFUSED_BESIDES = "smart.connection.identify-odd smart.connection.identify-refused-limits"
_READY = "smart.connection.ready"
_READY_BESIDES = (
    f"{TRACED} {READERS} smart.history.kept dispatch.history smart.partition.own-messages"
)
_REQUEUE = "smart.connection.requeue"
_UNKNOWN = "smart.connection.unknown-command"
_ODD = "smart.connection.odd-command smart.connection.wrong-magic"


FAULTS: tuple[Preset, ...] = (
    missing(
        "heartbeat-never",
        "no heartbeat is ever sent",
        breaks=_HEARTBEAT,
        overrides=(replace_function(Heartbeat, "_arm", _do_nothing),),
    ),
    missing(
        "heartbeat-unanswered-tolerated",
        "a client that answers no heartbeat stays connected",
        breaks=_HEARTBEAT,
        overrides=(replace_function(Heartbeat, "_check_silence", _do_nothing),),
    ),
    missing(
        "no-heartbeats",
        "the broker sends no heartbeats",
        breaks=_HEARTBEAT,
        may_break="upgrade.open-subscription",
        settings={"output.frame": _without_heartbeats},
    ),
    wrong_value(
        "heartbeats-as-ok",
        "the broker sends OK in the place of each heartbeat",
        breaks=_HEARTBEAT,
        may_break="upgrade.open-subscription",
        settings={"output.frame": _heartbeats_as_ok},
    ),
    condition(
        "heartbeat-answers-unheard",
        "a client that sends nothing but NOP is disconnected as if it were silent",
        breaks=_HEARTBEAT,
        overrides=(_nop_unheard(),),
    ),
    missing(
        "put-back-without-delay",
        "REQ ignores its delay",
        breaks=_REQUEUE,
        may_break="smart.order.again smart.history.kept smart.history.order",
        overrides=_put_back_after(lambda delay_ns: 0),
    ),
    boundary(
        "put-back-comes-at-once",
        "REQ ignores delays below 2 s",
        breaks=_REQUEUE,
        overrides=_put_back_after(lambda delay_ns: delay_ns * (delay_ns >= 2_000_000_000)),
    ),
    wrong_value(
        "put-back-in-half-the-time",
        "REQ halves its delay",
        breaks=_REQUEUE,
        overrides=_put_back_after(lambda delay_ns: delay_ns // 2),
    ),
    boundary(
        "nothing-in-a-response",
        "an empty line and a wrong magic are refused in a response frame instead of an error "
        "frame",
        breaks=_ODD,
        overrides=_in_a_response(lambda command: not command),
    ),
    wrong_value(
        "unknown-in-a-response",
        "an unknown command is refused in a response frame instead of an error frame",
        breaks=_UNKNOWN,
        may_break=_ODD,
        overrides=_in_a_response(lambda command: command not in _KNOWN),
    ),
    missing(
        "unknown-ignored",
        "an unknown command has no answer, and the connection stays open",
        breaks=_UNKNOWN,
        may_break=_ODD,
        overrides=_unknown_ignored(lambda command: True),
    ),
    condition(
        "unknown-begins-with-nop",
        "an unknown command that begins with NOP is taken for NOP",
        breaks=_UNKNOWN,
        overrides=_unknown_ignored(lambda command: command.startswith(NOP)),
    ),
    boundary(
        "identify-sample-rate-below-99",
        "IDENTIFY with sample_rate 99, the highest legal value, is refused",
        breaks=_IDENTIFY,
        overrides=_sample_rate_as(lambda value: value if value < 99 else value + 1),
    ),
    condition(
        "identify-compression-refused",
        "IDENTIFY that asks for compression is refused",
        breaks=_IDENTIFY,
        may_break="smart.connection.identify-told",
        overrides=(around(identify, "read_identity", _compression_refused),),
    ),
    missing(
        "identify-unbuffered-unanswered",
        "IDENTIFY that disables the output buffer's time-out has no answer",
        breaks=_IDENTIFY,
        overrides=(around(Connection, "respond", _unbuffered_unanswered),),
    ),
    wrong_value(
        "unidentified-without-a-code",
        "an IDENTIFY is refused in a response frame instead of an error frame",
        breaks=_REFUSED,
        may_break=_REFUSED_BESIDES,
        overrides=_in_a_response(lambda command: command == IDENTIFY),
    ),
    boundary(
        "identify-sample-rate-of-100",
        "IDENTIFY with sample_rate 100 is accepted",
        breaks=_REFUSED,
        overrides=_sample_rate_as(lambda value: min(value, 99)),
    ),
    missing(
        "identify-needs-no-json",
        "IDENTIFY whose body is no JSON object is accepted",
        breaks=_REFUSED,
        may_break=_REFUSED_BESIDES,
        overrides=(around(identify_json, "read", _nothing_for_what_is_not_json),),
    ),
    extra(
        "identify-tells-of-compression",
        "the answer to IDENTIFY lists a compression that the client did not request",
        breaks="smart.connection.identify-told",
        settings={"output.identify_json": _with_compression},
    ),
    boundary(
        "ready-allows-one-more",
        "a client may hold one message more than its RDY count",
        breaks=_READY,
        may_break=_READY_BESIDES,
        overrides=_ready_as(lambda count: count + (count > 0)),
    ),
    missing(
        "ready-not-heeded",
        "a client may hold any number of messages, whatever its RDY count",
        breaks=_READY,
        may_break=_READY_BESIDES,
        overrides=_ready_as(lambda count: 2500 if count else 0),
    ),
    condition(
        "ready-grows-with-the-channel",
        "a client may hold one message more for each client that subscribes after it",
        breaks=_READY,
        may_break=_READY_BESIDES,
        overrides=(around(Channel, "join", _room_for_those_before),),
    ),
    condition(
        "finish-makes-no-room-after-four",
        "a client with RDY 1 receives nothing after its fourth FIN",
        breaks="smart.connection.ready-again",
        may_break=_READY_BESIDES,
        overrides=(_no_room_after_four(),),
    ),
)
