"""Faults of a client in how it reads polled messages."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.iggy.client import driver
from wireproof_reference_impl.iggy.client.core import messages
from wireproof_reference_impl.iggy.client.core.calls import Unreadable
from wireproof_reference_impl.iggy.faulty.clients.rows import (
    EVERY_POLL,
    Messages,
    around,
    boundary,
    condition,
    constant,
    extra,
    missing,
    on_read,
    on_told,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES_OLD
from wireproof_spec.iggy.message import Message
from wireproof_spec.iggy.states import AVAILABLE, MARKED_FOR_DELETION, STATES
from wireproof_spec.wire_error import WireError

_HEADERS = "headers layout"
Told = dict[str, object]


def _read_old(original: Original, body: bytes, generation: object) -> object:
    try:
        return decode(POLLED_MESSAGES_OLD, body).messages
    except WireError as error:
        raise Unreadable(str(error)) from None


def _read_short_head(original: Original, body: bytes, generation: object) -> object:
    return original(body, "published")


def _number(name: str, change: Callable[[int], int]) -> Override:
    """Change a number that the user is told as a text."""
    return on_told(lambda told: told.update({name: str(change(int(str(told[name]))))}))


def _swap(number: int) -> int:
    return int.from_bytes(number.to_bytes(4, "little"), "big")


def _swap_checksum(told: Told) -> None:
    told["checksum"] = _swap(cast(int, told["checksum"]))


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _through_float(original: Original, value: object) -> object:
    message = cast(Message, original(value))
    return replace(message, id=min(int(float(message.id)), (1 << 128) - 1) & ~0xFF)


def _as_known(code: int) -> Override:
    def call(original: Original, message: Message) -> object:
        return message if message.state in STATES else replace(message, state=code)

    return around(messages, "check_state", call)


def _known_name(original: Original, name: str) -> object:
    return original(name if name in STATES.values() else "available")


def _mix_up(told: Told) -> None:
    if told["state"] == "poisoned":
        told["state"] = "unavailable"


def _change_headers(change: Callable[[str, Told], tuple[str, Told]]) -> Override:
    def call(told: Told) -> None:
        headers = cast(dict[str, Told], told["headers"])
        told["headers"] = dict(change(key, dict(each)) for key, each in headers.items())

    return on_told(call)


def _signed_kind(key: str, header: Told) -> tuple[str, Told]:
    if header["kind"] == "uint64":
        header["kind"] = "int64"
    return key, header


def _keep_headers(found: Messages) -> Messages:
    kept: list[Message] = []
    for message in found:
        before = kept[-1].headers if kept else ()
        kept.append(replace(message, headers=message.headers or before))
    return tuple(kept)


def _refuse_empty(original: Original, value: object) -> object:
    if value == {}:
        raise Unreadable("headers: expected at least one")
    return original(value)


FAULTS = (
    wrong_value(
        "reads-old-layout",
        "Messages over TCP are read in the layout without state and checksum.",
        "layout",
        around(messages, "read_body", _read_old),
        may=f"{EVERY_POLL} whole",
    ),
    condition(
        "reads-short-head",
        "A client of a tagged server reads a head of 4 bytes.",
        "layout",
        constant(driver, "generation", "tagged"),
        around(messages, "read_body", _read_short_head),
        may=f"{EVERY_POLL} whole",
    ),
    wrong_value(
        "checksum-big-endian",
        "The user is told the checksum with its bytes reversed.",
        "layout",
        on_told(_swap_checksum),
    ),
    boundary(
        "timestamp-32-bits",
        "The user is told the lower 32 bits of a timestamp.",
        "layout",
        _number("timestamp", lambda number: number & 0xFFFFFFFF),
    ),
    boundary(
        "id-64-bits",
        "The user is told the lower 64 bits of an id.",
        "layout",
        _number("id", lambda number: number & ((1 << 64) - 1)),
    ),
    boundary(
        "offset-signed",
        "The user is told an offset of 2^63 or more as a negative number.",
        "layout",
        _number("offset", _signed),
    ),
    boundary(
        "json-id-float",
        "An id in JSON is read as a floating-point number.",
        "layout",
        around(messages, "read_object", _through_float),
    ),
    missing(
        "last-message-lost",
        "The last message of a poll is left out.",
        "layout",
        *on_read(lambda found: found[:-1]),
        may=EVERY_POLL,
    ),
    wrong_value(
        "state-always-available",
        "The user is told that every message is available.",
        "state",
        on_told(lambda told: told.update(state="available")),
    ),
    condition(
        "poisoned-as-unavailable",
        "The user is told that a poisoned message is unavailable.",
        "state",
        on_told(_mix_up),
    ),
    wrong_value(
        "unknown-state-available",
        "A message with an unknown state is presented as available.",
        "unknown-state",
        _as_known(AVAILABLE),
        around(messages, "read_state", _known_name),
    ),
    condition(
        "unknown-state-last",
        "Over TCP a message with an unknown state is presented as marked for deletion.",
        "unknown-state",
        _as_known(MARKED_FOR_DELETION),
    ),
    missing(
        "headers-lost",
        "The user is given no headers.",
        _HEADERS,
        on_told(lambda told: told.update(headers={})),
    ),
    wrong_value(
        "header-keys-lower",
        "The keys of headers are given in lower case.",
        "headers",
        _change_headers(lambda key, header: (key.lower(), header)),
    ),
    wrong_value(
        "header-kind-signed",
        "The kind uint64 is given as int64.",
        _HEADERS,
        _change_headers(_signed_kind),
    ),
    extra(
        "headers-kept",
        "A message without headers is given those of the message before.",
        _HEADERS,
        *on_read(_keep_headers),
    ),
    condition(
        "empty-headers-refused",
        "A message whose headers in JSON are an empty object is refused.",
        "headers",
        around(messages, "read_headers", _refuse_empty),
    ),
)
