"""Faults of parsers: sizes and counts that lie, and bodies taken for something else."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.frame_reading import Split, split_header
from wireproof_reference_impl.nsq.core.harm import Victim
from wireproof_reference_impl.nsq.core.message import Entry, Message
from wireproof_reference_impl.nsq.core.refusal import Deaf, Halt, Stuck
from wireproof_reference_impl.nsq.faulty.consume import losing
from wireproof_reference_impl.nsq.preset import Preset, parser_fault

_FULL = 65536
_HOARDED_BYTES = 2 << 20
_MANY = 1 << 16
_HUGE = 1 << 24
_LEAST = -(1 << 31)
_END_MARK = b"\xff\xff\xff\xff"
_LIKE_A_LINE = b"\nNOP\n"


def _low_bits(victim: Victim, kind: str, size: int) -> int:
    return size & 0xFFFFFF if kind != "count" and size > 0xFFFFFF else size


def _magnitude(victim: Victim, kind: str, size: int) -> int:
    return abs(size) if kind != "count" else size


def _zero_deafens(victim: Victim, kind: str, size: int) -> int:
    if kind == "identify size" and size == 0:
        raise Deaf
    return size


def _negative_count_halts(victim: Victim, kind: str, count: int) -> int:
    if kind == "count" and count < -1:
        raise Halt
    return count


def _room_for_all(victim: Victim, kind: str, count: int) -> int:
    if kind == "count" and count > _MANY:
        victim.harm.keep(b"", _HOARDED_BYTES)
    return count


def _huge_sticks(victim: Victim, kind: str, size: int) -> int:
    if kind == "message size" and size >= _HUGE:
        raise Stuck
    return size


def _least_closes_another(victim: Victim, kind: str, size: int) -> int:
    if size == _LEAST:
        victim.drop_another(subscribed=True)
    return size


def _declared(read: object) -> Settings:
    return {"weakness.declared": read}


def _nothing_behind_header_halts(data: bytes) -> Split | None:
    if len(data) > 2 and len(data) == 2 + int.from_bytes(data[:2]):
        raise Halt
    return split_header(data)


def _without_twins(victim: Victim, data: bytes) -> bytes:
    """Leave out of a batch each message that is the same as the one before it."""
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


def _full_cut(victim: Victim, entries: Sequence[Entry]) -> Sequence[Entry]:
    return [
        each._replace(body=each.body[:-1]) if len(each.body) == _FULL else each for each in entries
    ]


def _zeros_cut(victim: Victim, entries: Sequence[Entry]) -> Sequence[Entry]:
    return [each if any(each.body) else each._replace(body=each.body[:-1]) for each in entries]


def _ended_by_line(victim: Victim, entries: Sequence[Entry]) -> Sequence[Entry]:
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
        "of a size only the low 24 bits are read",
        _declared(_low_bits),
    ),
    parser_fault(
        "size-magnitude",
        "a negative size is read without its sign",
        _declared(_magnitude),
    ),
    parser_fault(
        "size-65536-by-one",
        "of a message of 65536 bytes the last one is lost",
        {"weakness.stored": _full_cut},
    ),
    parser_fault(
        "size-identify-zero-deafens",
        "a connection is not listened to any more after an IDENTIFY of size 0",
        _declared(_zero_deafens),
    ),
    parser_fault(
        "size-least-closes-another",
        "the smallest signed size or count ends the connection of a subscriber beside",
        _declared(_least_closes_another),
    ),
    parser_fault(
        "count-negative-halts",
        "the broker dies of a batch that counts less than -1 messages",
        _declared(_negative_count_halts),
    ),
    parser_fault(
        "count-hoards",
        "room is made, and never given back, for all of the 65537 or more messages of a batch",
        _declared(_room_for_all),
    ),
    parser_fault(
        "message-size-sticks",
        "the broker hangs once a message in a batch claims 16 MiB or more",
        _declared(_huge_sticks),
    ),
    parser_fault(
        "batch-twins-lost",
        "a message of a batch that is the same as the one before it is answered and lost",
        {"weakness.batch": _without_twins},
    ),
    parser_fault(
        "header-fills-frame-halts",
        "the broker dies of a header length that leaves no byte for the body",
        {"parser.split": _nothing_behind_header_halts},
    ),
    parser_fault(
        "body-zeros-cut",
        "the last byte of a body of NULs alone is lost",
        {"weakness.stored": _zeros_cut},
    ),
    parser_fault(
        "body-line-ends-it",
        "a body ends where something like a NOP stands in it",
        {"weakness.stored": _ended_by_line},
    ),
    parser_fault(
        "body-end-mark-lost",
        "a message that begins with four bytes of all ones is taken for the end of the queue",
        overrides=losing(_is_end_mark),
    ),
)
