"""Faults of the frame stream: cut off, in pieces, and after-effects of a refused frame."""

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary, WeakSet

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.sized import Bytes
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.faulty.harm import peek_unread, reread
from wireproof_reference_impl.nsq.faulty.shared_overrides import (
    change_stored,
    publish_late,
    reading_body,
    watch_refusals,
)
from wireproof_reference_impl.nsq.preset import (
    PUBLISHERS,
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import EndOfStream, Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.error_codes import E_PUB_FAILED
from wireproof_spec.nsq.names import PUB_EXT

Cut = Callable[[bytes, int], bytes | None]
"""Returns what a truncated frame publishes: bytes received, size declared; None for nothing."""


def _zero_padded(data: bytes, size: int) -> bytes | None:
    return data.ljust(size, b"\0")


def _as_it_came(data: bytes, size: int) -> bytes | None:
    return data or None


def _one_byte_short(data: bytes, size: int) -> bytes | None:
    return data if len(data) == size - 1 else None


def _last_lost_in_pieces(data: bytes, pieces: int) -> bytes:
    return data[:-1] if pieces > 1 else data


def _cut_beyond_4096_in_pieces(data: bytes, pieces: int) -> bytes:
    return data[:4096] if pieces > 1 else data


def _answered_twice_in_pieces(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames + frames[-1:] if pieces > 1 else frames


def _in_reverse(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames[::-1]


def _first_answer_only(frames: list[bytes], pieces: int) -> list[bytes]:
    return frames[:1]


def _second_frame_dropped(command: bytes, rest: bytes) -> bytes:
    return b"" if command == PUB_EXT and rest.startswith(b"PUB") else rest


def _half_frame_dropped(command: bytes, rest: bytes) -> bytes:
    """Drop the received part of an incomplete frame."""
    _, feed, body = rest.partition(b"\n")
    size = int.from_bytes(body[:4])
    whole = bool(feed) and len(body) >= 4 + size
    return rest if command != PUB_EXT or whole or not rest else b""


def _cut(change: Cut) -> tuple[Override, ...]:
    """Return overrides under which a cut-off message is published unless `change` returns None."""
    return (_read_cut(change, _IGNORED),)


def _cut_late(change: Cut) -> tuple[Override, ...]:
    """Return overrides under which a cut-off message is refused, and published later."""
    cut = WeakSet[Connection]()

    def store(
        original: Original,
        connection: Connection,
        partition: Partition,
        entries: Sequence[NewMessage],
    ) -> object:
        if connection not in cut:
            return original(connection, partition, entries)
        publish_late(connection, partition, entries)
        raise publish.cut_body()

    return (_read_cut(change, cut), around(publish, "store", store))


def _read_cut(change: Cut, cut: WeakSet[Connection]) -> Override:
    """Return an override that accepts cut-off bodies, and records their connections."""

    def read_body(original: Callable[..., Bytes], connection: Connection, size: int) -> Bytes:
        try:
            return (yield from original(connection, size))
        except Refusal as refusal:
            end = refusal.__cause__
            data = change(end.data, size) if isinstance(end, EndOfStream) else None
            if data is None:
                raise
            cut.add(connection)
            return data

    return around(publish, "read_body", read_body)


def _change_answers(change: Callable[[list[bytes], int], list[bytes]]) -> tuple[Override, ...]:
    """Return overrides that change the answers to one received piece of the stream.

    The change gets the number of pieces in which the present frame has arrived so far.
    """

    def read(original: Original, connection: Connection, data: bytes) -> None:
        before, pieces = len(connection.output), _pieces(connection)
        original(connection, data)
        connection.output[before:] = change(connection.output[before:], pieces)

    return (around(Connection, "read", read), *_COUNTING)


def _change_bodies(change: Callable[[bytes, int], bytes]) -> tuple[Override, ...]:
    """Return overrides that change a body, given the number of pieces in which it arrived."""
    return (
        reading_body(lambda connection, data: change(data, _pieces(connection))),
        *_COUNTING,
    )


def _pieces(connection: Connection) -> int:
    return _PIECE_COUNTS.get(connection, 0)


def _count_pieces(original: Original, connection: Connection, data: bytes) -> None:
    is_between = connection.reading is None and not connection.buffer
    _PIECE_COUNTS[connection] = 1 if is_between else _pieces(connection) + 1
    original(connection, data)


def _count_anew(original: Original, connection: Connection) -> None:
    original(connection)
    _PIECE_COUNTS[connection] = 1


def _behind(change: Callable[[bytes, bytes], bytes]) -> Override:
    """Return an override that changes the bytes already received after a command."""

    def finish_command(original: Original, connection: Connection) -> None:
        original(connection)
        reread(connection, change(connection.command, peek_unread(connection)))

    return around(Connection, "finish_command", finish_command)


def _read_again(change: Callable[[bytes], bytes]) -> tuple[Override, ...]:
    """Return overrides under which part of the body of a refused frame is read as commands."""
    bodies = WeakKeyDictionary[Connection, bytes]()

    def note(connection: Connection, data: bytes) -> bytes:
        bodies[connection] = data
        return data

    def spill(connection: Connection, refusal: Refusal) -> None:
        reread(connection, change(bodies.pop(connection, b"")) + peek_unread(connection))

    return (reading_body(note), watch_refusals(spill))


def _spoil(spoilt: Callable[[Connection], object]) -> tuple[Override, ...]:
    """Return overrides under which a publish fails after a refused frame.

    `spoilt` returns what the refused frame affects: its connection, or the node.
    """
    marked = WeakSet[object]()

    def mark(connection: Connection, refusal: Refusal) -> None:
        marked.add(spoilt(connection))

    def fail(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
        if spoilt(connection) in marked:
            marked.discard(spoilt(connection))
            raise Refusal(E_PUB_FAILED, fatal=False)
        return entries

    return (watch_refusals(mark), change_stored(fail))


_IGNORED = WeakSet[Connection]()
_PIECE_COUNTS = WeakKeyDictionary[Connection, int]()
_COUNTING = (
    around(Connection, "read", _count_pieces),
    around(Connection, "finish_command", _count_anew),
)
_CUT = "parser.truncated"
_ACCEPT = "publish.accept"
_ROW = "parser.segmentation"
_STEP = "parser.in-step"

FAULTS: tuple[Preset, ...] = (
    missing(
        "cut-published",
        "the part received of a truncated frame is published",
        breaks=_CUT,
        overrides=_cut(_as_it_came),
        late_overrides=_cut_late(_as_it_came),
    ),
    wrong_value(
        "cut-padded",
        "a truncated frame is published with zeros in place of the missing bytes",
        breaks=_CUT,
        overrides=_cut(_zero_padded),
        late_overrides=_cut_late(_zero_padded),
    ),
    boundary(
        "cut-by-one-published",
        "a frame that lacks only its last byte is published",
        breaks=_CUT,
        overrides=_cut(_one_byte_short),
        late_overrides=_cut_late(_one_byte_short),
    ),
    extra(
        "pieces-answered-twice",
        "a frame that arrives in several pieces is answered twice",
        breaks=_ACCEPT,
        may_break=_ROW,
        overrides=_change_answers(_answered_twice_in_pieces),
    ),
    boundary(
        "pieces-lose-the-end",
        "a body that arrives in several pieces loses its last byte",
        breaks=_ACCEPT,
        may_break="consume.body-intact consume.layout consume.plain-topic parser.header-length",
        overrides=_change_bodies(_last_lost_in_pieces),
    ),
    boundary(
        "pieces-end-at-4096",
        "a body that arrives in several pieces is truncated to 4096 bytes",
        breaks=_ACCEPT,
        may_break="consume.body-intact consume.plain-topic",
        overrides=_change_bodies(_cut_beyond_4096_in_pieces),
    ),
    missing(
        "second-frame-dropped",
        "of several frames in one write the second is dropped",
        breaks=f"{_ACCEPT} {_ROW}",
        overrides=(_behind(_second_frame_dropped),),
    ),
    missing(
        "half-frame-dropped",
        "an incomplete frame that arrives together with a complete one is dropped",
        breaks=_ROW,
        overrides=(_behind(_half_frame_dropped),),
    ),
    wrong_value(
        "answers-in-reverse",
        "several frames in one write are answered in reverse order",
        breaks=_ROW,
        may_break="parser.in-step",
        overrides=_change_answers(_in_reverse),
    ),
    missing(
        "answers-but-the-first-lost",
        "of several frames in one write, only the first is answered",
        breaks=f"{_ACCEPT} {_ROW}",
        may_break="parser.in-step",
        overrides=_change_answers(_first_answer_only),
    ),
    extra(
        "refused-body-read-again",
        "the body of a refused frame is parsed as commands",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        overrides=_read_again(lambda body: body),
    ),
    boundary(
        "refused-last-byte-read-again",
        "the last byte of a refused frame is parsed as the start of a command",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.plain-topic "
            "publish.trace-id-form"
        ),
        overrides=_read_again(lambda body: body[-1:]),
    ),
    wrong_value(
        "refused-spoils-the-next",
        "after a refused frame, the next frame on the same connection fails",
        breaks=_STEP,
        may_break=(
            "parser.empty-body publish.header-json publish.header-name "
            "publish.header-strict publish.header-value publish.mpub-ext "
            "publish.plain-topic publish.trace-id-form"
        ),
        overrides=_spoil(lambda connection: connection),
    ),
    condition(
        "refused-spoils-others",
        "after a refused frame, the next frame on any connection fails",
        breaks=_STEP,
        may_break=PUBLISHERS,
        overrides=_spoil(lambda connection: connection.node),
    ),
)
