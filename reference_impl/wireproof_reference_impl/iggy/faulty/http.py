"""Faults of HTTP: accepted and refused requests, errors and answers to polls."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.faulty.effect import (
    BINARY,
    JSON,
    boundary,
    condition,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.http import messages as http_messages
from wireproof_reference_impl.iggy.wire import exchange, message_json
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.message_json import (
    error_object,
    message_object,
    skip_checks,
)
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.status import Refusal, invalid_command
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_reference_impl.preset import (
    Preset,
)

_CREATED = 201
_MOST_NAMED = 9


def _small_ids(sent: Sent) -> None:
    if sent.id >> 64:
        raise invalid_command()


def _nine_at_most(found: Polled, messages: Sequence[object]) -> object:
    return messages[:_MOST_NAMED]


def _nothing_is_null(found: Polled, messages: Sequence[object]) -> object:
    return messages or None


def _in_capitals(refusal: Refusal) -> Mapping[str, object]:
    return {**error_object(refusal), "code": refusal.status.name.upper()}


def _take_unfit(unfit: exchange.Unfit) -> exchange.Answer:
    return exchange.Answer(_CREATED)


def _with_payload(messages: list[Message]) -> list[Message]:
    return [each for each in messages if each.payload]


def _no_headers(fields: object) -> None:
    return None


def _payload_backwards(original: Original, fields: object) -> object:
    sent = original(fields)
    assert isinstance(sent, Sent)
    return replace(sent, payload=sent.payload[::-1])


def _nothing_stored(*place: object, **offset: object) -> None:
    return None


def _offset_told_as_zero(original: Original, consumer: int, stored: int | None) -> object:
    return original(consumer, 0)


def _empty_as_array(message: Message) -> Mapping[str, object]:
    fields = message_object(message)
    return {**fields, "headers": []} if message.headers == {} else fields


FAULTS: tuple[Preset, ...] = (
    boundary(
        "http-ids-of-64-bits",
        "a message id of more than 64 bits is refused over HTTP",
        {"http.sent": _small_ids},
        breaks="http.send",
        may_break=f"{JSON} http.unchecked",
    ),
    boundary(
        "http-nine-at-most",
        "a poll over HTTP returns at most nine messages",
        {"json.polled": _nine_at_most},
        breaks="http.poll",
        may_break=JSON,
    ),
    wrong_value(
        "json-nothing-is-null",
        "a poll over HTTP that finds no message returns null instead of an empty array",
        {"json.polled": _nothing_is_null},
        breaks="json.shape",
        may_break=JSON,
        finds_nothing=True,
    ),
    wrong_value(
        "http-errors-in-capitals",
        "error codes over HTTP are in capital letters",
        {"http.error": _in_capitals},
        breaks="http.errors",
    ),
    missing(
        "http-unfit-taken",
        "a malformed HTTP request is answered with status 201 (created)",
        make_overriding(replace_function(exchange, "in_plain_text", _take_unfit)),
        breaks="http.form",
        may_break=f"{JSON} http.errors",
    ),
    missing(
        "http-empty-payload-lost",
        "a message with an empty payload is accepted over HTTP but never delivered",
        {"http.sent": skip_checks, "poll.delivered": _with_payload},
        breaks="http.unchecked",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "http-headers-lost",
        "a message sent over HTTP loses its headers",
        make_overriding(replace_function(http_messages, "_headers", _no_headers)),
        breaks="http.send json.headers-object",
        may_break=f"{BINARY} {JSON}",
    ),
    wrong_value(
        "http-payload-backwards",
        "the payload of a message sent over HTTP is stored in reverse order",
        make_overriding(around(http_messages, "_read_sent", _payload_backwards)),
        breaks="http.send",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "http-offset-not-stored",
        "an offset stored over HTTP is not stored, although the answer is a success",
        make_overriding(replace_function(http_messages, "store_offset", _nothing_stored)),
        breaks="http.offsets",
    ),
    wrong_value(
        "http-offset-zero",
        "a stored offset is 0 over HTTP",
        make_overriding(around(message_json, "offset_object", _offset_told_as_zero)),
        breaks="http.offsets",
    ),
    condition(
        "json-headers-empty-as-array",
        "an empty set of headers is an empty array in JSON instead of an empty object",
        {"json.message": _empty_as_array},
        breaks="json.headers-empty",
        may_break=JSON,
    ),
)
