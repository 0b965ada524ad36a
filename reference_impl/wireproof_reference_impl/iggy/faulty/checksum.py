"""Faults of checksums and states."""

import zlib
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import json_message
from wireproof_reference_impl.iggy.faulty.effect import (
    BINARY,
    DISK,
    JSON,
    Effect,
    boundary,
    change_stored,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire.header import headers_block
from wireproof_reference_impl.iggy.wire.message import Message, record
from wireproof_reference_impl.iggy.wire.message_json import message_object, state_name
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.states import (
    AVAILABLE,
    MARKED_FOR_DELETION,
    POISONED,
    UNAVAILABLE,
)

_CASTAGNOLI = 0x82F63B78
_SUMMED_BYTES = 4096
_PLACES = "message.places message.layout"
_SUMS = f"{_PLACES} checksum.range checksum.when-stored json.payload json.same-as-binary"
_GREATEST_ID = (1 << 128) - 1


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


def _covered_id(sent: Message) -> bytes:
    return sent.id.to_bytes(16, "little") if sent.id == _GREATEST_ID else b""


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


def _summed_anew(message: Message) -> Message:
    return replace(message, checksum=zlib.crc32(message.payload))


def _unless_it_fits(message: Message, other: int) -> Message:
    fits = zlib.crc32(message.payload) == message.checksum
    return message if fits else replace(message, checksum=other)


def _sign(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


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


def _available_alone(messages: list[Message]) -> list[Message]:
    """Return no message if one of them is not available."""
    return messages if all(each.state == AVAILABLE for each in messages) else []


CHECKSUMS: tuple[Preset, ...] = (
    wrong_value(
        "checksum-castagnoli",
        "the checksum of a message is CRC-32C (Castagnoli polynomial) instead of CRC-32",
        _sum(lambda sent: _castagnoli(sent.payload)),
        breaks="checksum.polynomial checksum.json",
        may_break=_SUMS,
    ),
    wrong_value(
        "checksum-not-xored",
        "the checksum of a message is a CRC-32 without the final inversion of its bits",
        _sum(lambda sent: zlib.crc32(sent.payload) ^ 0xFFFFFFFF),
        breaks="checksum.polynomial checksum.json",
        may_break=_SUMS,
    ),
    boundary(
        "checksum-of-4096-bytes",
        "the checksum covers only the first 4096 bytes of the payload",
        _sum(lambda sent: zlib.crc32(sent.payload[:4096])),
        breaks="checksum.polynomial",
        may_break=_SUMS,
    ),
    missing(
        "checksum-missing",
        "the checksum of every message is 0",
        _sum(lambda sent: 0),
        breaks="checksum.polynomial checksum.json",
        may_break=_SUMS,
    ),
    wrong_value(
        "checksum-with-headers",
        "the checksum of a message covers its headers as well as its payload",
        _sum(lambda sent: zlib.crc32(headers_block(sent.headers) + sent.payload)),
        breaks="checksum.range",
        may_break=f"{_SUMS} headers.delivered headers.kinds send.layout json.headers-object",
    ),
    wrong_value(
        "checksum-with-id",
        "the checksum of a message covers its id as well as its payload",
        _sum(lambda sent: zlib.crc32(sent.payload, zlib.crc32(sent.id.to_bytes(16, "little")))),
        breaks="checksum.range checksum.polynomial checksum.json",
        may_break=_SUMS,
    ),
    boundary(
        "checksum-with-greatest-id",
        "the checksum covers the id as well if the id is the greatest number of 128 bits",
        _sum(lambda sent: zlib.crc32(sent.payload, zlib.crc32(_covered_id(sent)))),
        breaks="checksum.range",
        may_break=_SUMS,
    ),
    condition(
        "checksum-of-many-headers",
        "the checksum covers the headers as well if a message has more than ten",
        _sum(
            lambda sent: zlib.crc32(
                sent.payload,
                zlib.crc32(headers_block(sent.headers)) if len(sent.headers or {}) > 10 else 0,
            )
        ),
        breaks="checksum.range",
        may_break=f"{_SUMS} headers.delivered",
    ),
    wrong_value(
        "checksum-of-poll",
        "a poll computes the checksum again instead of returning the stored one",
        _change_polled(_summed_anew),
        breaks="checksum.when-stored",
        may_break=DISK,
    ),
    missing(
        "checksum-dropped",
        "a poll returns checksum 0 if the payload no longer matches the stored checksum",
        _change_polled(lambda message: _unless_it_fits(message, 0)),
        breaks="checksum.when-stored",
        may_break=DISK,
    ),
    condition(
        "checksum-inverted",
        "a poll inverts the checksum if the payload no longer matches the stored one",
        _change_polled(lambda message: _unless_it_fits(message, message.checksum ^ 0xFFFFFFFF)),
        breaks="checksum.when-stored",
        may_break=DISK,
    ),
    boundary(
        "checksum-signed",
        "the checksum in JSON is a signed number of 32 bits",
        _in_json("checksum", _sign),
        breaks="checksum.json",
        may_break=JSON,
    ),
    wrong_value(
        "checksum-as-text",
        "the checksum in JSON is a string",
        _in_json("checksum", str),
        breaks="checksum.json json.types",
        may_break=JSON,
    ),
)

STATES: tuple[Preset, ...] = (
    wrong_value(
        "state-zero",
        "the state `available` has code 0 over TCP",
        _codes({AVAILABLE: 0}),
        breaks="state.default state.codes",
        may_break=BINARY,
    ),
    boundary(
        "state-of-large-messages",
        "messages with a payload of more than 1000 bytes are stored as `unavailable`",
        _begins(lambda sent: UNAVAILABLE if len(sent.payload) > 1000 else AVAILABLE),
        breaks="state.default",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "state-unavailable",
        "every message is stored in the state `unavailable`",
        _begins(lambda sent: UNAVAILABLE),
        breaks="state.default state.names",
        may_break=f"{BINARY} {JSON}",
    ),
    wrong_value(
        "states-counted",
        "the codes of the states over TCP are 1, 2, 3 and 4",
        _codes({UNAVAILABLE: 2, POISONED: 3, MARKED_FOR_DELETION: 4}),
        breaks="state.codes",
        may_break=f"json.same-as-binary {DISK}",
    ),
    condition(
        "states-swapped",
        "over TCP, `poisoned` has the code of `marked_for_deletion`, and the other way round",
        _codes({POISONED: MARKED_FOR_DELETION, MARKED_FOR_DELETION: POISONED}),
        breaks="state.codes",
        may_break=f"json.same-as-binary {DISK}",
    ),
    missing(
        "state-always-available",
        "over TCP, every message has the code of `available`, whatever its state",
        _codes(dict.fromkeys((UNAVAILABLE, POISONED, MARKED_FOR_DELETION), AVAILABLE)),
        breaks="state.codes",
        may_break=f"json.same-as-binary {DISK}",
    ),
    wrong_value(
        "state-capitalised",
        "names of states in JSON begin with a capital letter",
        _names(str.capitalize),
        breaks="state.names json.types",
        may_break=JSON,
    ),
    wrong_value(
        "state-as-code",
        "the state of a message in JSON is a number instead of a name",
        _state(lambda code: code),
        breaks="state.names json.types",
        may_break=JSON,
    ),
    boundary(
        "state-with-hyphens",
        "names of states in JSON have hyphens instead of underscores",
        _names(lambda name: name.replace("_", "-")),
        breaks="state.names",
        may_break="json.same-as-binary",
    ),
    missing(
        "state-null",
        "the state of a message in JSON is null",
        _state(lambda code: None),
        breaks="state.names json.types",
        may_break=JSON,
    ),
    condition(
        "available-withheld",
        "a poll returns no message at all if one that it finds is not `available`",
        {"poll.delivered": _available_alone},
        breaks="state.delivered",
        may_break="state.codes state.names state.default disk.same-layout json.same-as-binary",
    ),
)

FAULTS = (*CHECKSUMS, *STATES)
