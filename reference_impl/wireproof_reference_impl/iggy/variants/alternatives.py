"""Permitted alternatives: the other way wherever the texts leave a choice to the server."""

from collections.abc import Sequence
from itertools import count
from time import time_ns
from zlib import crc32

from wireproof_reference_impl.iggy import control
from wireproof_reference_impl.iggy.choices import number
from wireproof_reference_impl.iggy.core.commands import reading
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext
from wireproof_reference_impl.iggy.http import messages as http_messages
from wireproof_reference_impl.iggy.http.reading import Fields as JsonFields
from wireproof_reference_impl.iggy.http.reading import bad_shape
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import STARTS
from wireproof_reference_impl.iggy.wire import framing, status
from wireproof_reference_impl.iggy.wire import message as messages
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.iggy.wire.header import Headers, HeaderValue
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.requests import PollMessages
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.header_kinds import BOOL, KIND_WIDTHS, STRING
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.statuses import OK

_FIRST_OFFSET = 1000
_LONGEST_FRAME = 64 << 20
_HIDDEN_NS = 150_000_000
_MICROSECOND_NS = 1_000
_OWN_STATUSES = 70_000
_NO_MESSAGES = bytes(4)
_ABSENT = {
    status.STREAM_ID_NOT_FOUND,
    status.STREAM_NAME_NOT_FOUND,
    status.TOPIC_ID_NOT_FOUND,
    status.TOPIC_NAME_NOT_FOUND,
    status.INVALID_MESSAGES_COUNT,
}
_ANSWERS_TO_NOTHING = {
    commands.GET_STREAM: b"",
    commands.GET_TOPIC: b"",
    commands.POLL_MESSAGES: _NO_MESSAGES,
}
_OFFSET_COMMANDS = (commands.GET_CONSUMER_OFFSET, commands.STORE_CONSUMER_OFFSET)
_BOOLS = (b"\x00", b"\x01")


def _store_higher(original: Original, sent: Sent, *, offset: int, **fields: object) -> object:
    return original(sent, offset=offset + _FIRST_OFFSET, **fields)


def _start_at_offset(partition: Partition, request: PollMessages) -> int | None:
    return max(0, request.value - _FIRST_OFFSET)


