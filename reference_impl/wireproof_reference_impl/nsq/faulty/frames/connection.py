"""Faults of heartbeats, IDENTIFY, RDY, REQ and unknown commands."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Mapping, Sequence
from weakref import WeakKeyDictionary

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.commands import identify
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.heartbeat import Heartbeat
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Outlet, Subscriber
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import identify_json, packed
from wireproof_reference_impl.nsq.wire.identify_json import BadIdentify, IdentifyFields
from wireproof_reference_impl.nsq.wire.identity import MILLISECOND, Identity
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.error_codes import E_IDENTIFY_FAILED
from wireproof_spec.nsq.names import HEARTBEAT, IDENTIFY, NOP, OK

_KNOWN = {name for name in vars(names).values() if isinstance(name, bytes)}


def _do_nothing(heartbeat: Heartbeat, now_ns: int) -> None:
    """Do nothing."""


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


def _ready_as(count_of: Callable[[int], int]) -> tuple[Override, ...]:
    """Return overrides that change the RDY count of a client."""

    def set_ready(
        original: Original, channel: Channel, subscriber: Subscriber, count: int
    ) -> None:
        original(channel, subscriber, count_of(count))

    return (around(Channel, "set_ready", set_ready),)


@missing("smart.connection.heartbeat")
def heartbeat_never() -> Change:
    """No heartbeat is ever sent."""
    return replace_function(Heartbeat, "_arm", _do_nothing)


@missing("smart.connection.heartbeat")
def heartbeat_unanswered_tolerated() -> Change:
    """A client that answers no heartbeat stays connected."""
    return replace_function(Heartbeat, "_check_silence", _do_nothing)


@missing("smart.connection.heartbeat", setting("output.frame"))
def no_heartbeats(frame_type: int, data: bytes) -> bytes:
    """The broker sends no heartbeats."""
    return b"" if data == HEARTBEAT else packed.frame(frame_type, data)


@wrong_value("smart.connection.heartbeat", setting("output.frame"))
def heartbeats_as_ok(frame_type: int, data: bytes) -> bytes:
    """The broker sends OK in the place of each heartbeat."""
    return packed.frame(frame_type, OK if data == HEARTBEAT else data)


@condition("smart.connection.heartbeat")
def heartbeat_answers_unheard() -> Change:
    """A client that sends nothing but NOP is disconnected as if it were silent."""
    heard_ns: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()

    def run_command(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
        if words[0] == NOP:
            connection.last_read_ns = heard_ns.get(connection, connection.last_read_ns)
        heard_ns[connection] = connection.last_read_ns
        original(connection, words)

    return around(Connection, "run_command", run_command)


@boundary("smart.connection.heartbeat", around(Heartbeat, "_arm"))
def heartbeats_at_twice_the_interval(
    original: Original, heartbeat: Heartbeat, now_ns: int
) -> None:
    """Heartbeats come at twice the interval that the client asked for."""
    original(heartbeat, now_ns + (heartbeat._interval_ms or 0) * MILLISECOND)


@missing("smart.connection.timeout-negotiated", around(identify, "_message_timeout"))
def timeout_not_heeded(original: Original, value: int) -> object:
    """Messages time out after a minute, whatever the client asked for."""
    original(value)
    return limits.MSG_TIMEOUT_MS


@boundary("smart.connection.timeout-negotiated", around(identify, "_message_timeout"))
def timeout_of_a_minute_at_least(original: Original, value: int) -> object:
    """Messages time out after a minute if the client asked for less."""
    return max(original(value), limits.MSG_TIMEOUT_MS)


@wrong_value("smart.connection.timeout-negotiated", around(identify, "_message_timeout"))
def timeout_in_another_unit(original: Original, value: int) -> object:
    """Messages time out ten times as early as the client asked for."""
    return original(value) // 10


@missing("smart.connection.requeue", _put_back_after)
def put_back_without_delay(delay_ns: int) -> int:
    """REQ ignores its delay."""
    return 0


@boundary("smart.connection.requeue", _put_back_after)
def put_back_comes_at_once(delay_ns: int) -> int:
    """REQ ignores delays below 2 s."""
    return delay_ns * (delay_ns >= 2_000_000_000)


@wrong_value("smart.connection.requeue", _put_back_after)
def put_back_in_half_the_time(delay_ns: int) -> int:
    """REQ halves its delay."""
    return delay_ns // 2


@boundary("smart.connection.odd-command smart.connection.wrong-magic", _in_a_response)
def nothing_in_a_response(command: bytes) -> bool:
    """An empty line and a wrong magic are refused in a response frame instead of an error
    frame.
    """
    return not command


@wrong_value("smart.connection.unknown-command", _in_a_response)
def unknown_in_a_response(command: bytes) -> bool:
    """An unknown command is refused in a response frame instead of an error frame."""
    return command not in _KNOWN


@missing("smart.connection.unknown-command", _unknown_ignored)
def unknown_ignored(command: bytes) -> bool:
    """An unknown command has no answer, and the connection stays open."""
    return True


@condition("smart.connection.unknown-command", _unknown_ignored)
def unknown_begins_with_nop(command: bytes) -> bool:
    """An unknown command that begins with NOP is taken for NOP."""
    return command.startswith(NOP)


@boundary("smart.connection.identify", _sample_rate_as)
def identify_sample_rate_below_99(value: int) -> int:
    """IDENTIFY with sample_rate 99, the highest legal value, is refused."""
    return value if value < 99 else value + 1


@condition("smart.connection.identify", around(identify, "read_identity"))
def identify_compression_refused(
    original: Callable[..., Identity], fields: IdentifyFields
) -> Identity:
    """IDENTIFY that asks for compression is refused."""
    if fields.flag("deflate") or fields.flag("snappy"):
        raise Refusal(E_IDENTIFY_FAILED, "cannot enable compression")
    return original(fields)


@missing("smart.connection.identify", around(Connection, "respond"))
def identify_unbuffered_unanswered(
    original: Original, connection: Connection, data: bytes
) -> None:
    """IDENTIFY that disables the output buffer's time-out has no answer."""
    is_unbuffered = connection.identity.output_buffer_timeout_ms == 0
    if connection.command != IDENTIFY or not is_unbuffered:
        original(connection, data)


