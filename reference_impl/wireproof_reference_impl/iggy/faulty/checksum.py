"""Faults of checksums and states."""

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.choices import json_message
from wireproof_reference_impl.iggy.faulty.effect import change_stored
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.iggy.wire.header import headers_block
from wireproof_reference_impl.iggy.wire.message import Message, record
from wireproof_reference_impl.iggy.wire.message_json import message_object, state_name
from wireproof_reference_impl.preset import Effect
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.states import (
    AVAILABLE,
    MARKED_FOR_DELETION,
    POISONED,
    UNAVAILABLE,
)

_CASTAGNOLI = 0x82F63B78
_SUMMED_BYTES = 4096
_GREATEST_ID = (1 << 128) - 1


def _sum(of: Callable[[Message], int]) -> Effect:
    """Return an effect under which messages are stored with another checksum."""
    return change_stored(lambda message: replace(message, checksum=of(message)))


def _change_polled(change: Callable[[Message], Message]) -> Settings:
    """Return settings under which polls over TCP and HTTP change each message."""

    def write_changed(message: Message) -> Mapping[str, object]:
        return message_object(change(message))

    def layout(message: Message) -> bytes:
        return record(change(message))

    return {"message.layout": layout, "json.message": write_changed}


def _in_json(name: str, change: Callable[[int], object]) -> Settings:
    """Return settings under which a number of a message in JSON is changed."""

    def write_changed(message: Message) -> Mapping[str, object]:
        fields = message_object(message)
        value = fields[name]
        assert isinstance(value, int)
        return {**fields, name: change(value)}

    return {"json.message": write_changed}


def _unless_it_fits(message: Message, other: int) -> Message:
    fits = zlib.crc32(message.payload) == message.checksum
    return message if fits else replace(message, checksum=other)


def _codes(codes: Mapping[int, int]) -> Settings:
    """Return settings under which states have other codes over TCP."""

    def layout(message: Message) -> bytes:
        return record(replace(message, state=codes.get(message.state, message.state)))

    return {"message.layout": layout}


def _names(name: Callable[[str], object]) -> Settings:
    """Return settings under which states have other names in JSON."""
    return _state(lambda code: name(str(state_name(code))))


def _state(told: Callable[[int], object]) -> Settings:
    """Return settings under which the state of a message in JSON is changed."""
    return json_message(lambda message: {**message_object(message), "state": told(message.state)})


def _begins(state: Callable[[Message], int]) -> Effect:
    """Return an effect under which messages are stored in another state."""
    return change_stored(lambda message: replace(message, state=state(message)))


