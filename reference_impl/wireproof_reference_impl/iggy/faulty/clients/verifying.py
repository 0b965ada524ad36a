"""Faults of a client in how it compares checksums, and asks again."""

from collections.abc import Generator

from wireproof_reference_impl.iggy.client.core import http, operations, requests
from wireproof_reference_impl.iggy.client.core.calls import Answer, Call, Damaged, Poll
from wireproof_reference_impl.iggy.faulty.clients.rows import (
    EVERY_POLL,
    Messages,
    around,
    boundary,
    condition,
    constant,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, replace_function
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.message import Message

_CASTAGNOLI = 0x82F63B78


def _castagnoli(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (_CASTAGNOLI if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def _of_headers(original: Original, message: Message) -> bool:
    whole = encode(HEADERS, message.headers) + message.payload
    return message.checksum == payload_checksum(whole)


def _of_castagnoli(original: Original, message: Message) -> bool:
    return message.checksum == _castagnoli(message.payload)


def _of_text(original: Original, message: Message) -> bool:
    return message.checksum == payload_checksum(message.payload.rstrip(b"\0"))


_damaged: list[bool] = []


def _stuck_poll(wanted: Poll) -> Generator[Call, Answer, Messages]:
    """Poll, unless an earlier message was damaged."""
    if _damaged:
        raise Damaged("an earlier message did not match its checksum")
    found = yield wanted
    if not all(map(operations.matches, found)):
        _damaged.append(True)
        raise Damaged("a message does not match its checksum")
    return found


def _from(place: int) -> Override:
    """Ask again for messages from a place on, counted from the damaged one."""

    def call(message: Message) -> Poll:
        return Poll(OFFSET, max(message.offset + place, 0), 1)

    return replace_function(operations, "repeated_poll", call)


def _first_copy(message: Message) -> Generator[Call, Answer, Message]:
    if not operations.matches(message):
        yield operations.repeated_poll(message)
    return message


def _at_most(attempts: int) -> Override:
    def call(made: int) -> bool:
        return made < attempts

    return replace_function(operations, "may_ask_again", call)


def _polls_at(change: int) -> tuple[Override, Override]:
    def call(original: Original, wanted: Poll, settings: object) -> object:
        value = wanted.value + change if wanted.value else 0
        return original(Poll(wanted.strategy, value, wanted.count, wanted.auto_commit), settings)

    return around(requests, "poll_payload", call), around(http, "poll_query", call)


FAULTS = (
    condition(
        "checksum-of-headers",
        "The checksum is compared with that of headers and payload.",
        "verify",
        around(operations, "matches", _of_headers),
        may="layout headers ask-again bounded",
    ),
    wrong_value(
        "checksum-castagnoli",
        "The checksum is compared with a CRC-32 of another polynomial.",
        "verify",
        around(operations, "matches", _of_castagnoli),
        may=EVERY_POLL,
    ),
    boundary(
        "checksum-of-text",
        "The checksum is compared with that of the payload without zeros at its end.",
        "verify",
        around(operations, "matches", _of_text),
    ),
    condition(
        "stuck-after-damage",
        "After a damaged message every poll fails.",
        "verify",
        replace_function(operations, "poll", _stuck_poll),
    ),
    boundary(
        "asks-for-next",
        "A damaged message is asked for again with the offset after its own.",
        "ask-again",
        _from(1),
    ),
    wrong_value(
        "asks-from-start",
        "A damaged message is asked for again at offset 0.",
        "ask-again",
        _from(-1000),
    ),
    wrong_value(
        "gives-first-copy",
        "A damaged message is asked for again, and its first copy is given.",
        "ask-again",
        replace_function(operations, "verify", _first_copy),
    ),
    missing(
        "asks-for-ever",
        "A message that stays damaged is asked for without end.",
        "bounded",
        constant(operations, "may_ask_again", value=True),
        may="verify",
    ),
    boundary(
        "asks-hundred-times",
        "A message that stays damaged is asked for a hundred times.",
        "bounded",
        _at_most(100),
    ),
    boundary(
        "polls-ahead",
        "A poll begins one offset after the one that is due.",
        "position",
        *_polls_at(1),
        may="ask-again verify",
    ),
    wrong_value(
        "polls-far-ahead",
        "A poll begins 2^32 offsets after the one that is due.",
        "position",
        *_polls_at(1 << 32),
        may="ask-again verify",
    ),
)