@wrong_value("smart.connection.identify-refused", _in_a_response)
def unidentified_without_a_code(command: bytes) -> bool:
    """An IDENTIFY is refused in a response frame instead of an error frame."""
    return command == IDENTIFY


@boundary("smart.connection.identify-refused-range", _sample_rate_as)
def identify_sample_rate_of_100(value: int) -> int:
    """IDENTIFY with sample_rate 100 is accepted."""
    return min(value, 99)


@missing("smart.connection.identify-refused", around(identify_json, "read"))
def identify_needs_no_json(original: Callable[..., IdentifyFields], data: bytes) -> IdentifyFields:
    """IDENTIFY whose body is no JSON object is accepted."""
    try:
        return original(data)
    except BadIdentify:
        return original(b"{}")


@boundary("smart.connection.identify-refused", around(identify_json, "read"))
def identify_reads_the_first_object(
    original: Callable[..., IdentifyFields], data: bytes
) -> IdentifyFields:
    """IDENTIFY is accepted with more behind its JSON object."""
    return original(b"{}" if data.startswith(b"{}") else data)


@extra("smart.connection.identify-told", setting("output.identify_json"))
def identify_tells_of_compression(fields: Mapping[str, object]) -> bytes:
    """The answer to IDENTIFY lists a compression that the client did not request."""
    return compact_json({**fields, "deflate": True})


@boundary("smart.connection.ready", _ready_as)
def ready_allows_one_more(count: int) -> int:
    """A client may hold one message more than its RDY count."""
    return count + (count > 0)


@missing("smart.connection.ready", _ready_as)
def ready_not_heeded(count: int) -> int:
    """A client may hold any number of messages, whatever its RDY count."""
    return 2500 if count else 0


@condition("smart.connection.ready", around(Channel, "join"))
def ready_grows_with_the_channel(
    original: Original, channel: Channel, joining: Subscriber
) -> None:
    """A client may hold one message more for each client that subscribes after it."""
    for subscriber in channel.subscribers:
        subscriber.ready += subscriber.ready > 0
    original(channel, joining)


@condition("smart.connection.ready-again")
def finish_makes_no_room_after_four() -> Change:
    """A client with RDY 1 receives nothing after its fourth FIN."""
    finished: WeakKeyDictionary[Outlet, int] = WeakKeyDictionary()

    def finish(
        original: Original, in_flight: InFlight, internal_id: int, subscriber: Subscriber
    ) -> None:
        original(in_flight, internal_id, subscriber)
        finished[subscriber.outlet] = finished.get(subscriber.outlet, 0) + 1
        if subscriber.ready == 1 and finished[subscriber.outlet] == 4:
            subscriber.ready = 0

    return around(InFlight, "finish", finish)


FAULTS = list_faults(__name__)
