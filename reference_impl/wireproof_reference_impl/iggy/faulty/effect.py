"""Faults of the Iggy reference: which clauses their cases share, and how a fault is made.

A fault that changes which stored messages a poll brings, how many and in which order, or what is
told of them over TCP or HTTP has a late twin, unless it shows only in polls that find no message.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from wireproof_reference_impl import preset
from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.faulty.harm import HARMS
from wireproof_reference_impl.iggy.faulty.lateness import (
    OfMessages,
    late_of_messages,
    late_settings,
    told_late,
)
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import (
    BOUNDARY,
    CLAUSE,
    CONDITION,
    EXTRA,
    LATE,
    MISSING,
    WRONG_VALUE,
    Preset,
)
from wireproof_reference_impl.settings import Settings

BINARY = (
    "state.default state.codes state.delivered state.unknown-alone checksum.polynomial "
    "checksum.range checksum.when-stored message.layout message.places message.old-layout "
    "message.offset message.offset-sequence message.timestamp-kept message.timestamp-unit "
    "message.id message.byte-order message.generated-id message.repeated-id message.length "
    "message.headers-length headers.delivered headers.none headers.kinds headers.other-kinds "
    "headers.block headers.limits headers.refused headers.key-text headers.width "
    "json.same-as-binary send.layout "
    "send.order send.partitioning send.spread send.key-hash send.all-or-nothing send.limits "
    "poll.head poll.count poll.as-many poll.empty frame.identifier "
    "poll.request poll.again poll.strategy-offset poll.strategy-timestamp poll.strategy-first "
    "poll.strategy-last poll.strategy-next poll.auto-commit poll.group frame.trailing "
    "disk.same-layout disk.index disk.time-index disk.names http.send http.unchecked"
)
"""Clauses of which some case reads a message polled over TCP."""

JSON = (
    "state.names checksum.json json.fields json.types json.id json.payload "
    "json.headers-null json.headers-object json.other-kinds json.headers-empty "
    "json.same-as-binary json.shape http.send http.poll http.unchecked poll.again"
)
"""Clauses of which some case reads a message polled over HTTP."""

ANSWERS = (
    "frame.request frame.pipelined frame.length frame.length-refused frame.command "
    "frame.identifier frame.identifier-refused frame.truncated frame.malformed "
    "frame.resources frame.login headers.unknown-kind headers.repeated-key poll.empty "
    "poll.consumer poll.stored-offset poll.never-stored headers.refused send.limits "
    "state.unknown status.unknown status.taken status.refused status.invalid disk.offsets"
)
"""Clauses of which some case reads other answers over TCP."""

AGAIN = "iggy.poll.again"
"""The clause that a message told differently later breaks."""

DISK = "disk.same-layout disk.index disk.time-index disk.names"
"""Clauses of which some case reads a log."""


Note = Callable[[Connection, Refusal], None]
"""Is called with a connection and a refusal, before that is answered."""


class Effect(Struct, frozen=True):
    """What a fault changes: settings, overrides of the core, and the same for its late twin."""

    settings: Settings
    overrides: tuple[Override, ...] = ()
    late: "Effect | None" = None


def fault(
    name: str,
    text: str,
    effect: Effect | Settings,
    *,
    way: str,
    breaks: str,
    may_break: str = "",
    kind: str = CLAUSE,
    finds_nothing: bool = False,
) -> Preset:
    """Return a fault of the Iggy server; `breaks` names clauses, without `iggy.`, in one string.

    A fault that shows only where a poll `finds_nothing` has no late twin: nothing was stored that
    could grow old.
    """
    wrong = effect if isinstance(effect, Effect) else _of_settings(effect)
    late = None if finds_nothing else wrong.late
    broken = _clauses(breaks)
    return Preset(
        name,
        kind,
        text,
        wrong.settings,
        broken,
        tuple(each for each in _clauses(may_break) if each not in broken),
        way,
        None if late is None else late.settings,
        overrides=wrong.overrides,
        late_overrides=() if late is None else late.overrides,
    )


missing = partial(fault, way=MISSING)
boundary = partial(fault, way=BOUNDARY)
wrong_value = partial(fault, way=WRONG_VALUE)
extra = partial(fault, way=EXTRA)
condition = partial(fault, way=CONDITION)


def parser_fault(name: str, text: str, effect: Effect) -> Preset:
    """Return a fault of the Iggy server's parser, which malformed or unusual bytes show."""
    return preset.parser_fault(name, text, effect.settings, overrides=effect.overrides)