def _store_lower(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    if offset < _FIRST_OFFSET:
        raise Refusal(status.INVALID_OFFSET, f"Invalid offset: {offset}")
    original(partition, kind, consumer, offset - _FIRST_OFFSET)


def _tell_higher(stored: int | None) -> int | None:
    return None if stored is None else stored + _FIRST_OFFSET


def _control_number(original: Original, words: object, name: str, most: int) -> object:
    found = original(words, name, most)
    return found - _FIRST_OFFSET if name == "offset" and isinstance(found, int) else found


_HIGHER: Settings = {
    "poll.starts": {**STARTS, OFFSET: _start_at_offset},
    "poll.stored": _tell_higher,
}


def _read_one(original: Original, partition: Partition, start: int, count: int) -> object:
    return original(partition, start, min(count, 1))


def _read_within(original: Original, partition: Partition, start: int, count: int) -> object:
    if partition.count and start >= partition.count:
        raise Refusal(status.INVALID_OFFSET, f"Invalid offset: {start}")
    return original(partition, start, count)


def _read_if_any(original: Original, partition: Partition, start: int, count: int) -> object:
    if not partition.count:
        raise Refusal(status.INVALID_OFFSET, "There is no message yet")
    return original(partition, start, count)


def _read_shown(original: Original, partition: Partition, start: int, count: int) -> object:
    shown_until = (time_ns() - _HIDDEN_NS) // _MICROSECOND_NS
    found: Sequence[Message] = original(partition, start, count)
    return [each for each in found if each.timestamp <= shown_until]


def _append_backwards(
    original: Original, partition: Partition, sent: Sequence[Sent], *others: object
) -> None:
    original(partition, sent[::-1], *others)


def _undamaged(found: list[Message]) -> list[Message]:
    return [each for each in found if crc32(each.payload) == each.checksum]


def _answer_and_close(original: Original, connection: Connection, code: int, body: bytes) -> None:
    original(connection, code, body)
    if code != OK:
        connection.drop()


def _close_if_refused(original: Original, connection: Connection, code: int, body: bytes) -> None:
    if code == OK:
        original(connection, code, body)
    else:
        connection.drop()


def _await_short(original: Original, connection: Connection) -> object:
    is_known = len(connection.buffer) >= LENGTH_BYTES
    return None if is_known and connection.frame_length() < CODE_BYTES else original(connection)


def _refuse_huge(original: Original, connection: Connection) -> object:
    is_known = len(connection.buffer) >= LENGTH_BYTES
    if is_known and connection.frame_length() > _LONGEST_FRAME:
        connection.drop()
        return None
    return original(connection)


def _answer_huge(original: Original, connection: Connection) -> object:
    is_known = len(connection.buffer) >= LENGTH_BYTES
    if not is_known or connection.frame_length() <= _LONGEST_FRAME:
        return original(connection)
    connection.buffer.clear()
    return bytes(CODE_BYTES - 1)


def _find_nothing(original: Original, connection: Connection, frame: bytes) -> object:
    action = original(connection, frame)
    nothing = _ANSWERS_TO_NOTHING.get(int.from_bytes(frame[:CODE_BYTES], "little"))
    return action if nothing is None else _or_nothing(action, nothing)


def _or_nothing(action: object, nothing: bytes) -> Action:
    assert callable(action)

    def act(session: CommandContext) -> bytes:
        try:
            body = action(session)
        except Refusal as refusal:
            if refusal.status not in _ABSENT:
                raise
            return nothing
        assert isinstance(body, bytes)
        return body

    return act


def _without_offsets(original: Original, connection: Connection, code: int) -> object:
    return None if code in _OFFSET_COMMANDS else original(connection, code)


def _own_status(original: Original, code: int, body: bytes) -> object:
    return original(code + _OWN_STATUSES if code else code, body)


def _check_header(header: HeaderValue) -> None:
    kind, value = header
    fits = len(value) == KIND_WIDTHS.get(kind, len(value))
    if kind == BOOL:
        fits = value in _BOOLS
    if kind == STRING:
        fits = value.decode("utf-8", "replace").encode() == value
    if not fits:
        raise Refusal(status.INVALID_HEADER_VALUE, "Invalid header value")


def _check_headers(original: Original, block: object) -> object:
    found: Headers | None = original(block)
    for each in (found or {}).values():
        _check_header(each)
    return found


def _keep_last(original: Original, block: bytes) -> object:
    """Read a block of headers in which a key may be repeated; the last one counts."""
    fields, kept = Fields(block), dict[bytes, bytes]()
    while fields.left:
        before = len(block) - fields.left
        key = fields.take(fields.u32())
        fields.u8()
        fields.take(fields.u32())
        kept[key] = block[before : len(block) - fields.left]
    return original(b"".join(kept.values()))


def _needs_id(original: Original, fields: JsonFields) -> object:
    if "id" not in fields.names():
        raise bad_shape("missing field `id`")
    return original(fields)


def _count_messages() -> Settings:
    """Return settings under which timestamps are 1, 2, 3 and so on, over all messages."""
    numbers = count(1)
    return number("log.timestamp", lambda timestamp: next(numbers))


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "offsets-from-a-thousand",
        "the offsets of a partition begin at 1000",
        _HIGHER,
        overrides=(
            around(messages, "store_message", _store_higher),
            around(Partition, "store_offset", _store_lower),
            around(control, "_number", _control_number),
        ),
    ),
    alternative(
        "one-message-a-poll",
        "a poll returns one message at most",
        overrides=(around(Partition, "read", _read_one),),
    ),
    alternative(
        "beyond-the-end-refused",
        "a poll by an offset after the last message is refused",
        overrides=(around(Partition, "read", _read_within),),
    ),
    alternative(
        "empty-partitions-refused",
        "a poll of an empty partition is refused",
        overrides=(around(Partition, "read", _read_if_any),),
    ),
    alternative(
        "messages-shown-later",
        "a message can be polled 150 ms after its request was answered",
        overrides=(around(Partition, "read", _read_shown),),
        not_with="clock-ahead",
    ),
    alternative(
        "requests-stored-backwards",
        "the messages of a request are stored in the reverse order",
        overrides=(around(Partition, "append", _append_backwards),),
    ),
    alternative(
        "damaged-withheld",
        "a poll leaves out messages whose payload does not match their checksum",
        {"poll.delivered": _undamaged},
    ),
    alternative(
        "ids-stay-zero",
        "a message sent with id 0 keeps that id",
        number("log.new_id", lambda random: 0),
    ),
    alternative(
        "timestamps-counted",
        "timestamps number the messages of the server",
        _count_messages(),
    ),
    alternative(
        "refusals-end-connections",
        "the server closes a connection after each error response",
        overrides=(around(Connection, "_answer", _answer_and_close),),
    ),
    alternative(
        "refusals-close-only",
        "the server closes a connection in place of each error response",
        overrides=(around(Connection, "_answer", _close_if_refused),),
        not_with="refusals-end-connections",
    ),
    alternative(
        "statuses-of-its-own",
        "error statuses have other numbers",
        overrides=(around(framing, "response", _own_status),),
    ),
    alternative(
        "nothing-is-no-error",
        "a poll, or a request to get, of what does not exist succeeds and returns nothing",
        overrides=(around(Connection, "read", _find_nothing),),
        not_with="head-of-tagged",
    ),
    alternative(
        "offsets-not-known",
        "the commands about consumer offsets are unknown over TCP",
        overrides=(around(Connection, "handler", _without_offsets),),
        lacks="offsets",
    ),
    alternative(
        "short-frames-awaited",
        "a frame too short for a command code is never answered",
        overrides=(around(Connection, "_next_frame", _await_short),),
    ),
    alternative(
        "huge-frames-refused",
        "a frame of more than 64 MiB closes the connection when its length has arrived",
        overrides=(around(Connection, "_next_frame", _refuse_huge),),
    ),
    alternative(
        "huge-frames-answered",
        "a frame of more than 64 MiB gets an error response when its length has arrived",
        {"framing.unreadable": framing.answer_refusal},
        overrides=(around(Connection, "_next_frame", _answer_huge),),
        not_with="huge-frames-refused",
    ),
    alternative(
        "header-values-checked",
        "a header is refused if its value does not fit its kind",
        overrides=(
            around(reading, "read_headers", _check_headers),
            around(http_messages, "_headers", _check_headers),
        ),
    ),
    alternative(
        "repeated-key-last-kept",
        "of headers with the same key, the last one is kept",
        overrides=(around(reading, "read_headers", _keep_last),),
    ),
    alternative(
        "id-needed-over-http",
        "a message sent over HTTP without the field `id` is refused",
        overrides=(around(http_messages, "_read_sent", _needs_id),),
    ),
)
