"""Faults of parsers: sizes and counts that lie, and bodies taken for something else."""

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.frame_reading import Split, split_header
from wireproof_reference_impl.nsq.core.harm import Victim
from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.refusal import Deaf, Halt, Stuck
from wireproof_reference_impl.nsq.preset import Preset, parser_fault
from wireproof_spec.nsq.limits import MAX_MSG_SIZE

_HOARDED_BYTES = 2 << 20
_MANY = 1 << 16
_HUGE = 1 << 30
_LEAST = -(1 << 31)
_END_MARK = b"\xff\xff\xff\xff"
_LIKE_A_LINE = b"\nNOP\n"


def _low_half(victim: Victim, kind: str, size: int) -> int:
    return size & 0xFFFF if kind == "size" and size > MAX_MSG_SIZE else size


def _magnitude(victim: Victim, kind: str, size: int) -> int:
    return abs(size) if kind == "size" and size > _LEAST else size


def _zero_deafens(victim: Victim, kind: str, size: int) -> int:
    if kind == "identify size" and size == 0:
        raise Deaf
    return size


def _one_over_the_limit(victim: Victim, kind: str, size: int) -> int:
    return size - 1 if kind == "size" and size == MAX_MSG_SIZE + 1 else size


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


def _zeros_cut(data: bytes) -> bytes:
    return data if any(data) else data[:-1]


def _ended_by_line(data: bytes) -> bytes:
    return data.partition(_LIKE_A_LINE)[0] or data


def _is_end_mark(message: Message) -> bool:
    return message.body.startswith(_END_MARK)


FAULTS: tuple[Preset, ...] = (
    parser_fault(
        "size-low-half",
        "of the size of a message above the limit only the low 16 bits are read",
        _declared(_low_half),
    ),
    parser_fault(
        "size-magnitude",
        "a negative size of a message is read without its sign",
        _declared(_magnitude),
    ),
    parser_fault(
        "size-limit-by-one",
        "a message one byte over the limit is waited for, and its last byte not taken",
        _declared(_one_over_the_limit),
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
        "the broker hangs once a message in a batch claims a gigabyte or more",
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
        {"publish.plain_body": _zeros_cut},
    ),
    parser_fault(
        "body-line-ends-it",
        "a body ends where something like a NOP stands in it",
        {"publish.plain_body": _ended_by_line},
    ),
    parser_fault(
        "body-end-mark-lost",
        "a message that begins with four bytes of all ones is taken for the end of the queue",
        {"delivery.lost": _is_end_mark},
    ),
)
