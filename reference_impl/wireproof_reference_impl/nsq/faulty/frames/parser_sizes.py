"""Faults of parsers: wrong sizes and counts, and bodies that are misread."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.faults import list_faults
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
from wireproof_reference_impl.nsq.faulty.ways import parser_fault
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


def _declare(change: Callable[[Connection, str, int], int]) -> tuple[Override, ...]:
    return (*HARMS, change_declared(change))


@parser_fault(_declare)
def size_low_bits(connection: Connection, kind: str, size: int) -> int:
    """Only the low 24 bits of a size are read."""
    return size & 0xFFFFFF if kind != "count" and size > 0xFFFFFF else size


@parser_fault(_declare)
def size_magnitude(connection: Connection, kind: str, size: int) -> int:
    """The sign of a negative size is ignored."""
    return abs(size) if kind != "count" else size


@parser_fault(change_stored)
def size_65536_by_one(
    connection: Connection, entries: Sequence[NewMessage]
) -> Sequence[NewMessage]:
    """A message of 65536 bytes loses its last byte."""
    return [
        entry._replace(body=entry.body[:-1]) if len(entry.body) == _FULL else entry
        for entry in entries
    ]


@parser_fault(_declare)
def size_identify_zero_deafens(connection: Connection, kind: str, size: int) -> int:
    """After an IDENTIFY of size 0, the broker reads nothing more from the connection."""
    if kind == "identify size" and size == 0:
        raise StopsReading
    return size


@parser_fault(_declare)
def size_least_closes_another(connection: Connection, kind: str, size: int) -> int:
    """The smallest signed size or count closes the connection of another subscriber."""
    if size == _LEAST:
        drop_another(connection, subscribed=True)
    return size


@parser_fault(_declare)
def count_negative_halts(connection: Connection, kind: str, count: int) -> int:
    """A batch with a message count below -1 crashes the broker."""
    if kind == "count" and count < -1:
        raise ProcessEnds
    return count


@parser_fault(_declare)
def count_hoards(connection: Connection, kind: str, count: int) -> int:
    """A batch with a count of 65537 or more messages leaks memory for all of them."""
    if kind == "count" and count > _MANY:
        keep_memory(b"", _HOARDED_BYTES)
    return count


@parser_fault(_declare)
def message_size_sticks(connection: Connection, kind: str, size: int) -> int:
    """A message size of 16 MiB or more in a batch hangs the broker."""
    if kind == "message size" and size >= _HUGE:
        raise ProcessHangs
    return size


def _batch(change: Callable[[bytes], bytes]) -> Override:
    """Return an override that changes the body of each batch."""

    def read_body(original: Callable[..., Bytes], size: int) -> Bytes:
        return change((yield from original(size)))

    return around(publish_many, "read_body", read_body)


@parser_fault(_batch)
def batch_twins_lost(data: bytes) -> bytes:
    """A message in a batch that equals the one before it is answered OK and lost."""
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


@parser_fault(replace_function(frame_reading, "split_header"), also=HARMS)
def header_fills_frame_halts(data: bytes) -> Split | None:
    """A header length that leaves no byte for the body crashes the broker."""
    if len(data) > 2 and len(data) == 2 + int.from_bytes(data[:2]):
        raise ProcessEnds
    return split_header(data)


@parser_fault(change_stored)
def body_zeros_cut(connection: Connection, entries: Sequence[NewMessage]) -> Sequence[NewMessage]:
    """A body that consists of NUL bytes loses its last byte."""
    return [
        entry if any(entry.body) else entry._replace(body=entry.body[:-1]) for entry in entries
    ]


@parser_fault(change_stored)
def body_line_ends_it(
    connection: Connection, entries: Sequence[NewMessage]
) -> Sequence[NewMessage]:
    """A body is truncated where it contains something like a NOP command."""
    return [
        entry._replace(body=entry.body.partition(_LIKE_A_LINE)[0])
        if _LIKE_A_LINE in entry.body
        else entry
        for entry in entries
    ]


@parser_fault(lose)
def body_end_mark_lost(message: Message) -> bool:
    """A message that begins with four bytes of 0xff is read as the end of the queue."""
    return message.body.startswith(_END_MARK)


FAULTS = list_faults(__name__)
