"""What faults of the Iggy reference change: seams of its core.

A fault that changes which stored messages a poll brings, how many and in which order, or what is
told of them over TCP or HTTP has a late twin, unless it shows only in polls that find no message,
or in polls of many messages, which no case repeats until they are old.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from wireproof_reference_impl.iggy.core import bodies
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.faulty.harm import HARMS
from wireproof_reference_impl.iggy.faulty.lateness import (
    OfMessages,
    late_of_messages,
    told_late,
)
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import LATE, Effect, Preset

Note = Callable[[Connection, Refusal], None]
"""Is called with a connection and a refusal, before that is answered."""


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
        read: Callable[[Connection, bytes], Action] = original

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


def _override_polls(change: OfMessages) -> Override:
    def body(original: Original, found: Polled, behaviour: object) -> object:
        return original(found._replace(messages=[*change(found.messages)]), behaviour)

    return around(bodies, "encode_polled", body)


def _do_nothing(session: CommandContext) -> bytes:
    return b""


AGAIN = "iggy.poll.again"
"""The clause that a message told differently later breaks."""


def late_twin(fault: Preset) -> Preset | None:
    """Return the fault that is wrong only for messages stored at least 3 s ago, or None."""
    if fault.late is None:
        return None
    return replace(
        fault,
        name=f"{fault.name}-late",
        text=f"Once a message has been stored for 3 s: {fault.text}",
        settings=fault.late.settings,
        overrides=fault.late.overrides,
        breaks=(AGAIN,),
        way=LATE,
        late=None,
    )
