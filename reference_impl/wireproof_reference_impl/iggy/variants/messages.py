"""Variants of answers, states and generations."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from zlib import crc32

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import number
from wireproof_reference_impl.iggy.generations import DEPLOYED_SETTINGS, TAGGED_SETTINGS
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message, record
from wireproof_reference_impl.iggy.wire.message_json import error_object, message_object
from wireproof_reference_impl.iggy.wire.status import INVALID_MESSAGE_CHECKSUM, Refusal
from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.preset import Preset, variant
from wireproof_reference_impl.settings import Settings

_HOUR_US = 3_600_000_000
_LATE_EVERY, _LATE_MS = 40, 600
"""Longer than measuring a few round trips shows, as when a disk is written to."""


def _byte_by_byte(data: bytes) -> Sequence[bytes]:
    """Return 200 single bytes, then larger pieces: all bytes one by one would take seconds."""
    singly = [data[at : at + 1] for at in range(min(len(data), 200))]
    return singly + [data[at : at + 1000] for at in range(200, len(data), 1000)]


def _now_and_then() -> Callable[[], int]:
    """Return a delay of 600 ms every fortieth call, else of 0.

    The first call is one of these, because the shell asks once whether there are delays at all.
    """
    times = count()
    return lambda: 0 if next(times) % _LATE_EVERY else _LATE_MS


def _backwards(headers: Headers | None) -> Headers | None:
    return headers and dict([*headers.items()][::-1])


def _backwards_layout(message: Message) -> bytes:
    return record(replace(message, headers=_backwards(message.headers)))


def _backwards_object(message: Message) -> Mapping[str, object]:
    return dict([*message_object(message).items()][::-1])


def _more_fields(message: Message) -> Mapping[str, object]:
    fields = message_object(message)
    return {"partition": 1, **fields, "length": len(message.payload)}


def _spread_json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode()


def _escaped_json(value: object) -> bytes:
    return compact_json(value).replace(b"/", rb"\/")


def _in_other_words(refusal: Refusal) -> Mapping[str, object]:
    return {**error_object(refusal), "reason": "we are sorry: no", "field": None}


def _any_state(message: Message) -> bool:
    return True


def _verify(messages: list[Message]) -> list[Message]:
    for message in messages:
        if crc32(message.payload) != message.checksum:
            reason = f"Invalid message checksum for offset: {message.offset}"
            raise Refusal(INVALID_MESSAGE_CHECKSUM, reason)
    return messages


def _number_evenly() -> Settings:
    """Return settings under which new ids are 2, 4, 6 and so on."""
    numbers = count(1)
    return number("log.new_id", lambda random: 2 * next(numbers))


def _take_deployed(*names: str) -> Settings:
    """Return these settings of the deployed dialect."""
    return {name: DEPLOYED_SETTINGS[name] for name in names}


def _take_tagged(*names: str) -> Settings:
    """Return these settings of the tagged generation."""
    return {name: TAGGED_SETTINGS[name] for name in names}


VARIANTS: tuple[Preset, ...] = (
    variant(
        "byte-by-byte",
        "answers are written one byte at a time",
        {"pacing.pieces": _byte_by_byte},
    ),
    variant(
        "written-late",
        "now and then all answers are written 600 ms late, together",
        {"pacing.delay_ms": _now_and_then()},
    ),
    variant(
        "unreadable-answered",
        "a malformed frame is answered with a status, and the connection stays open",
        {"framing.unreadable": framing.answer_refusal},
    ),
    variant(
        "headers-backwards",
        "over TCP, the headers of a message come in the reverse order",
        {"message.layout": _backwards_layout},
    ),
    variant(
        "json-backwards",
        "the fields of a message in JSON come in the reverse order",
        {"json.message": _backwards_object},
    ),
    variant(
        "json-more-fields",
        "a message in JSON has additional fields",
        {"json.message": _more_fields},
    ),
    variant(
        "json-spread",
        "JSON is indented, and characters outside ASCII are escaped",
        {"json.encode": _spread_json},
    ),
    variant(
        "json-escaped",
        "slashes in JSON are escaped",
        {"json.encode": _escaped_json},
    ),
    variant(
        "errors-in-other-words",
        "errors over HTTP have another reason text and an additional field",
        {"http.error": _in_other_words},
    ),
    variant(
        "ids-counted",
        "the server generates message ids by counting 2, 4, 6 and so on",
        _number_evenly(),
    ),
    variant(
        "clock-ahead",
        "timestamps of messages are an hour ahead",
        number("log.timestamp", lambda timestamp: timestamp + _HOUR_US),
    ),
    variant(
        "unknown-state-passed",
        "a message in an unknown state is delivered as it is",
        {"log.is_known": _any_state},
    ),
    variant(
        "checksum-verified",
        "a poll fails with an error if a payload does not match its checksum",
        {"poll.delivered": _verify},
    ),
    variant(
        "head-of-tagged",
        "a poll also returns partition and current offset, as in the tagged generation",
        _take_tagged("message.head", "json.polled"),
    ),
    variant(
        "timestamp-within-segment",
        "a poll by a timestamp before the first message finds nothing, as in the measured server",
        _take_deployed("poll.starts"),
    ),
    variant(
        "http-unchecked",
        "HTTP accepts empty payloads and headers that TCP refuses, as the measured server does",
        _take_deployed("http.sent"),
    ),
)
