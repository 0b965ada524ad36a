"""Faults of parsers: wrong sizes and counts, and bodies that are misread."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.core.commands import publish_many
from wireproof_reference_impl.nsq.core.commands.sized import Bytes
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.faulty.consuming.consume import lose
from wireproof_reference_impl.nsq.faulty.harm import (
    HARMS,
    ProcessEnds,
    ProcessHangs,
    StopsReading,
    drop_another,
    keep_memory,
)
from wireproof_reference_impl.nsq.faulty.shared_overrides import change_declared, change_stored
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_reference_impl.nsq.wire import frame_reading
from wireproof_reference_impl.nsq.wire.frame_reading import Split, split_header
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage
from wireproof_reference_impl.overrides import Override, around, replace_function

_FULL = 65536
_HOARDED_BYTES = 2 << 20
_MANY = 1 << 16
_HUGE = 1 << 24
_LEAST = -(1 << 31)
_END_MARK = b"\xff\xff\xff\xff"
_LIKE_A_LINE = b"\nNOP\n"


def _low_bits(connection: Connection, kind: str, size: int) -> int:
    return size & 0xFFFFFF if kind != "count" and size > 0xFFFFFF else size


def _magnitude(connection: Connection, kind: str, size: int) -> int:
    return abs(size) if kind != "count" else size


def _zero_deafens(connection: Connection, kind: str, size: int) -> int:
    if kind == "identify size" and size == 0:
        raise StopsReading
    return size


def _negative_count_halts(connection: Connection, kind: str, count: int) -> int:
    if kind == "count" and count < -1:
        raise ProcessEnds
    return count


def _room_for_all(connection: Connection, kind: str, count: int) -> int:
    if kind == "count" and count > _MANY:
        keep_memory(b"", _HOARDED_BYTES)
    return count


def _huge_sticks(connection: Connection, kind: str, size: int) -> int:
    if kind == "message size" and size >= _HUGE:
        raise ProcessHangs
    return size


def _least_closes_another(connection: Connection, kind: str, size: int) -> int:
    if size == _LEAST:
        drop_another(connection, subscribed=True)
    return size


def _declare(change: Callable[[Connection, str, int], int]) -> tuple[Override, ...]:
    return (*HARMS, change_declared(change))


def _batch(change: Callable[[bytes], bytes]) -> Override:
    """Return an override that changes the body of each batch."""

    def read_body(original: Callable[..., Bytes], size: int) -> Bytes:
        return change((yield from original(size)))

    return around(publish_many, "read_body", read_body)


def _nothing_behind_header_halts(data: bytes) -> Split | None:
    if len(data) > 2 and len(data) == 2 + int.from_bytes(data[:2]):
        raise ProcessEnds
    return split_header(data)


def _without_twins(data: bytes) -> bytes:
    """Remove from a batch each message that equals the one before it."""
    messages: list[bytes] = []
    place, dropped = 4, 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], signed=True)
        end = place + 4 + size
        if size <= 0 or end > len(data):
            return data
        message = data[place:end]
        if messages and messages[-1] == message:
            dropped += 1
        else:
            messages.append(message)
        place = end
    count = int.from_bytes(data[:4]) - dropped
    return data if count < 1 else count.to_bytes(4) + b"".join(messages)


def _full_cut(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    return [
        each._replace(body=each.body[:-1]) if len(each.body) == _FULL else each for each in entries
    ]


def _zeros_cut(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    return [each if any(each.body) else each._replace(body=each.body[:-1]) for each in entries]


def _ended_by_line(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    return [
        each._replace(body=each.body.partition(_LIKE_A_LINE)[0])
        if _LIKE_A_LINE in each.body
        else each
        for each in entries
    ]


def _is_end_mark(message: Message) -> bool:
    return message.body.startswith(_END_MARK)


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "size-low-bits",
        "only the low 24 bits of a size are read",
        overrides=_declare(_low_bits),
    ),
    parser_fault(
        "size-magnitude",
        "the sign of a negative size is ignored",
        overrides=_declare(_magnitude),
    ),
    parser_fault(
        "size-65536-by-one",
        "a message of 65536 bytes loses its last byte",
        overrides=(change_stored(_full_cut),),
    ),
    parser_fault(
        "size-identify-zero-deafens",
        "after an IDENTIFY of size 0, the broker reads nothing more from the connection",
        overrides=_declare(_zero_deafens),
    ),
    parser_fault(
        "size-least-closes-another",
        "the smallest signed size or count closes the connection of another subscriber",
        overrides=_declare(_least_closes_another),
    ),
    parser_fault(
        "count-negative-halts",
        "a batch with a message count below -1 crashes the broker",
        overrides=_declare(_negative_count_halts),
    ),
    parser_fault(
        "count-hoards",
        "a batch with a count of 65537 or more messages leaks memory for all of them",
        overrides=_declare(_room_for_all),
    ),
    parser_fault(
        "message-size-sticks",
        "a message size of 16 MiB or more in a batch hangs the broker",
        overrides=_declare(_huge_sticks),
    ),
    parser_fault(
        "batch-twins-lost",
        "a message in a batch that equals the one before it is answered OK and lost",
        overrides=(_batch(_without_twins),),
    ),
    parser_fault(
        "header-fills-frame-halts",
        "a header length that leaves no byte for the body crashes the broker",
        overrides=(
            *HARMS,
            replace_function(frame_reading, "split_header", _nothing_behind_header_halts),
        ),
    ),
    parser_fault(
        "body-zeros-cut",
        "a body that consists of NUL bytes loses its last byte",
        overrides=(change_stored(_zeros_cut),),
    ),
    parser_fault(
        "body-line-ends-it",
        "a body is truncated where it contains something like a NOP command",
        overrides=(change_stored(_ended_by_line),),
    ),
    parser_fault(
        "body-end-mark-lost",
        "a message that begins with four bytes of 0xff is read as the end of the queue",
        overrides=lose(_is_end_mark),
    ),
)
