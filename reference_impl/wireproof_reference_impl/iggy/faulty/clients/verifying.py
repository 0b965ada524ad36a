"""Faults of a client in how it compares checksums, and asks again."""

from collections.abc import Generator

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client.core import http, operations, requests
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    Damaged,
    Poll,
    messages_of,
)
from wireproof_reference_impl.iggy.faulty.clients.seams import Messages
from wireproof_reference_impl.iggy.faulty.clients.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.message import Message

_CASTAGNOLI = 0x82F63B78


_damaged: list[bool] = []


def _from(place: int) -> Override:
    """Ask again for messages from a place on, counted from the damaged one."""

    def call(message: Message) -> Poll:
        return Poll(OFFSET, max(message.offset + place, 0), 1)

    return replace_function(operations, "repeated_poll", call)


def _polls_at(change: int) -> tuple[Override, Override]:
    def call(original: Original, wanted: Poll, settings: object) -> object:
        value = wanted.value + change if wanted.value else 0
        return original(Poll(wanted.strategy, value, wanted.count, wanted.auto_commit), settings)

    return around(requests, "poll_payload", call), around(http, "poll_query", call)


@condition("verify", around(operations, "matches"))
def checksum_of_headers(original: Original, message: Message) -> bool:
    """The checksum is compared with that of headers and payload."""
    whole = encode(HEADERS, message.headers) + message.payload
    return message.checksum == payload_checksum(whole)


def _castagnoli(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (_CASTAGNOLI if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@wrong_value("verify", around(operations, "matches"))
def checksum_castagnoli(original: Original, message: Message) -> bool:
    """The checksum is compared with a CRC-32 of another polynomial."""
    return message.checksum == _castagnoli(message.payload)


@boundary("verify", around(operations, "matches"))
def checksum_of_text(original: Original, message: Message) -> bool:
    """The checksum is compared with that of the payload without zeros at its end."""
    return message.checksum == payload_checksum(message.payload.rstrip(b"\0"))


@condition("verify", replace_function(operations, "poll"))
def stuck_after_damage(wanted: Poll) -> Generator[Call, Answer, Messages]:
    """After a damaged message every poll fails."""
    if _damaged:
        raise Damaged("an earlier message did not match its checksum")
    found = messages_of((yield wanted))
    if not all(map(operations.matches, found)):
        _damaged.append(True)
        raise Damaged("a message does not match its checksum")
    return found


@boundary("ask-again")
def asks_for_next() -> Change:
    """A damaged message is asked for again with the offset after its own."""
    return _from(1)


@wrong_value("ask-again")
def asks_from_start() -> Change:
    """A damaged message is asked for again at offset 0."""
    return _from(-1000)


@wrong_value("ask-again", replace_function(operations, "verify"))
def gives_first_copy(message: Message) -> Generator[Call, Answer, Message]:
    """A damaged message is asked for again, and its first copy is given."""
    if not operations.matches(message):
        yield operations.repeated_poll(message)
    return message


@missing("bounded")
def asks_for_ever() -> Change:
    """A message that stays damaged is asked for without end."""
    return constant(operations, "may_ask_again", value=True)


def _at_most(attempts: int) -> Override:
    def call(made: int) -> bool:
        return made < attempts

    return replace_function(operations, "may_ask_again", call)


@boundary("bounded")
def asks_hundred_times() -> Change:
    """A message that stays damaged is asked for a hundred times."""
    return _at_most(100)


@boundary("position")
def polls_ahead() -> Change:
    """A poll begins one offset after the one that is due."""
    return _polls_at(1)


@wrong_value("position")
def polls_far_ahead() -> Change:
    """A poll begins 2^32 offsets after the one that is due."""
    return _polls_at(1 << 32)


FAULTS = list_faults(__name__)