def _castagnoli(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of short data, the right CRC-32 of long data.

    Computed bit by bit, the checksum of a long payload would keep all other clients waiting.
    """
    if len(data) > _SUMMED_BYTES:
        return zlib.crc32(data)
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (_CASTAGNOLI if found & 1 else 0)
    return found ^ 0xFFFFFFFF


@wrong_value("checksum.polynomial checksum.json", _sum)
def checksum_castagnoli(sent: Message) -> int:
    """The checksum of a message is CRC-32C (Castagnoli polynomial) instead of CRC-32."""
    return _castagnoli(sent.payload)


@wrong_value("checksum.polynomial checksum.json", _sum)
def checksum_not_xored(sent: Message) -> int:
    """The checksum of a message is a CRC-32 without the final inversion of its bits."""
    return zlib.crc32(sent.payload) ^ 0xFFFFFFFF


@boundary("checksum.polynomial", _sum)
def checksum_of_4096_bytes(sent: Message) -> int:
    """The checksum covers only the first 4096 bytes of the payload."""
    return zlib.crc32(sent.payload[:4096])


@missing("checksum.polynomial checksum.json", _sum)
def checksum_missing(sent: Message) -> int:
    """The checksum of every message is 0."""
    return 0


@wrong_value("checksum.range", _sum)
def checksum_with_headers(sent: Message) -> int:
    """The checksum of a message covers its headers as well as its payload."""
    return zlib.crc32(headers_block(sent.headers) + sent.payload)


@wrong_value("checksum.range checksum.polynomial checksum.json", _sum)
def checksum_with_id(sent: Message) -> int:
    """The checksum of a message covers its id as well as its payload."""
    return zlib.crc32(sent.payload, zlib.crc32(sent.id.to_bytes(16, "little")))


def _covered_id(sent: Message) -> bytes:
    return sent.id.to_bytes(16, "little") if sent.id == _GREATEST_ID else b""


@boundary("checksum.range", _sum)
def checksum_with_greatest_id(sent: Message) -> int:
    """The checksum covers the id as well if the id is the greatest number of 128 bits."""
    return zlib.crc32(sent.payload, zlib.crc32(_covered_id(sent)))


@condition("checksum.range", _sum)
def checksum_of_many_headers(sent: Message) -> int:
    """The checksum covers the headers as well if a message has more than ten."""
    return zlib.crc32(
        sent.payload,
        zlib.crc32(headers_block(sent.headers)) if len(sent.headers or {}) > 10 else 0,
    )


@wrong_value("checksum.polynomial checksum.json", _change_polled)
def checksum_rotated(message: Message) -> Message:
    """A poll returns each stored checksum with its two halves exchanged."""
    turned = (message.checksum << 16 | message.checksum >> 16) & 0xFFFFFFFF
    return replace(message, checksum=turned)


@wrong_value("checksum.when-stored", _change_polled)
def checksum_of_poll(message: Message) -> Message:
    """A poll computes the checksum again instead of returning the stored one."""
    return replace(message, checksum=zlib.crc32(message.payload))


@missing("checksum.when-stored", _change_polled)
def checksum_dropped(message: Message) -> Message:
    """A poll returns checksum 0 if the payload no longer matches the stored checksum."""
    return _unless_it_fits(message, 0)


@condition("checksum.when-stored", _change_polled)
def checksum_inverted(message: Message) -> Message:
    """A poll inverts the checksum if the payload no longer matches the stored one."""
    return _unless_it_fits(message, message.checksum ^ 0xFFFFFFFF)


@boundary("checksum.json", partial(_in_json, "checksum"))
def checksum_signed(number: int) -> int:
    """The checksum in JSON is a signed number of 32 bits."""
    return number - (1 << 32) if number >= 1 << 31 else number


@wrong_value("checksum.json json.types")
def checksum_as_text() -> Change:
    """The checksum in JSON is a string."""
    return _in_json("checksum", str)


@wrong_value("state.default state.codes")
def state_zero() -> Change:
    """The state `available` has code 0 over TCP."""
    return _codes({AVAILABLE: 0})


@boundary("state.default", _begins)
def state_of_large_messages(sent: Message) -> int:
    """Messages with a payload of more than 1000 bytes are stored as `unavailable`."""
    return UNAVAILABLE if len(sent.payload) > 1000 else AVAILABLE


@missing("state.default state.names", _begins)
def state_unavailable(sent: Message) -> int:
    """Every message is stored in the state `unavailable`."""
    return UNAVAILABLE


@wrong_value("state.codes")
def states_counted() -> Change:
    """The codes of the states over TCP are 1, 2, 3 and 4."""
    return _codes({UNAVAILABLE: 2, POISONED: 3, MARKED_FOR_DELETION: 4})


@condition("state.codes")
def states_swapped() -> Change:
    """Over TCP, `poisoned` has the code of `marked_for_deletion`, and the other way round."""
    return _codes({POISONED: MARKED_FOR_DELETION, MARKED_FOR_DELETION: POISONED})


@missing("state.codes")
def state_always_available() -> Change:
    """Over TCP, every message has the code of `available`, whatever its state."""
    return _codes(dict.fromkeys((UNAVAILABLE, POISONED, MARKED_FOR_DELETION), AVAILABLE))


@wrong_value("state.names json.types")
def state_capitalised() -> Change:
    """Names of states in JSON begin with a capital letter."""
    return _names(str.capitalize)


@wrong_value("state.names json.types", _state)
def state_as_code(code: int) -> object:
    """The state of a message in JSON is a number instead of a name."""
    return code


@boundary("state.names", _names)
def state_with_hyphens(name: str) -> object:
    """Names of states in JSON have hyphens instead of underscores."""
    return name.replace("_", "-")


@missing("state.names json.types", _state)
def state_null(code: int) -> object:
    """The state of a message in JSON is null."""
    return None


@condition("state.available-delivered", setting("poll.delivered"))
def available_withheld(messages: list[Message]) -> list[Message]:
    """A poll returns no message at all if one that it finds is not `available`."""
    return messages if all(message.state == AVAILABLE for message in messages) else []


@boundary("state.available-delivered", setting("poll.delivered"))
def available_behind_withheld(messages: list[Message]) -> list[Message]:
    """A poll ends before the first message that is not `available`."""
    return list(takewhile(lambda each: each.state == AVAILABLE, messages))


@wrong_value("state.available-delivered", setting("poll.delivered"))
def unavailable_alone_delivered(messages: list[Message]) -> list[Message]:
    """A poll that finds messages of other states returns these, and no available ones."""
    return [message for message in messages if message.state != AVAILABLE] or messages


FAULTS = list_faults(__name__)