def make_overriding(*overrides: Override, late: Sequence[Override] = ()) -> Effect:
    """Return an effect made of overrides alone; `late` are those of the late twin, if any."""
    return Effect({}, overrides, Effect({}, tuple(late)) if late else None)


def change_stored(change: Callable[[Message], Message]) -> Effect:
    """Return an effect that changes each message when it is stored."""

    def store(original: Original, *args: object, **fields: object) -> Message:
        message = original(*args, **fields)
        assert isinstance(message, Message)
        return change(message)

    return Effect({}, (around(messages, "store_message", store),), Effect(told_late(change)))


def change_polled(change: OfMessages) -> Effect:
    """Return an effect that changes the messages of each poll over TCP."""
    return make_overriding(
        _override_polls(change), late=[_override_polls(late_of_messages(change))]
    )


def frames(change: Callable[[Connection, int, bytes], bytes | None]) -> Effect:
    """Return an effect that changes the payload of each frame by a function of code and payload.

    None means that the frame is answered with ok, and nothing is done.
    """

    def read(original: Original, connection: Connection, frame: bytes) -> object:
        if len(frame) < CODE_BYTES:
            return original(connection, frame)
        code = int.from_bytes(frame[:CODE_BYTES], "little")
        payload = change(connection, code, frame[CODE_BYTES:])
        if payload is None:
            return _do_nothing
        return original(connection, frame[:CODE_BYTES] + payload)

    return make_overriding(*HARMS, around(Connection, "read", read))


def handler(code: int, wrong: Handler) -> Effect:
    """Return an effect under which the command with this code has another handler."""

    def of_code(original: Original, connection: Connection, asked: int) -> object:
        return wrong if asked == code else original(connection, asked)

    return make_overriding(*HARMS, around(Connection, "handler", of_code))


def segments(change: Callable[[Connection, bytes], bytes]) -> Effect:
    """Return an effect that changes each piece of received bytes before it is parsed."""

    def receive(original: Original, connection: Connection, data: bytes, now_us: int) -> None:
        original(connection, change(connection, data), now_us)

    return make_overriding(*HARMS, around(Connection, "receive", receive))


def lengths(change: Callable[[Connection, int], int]) -> Effect:
    """Return an effect that changes the length that each frame declares."""

    def frame_length(original: Original, connection: Connection) -> int:
        length = original(connection)
        assert isinstance(length, int)
        return change(connection, length)

    return make_overriding(*HARMS, around(Connection, "frame_length", frame_length))


def refusals(note: Note) -> Effect:
    """Return an effect that calls a function before each refusal is answered."""

    def wrap(original: Original) -> Callable[..., object]:
        read = cast(Callable[[Connection, bytes], Action], original)

        def note_frame(connection: Connection, frame: bytes) -> Action:
            with _note_frames(connection, note):
                action = read(connection, frame)

            def act(session: CommandContext) -> bytes:
                with _note_frames(connection, note):
                    return action(session)

            return act

        return note_frame

    return make_overriding(*HARMS, Override(Connection, "read", wrap))


@contextmanager
def _note_frames(connection: Connection, note: Note) -> Generator[None]:
    try:
        yield
    except Refusal as refusal:
        note(connection, refusal)
        raise


def _of_settings(settings: Settings) -> Effect:
    late = late_settings(settings)
    return Effect(settings, (), None if late is None else Effect(late))


def _override_polls(change: OfMessages) -> Override:
    def body(original: Original, found: Polled, behaviour: object) -> object:
        return original(found._replace(messages=[*change(found.messages)]), behaviour)

    return around(bodies, "encode_polled", body)


def _do_nothing(session: CommandContext) -> bytes:
    return b""


def late_twin(fault: Preset) -> Preset | None:
    """Return the fault that is wrong only for messages stored at least 3 s ago, or None."""
    if fault.late is None:
        return None
    return replace(
        fault,
        name=f"{fault.name}-late",
        text=f"only once a message has been stored for 3 s: {fault.text}",
        settings=fault.late,
        overrides=fault.late_overrides,
        breaks=(AGAIN,),
        may_break=tuple(each for each in (*fault.breaks, *fault.may_break) if each != AGAIN),
        way=LATE,
        late=None,
        late_overrides=(),
    )


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"iggy.{word}" for word in words.split()))
