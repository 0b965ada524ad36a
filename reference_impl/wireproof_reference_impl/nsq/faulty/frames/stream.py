"""Faults of the frame stream: cut off, in pieces, and after-effects of a refused frame."""

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary, WeakSet

from wireproof_reference_impl.faults import list_faults
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
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import EndOfStream, Refusal
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.nsq.error_codes import E_PUB_FAILED
from wireproof_spec.nsq.names import PUB_EXT

Cut = Callable[[bytes, int], bytes | None]
"""Returns what a truncated frame publishes: bytes received, size declared; None for nothing."""


def _cut(change: Cut) -> Effect:
    """Return an effect that publishes a cut-off message unless `change` returns None.

    In the late twin such a message is refused, and published later.
    """
    return Effect({}, (_read_cut(change, WeakSet()),), Effect({}, _cut_late(change)))


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


_PIECE_COUNTS = WeakKeyDictionary[Connection, int]()
_COUNTING = (
    around(Connection, "read", _count_pieces),
    around(Connection, "finish_command", _count_anew),
)


@missing("parser.truncated", _cut)
def cut_published(data: bytes, size: int) -> bytes | None:
    """The part received of a truncated frame is published."""
    return data or None


@wrong_value("parser.truncated", _cut)
def cut_padded(data: bytes, size: int) -> bytes | None:
    """A truncated frame is published with zeros in place of the missing bytes."""
    return data.ljust(size, b"\0")


@boundary("parser.truncated", _cut)
def cut_by_one_published(data: bytes, size: int) -> bytes | None:
    """A frame that lacks only its last byte is published."""
    return data if len(data) == size - 1 else None


@extra("publish.accept", _change_answers)
def pieces_answered_twice(frames: list[bytes], pieces: int) -> list[bytes]:
    """A frame that arrives in several pieces is answered twice."""
    return frames + frames[-1:] if pieces > 1 else frames


@boundary("publish.accept", _change_bodies)
def pieces_lose_the_end(data: bytes, pieces: int) -> bytes:
    """A body that arrives in several pieces loses its last byte."""
    return data[:-1] if pieces > 1 else data


@boundary("publish.accept", _change_bodies)
def pieces_end_at_4096(data: bytes, pieces: int) -> bytes:
    """A body that arrives in several pieces is truncated to 4096 bytes."""
    return data[:4096] if pieces > 1 else data


@missing("publish.accept parser.segmentation", _behind)
def second_frame_dropped(command: bytes, rest: bytes) -> bytes:
    """Of several frames in one write the second is dropped."""
    return b"" if command == PUB_EXT and rest.startswith(b"PUB") else rest


@missing("parser.segmentation", _behind)
def half_frame_dropped(command: bytes, rest: bytes) -> bytes:
    """An incomplete frame that arrives together with a complete one is dropped."""
    _, feed, body = rest.partition(b"\n")
    size = int.from_bytes(body[:4])
    whole = bool(feed) and len(body) >= 4 + size
    return rest if command != PUB_EXT or whole or not rest else b""


@wrong_value("parser.segmentation", _change_answers)
def answers_in_reverse(frames: list[bytes], pieces: int) -> list[bytes]:
    """Several frames in one write are answered in reverse order."""
    return frames[::-1]


@missing("publish.accept parser.segmentation", _change_answers)
def answers_but_the_first_lost(frames: list[bytes], pieces: int) -> list[bytes]:
    """Of several frames in one write, only the first is answered."""
    return frames[:1]


@extra("parser.in-step", _read_again)
def refused_body_read_again(body: bytes) -> bytes:
    """The body of a refused frame is parsed as commands."""
    return body


@boundary("parser.in-step", _read_again)
def refused_last_byte_read_again(body: bytes) -> bytes:
    """The last byte of a refused frame is parsed as the start of a command."""
    return body[-1:]


@wrong_value("parser.in-step", _spoil)
def refused_spoils_the_next(connection: Connection) -> object:
    """After a refused frame, the next frame on the same connection fails."""
    return connection


@condition("parser.in-step", _spoil)
def refused_spoils_others(connection: Connection) -> object:
    """After a refused frame, the next frame on any connection fails."""
    return connection.node


FAULTS = list_faults(__name__)
