"""Faults of a client in how it reads polled messages."""

from collections.abc import Callable
from functools import partial
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import messages
from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.faulty.clients.seams import (
    Messages,
    on_read,
    on_told,
)
from wireproof_reference_impl.iggy.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES_OLD
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE, MARKED_FOR_DELETION, STATES
from wireproof_spec.wire_error import WireError

Told = dict[str, object]


def _number(name: str, change: Callable[[int], int]) -> Override:
    """Change a number that the user is told as a text."""
    return on_told(lambda told: told.update({name: str(change(int(str(told[name]))))}))


def _as_known(code: int) -> Override:
    def call(original: Original, message: Message) -> object:
        return message if message.state in STATES else replace(message, state=code)

    return around(messages, "check_state", call)


def _change_headers(change: Callable[[str, Told], tuple[str, Told]]) -> Override:
    def call(told: Told) -> None:
        headers = cast(dict[str, Told], told["headers"])
        told["headers"] = dict(change(key, dict(each)) for key, each in headers.items())

    return on_told(call)


@wrong_value("layout", around(messages, "read_body"))
def reads_old_layout(original: Original, body: bytes, generation: object) -> object:
    """Messages over TCP are read in the layout without state and checksum."""
    try:
        return decode(POLLED_MESSAGES_OLD, body).messages
    except WireError as error:
        raise Unreadable(str(error)) from None


@condition(
    "layout", around(messages, "read_body"), also=(constant(driver, "generation", "tagged"),)
)
def reads_short_head(original: Original, body: bytes, generation: object) -> object:
    """A client of a tagged server reads a head of 4 bytes."""
    return original(body, "published")


def _swap(number: int) -> int:
    return int.from_bytes(number.to_bytes(4, "little"), "big")


@wrong_value("layout", on_told)
def checksum_big_endian(told: Told) -> None:
    """The user is told the checksum with its bytes reversed."""
    told["checksum"] = _swap(cast(int, told["checksum"]))


@boundary("layout", partial(_number, "timestamp"))
def timestamp_32_bits(number: int) -> int:
    """The user is told the lower 32 bits of a timestamp."""
    return number & 0xFFFFFFFF


@boundary("layout", partial(_number, "id"))
def id_64_bits(number: int) -> int:
    """The user is told the lower 64 bits of an id."""
    return number & ((1 << 64) - 1)


@boundary("layout", partial(_number, "offset"))
def offset_signed(number: int) -> int:
    """The user is told an offset of 2^63 or more as a negative number."""
    return number - (1 << 64) if number >> 63 else number


@boundary("layout", around(messages, "read_object"))
def json_id_float(original: Original, value: object) -> object:
    """An id in JSON is read as a floating-point number."""
    message: Message = original(value)
    return replace(message, id=min(int(float(message.id)), (1 << 128) - 1) & ~0xFF)


@missing("layout", on_read)
def last_message_lost(found: Messages) -> Messages:
    """The last message of a poll is left out."""
    return found[:-1]


@wrong_value("state", on_told)
def state_always_available(told: dict[str, object]) -> object:
    """The user is told that every message is available."""
    return told.update(state="available")


@condition("state", on_told)
def poisoned_as_unavailable(told: Told) -> None:
    """The user is told that a poisoned message is unavailable."""
    if told["state"] == "poisoned":
        told["state"] = "unavailable"


@wrong_value("unknown-state", around(messages, "read_state"), also=(_as_known(AVAILABLE),))
def unknown_state_available(original: Original, name: str) -> object:
    """A message with an unknown state is presented as available."""
    return original(name if name in STATES.values() else "available")


@condition("unknown-state")
def unknown_state_last() -> Change:
    """Over TCP a message with an unknown state is presented as marked for deletion."""
    return _as_known(MARKED_FOR_DELETION)


@missing("headers layout", on_told)
def headers_lost(told: dict[str, object]) -> object:
    """The user is given no headers."""
    return told.update(headers={})


@wrong_value("headers", _change_headers)
def header_keys_lower(key: str, header: Told) -> tuple[str, Told]:
    """The keys of headers are given in lower case."""
    return (key.lower(), header)


@wrong_value("headers layout", _change_headers)
def header_kind_signed(key: str, header: Told) -> tuple[str, Told]:
    """The kind uint64 is given as int64."""
    if header["kind"] == "uint64":
        header["kind"] = "int64"
    return key, header


@extra("headers layout", on_read)
def headers_kept(found: Messages) -> Messages:
    """A message without headers is given those of the message before."""
    kept: list[Message] = []
    for message in found:
        before = kept[-1].headers if kept else ()
        kept.append(replace(message, headers=message.headers or before))
    return tuple(kept)


@condition("headers", around(messages, "read_headers"))
def empty_headers_refused(original: Original, value: object) -> object:
    """A message whose headers in JSON are an empty object is refused."""
    if value == {}:
        raise Unreadable("headers: expected at least one")
    return original(value)


FAULTS = list_faults(__name__)
