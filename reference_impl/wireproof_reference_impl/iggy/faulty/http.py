"""Faults of HTTP: accepted and refused requests, errors and answers to polls."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, missing, wrong_value
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
from wireproof_reference_impl.preset import Effect

_CREATED = 201
_MOST_NAMED = 9


@boundary("http.send", setting("http.sent"))
def http_ids_of_64_bits(sent: Sent) -> None:
    """A message id of more than 64 bits is refused over HTTP."""
    if sent.id >> 64:
        raise invalid_command()


@boundary("http.poll", setting("json.polled"))
def http_nine_at_most(found: Polled, messages: Sequence[object]) -> object:
    """A poll over HTTP returns at most nine messages."""
    return messages[:_MOST_NAMED]


def _nothing_is_null(found: Polled, messages: Sequence[object]) -> object:
    return messages or None


@wrong_value("json.shape")
def json_nothing_is_null() -> Change:
    """A poll over HTTP that finds no message returns null instead of an empty array."""
    return Effect({"json.polled": _nothing_is_null})


@wrong_value("http.errors", setting("http.error"))
def http_errors_in_capitals(refusal: Refusal) -> Mapping[str, object]:
    """Error codes over HTTP are in capital letters."""
    return {**error_object(refusal), "code": refusal.status.name.upper()}


@missing("http.form", replace_function(exchange, "in_plain_text"))
def http_unfit_taken(unfit: exchange.Unfit) -> exchange.Answer:
    """A malformed HTTP request is answered with status 201 (created)."""
    return exchange.Answer(_CREATED)


def _with_payload(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.payload]


@missing("http.unchecked")
def http_empty_payload_lost() -> Change:
    """A message with an empty payload is accepted over HTTP but never delivered."""
    return {"http.sent": skip_checks, "poll.delivered": _with_payload}


@missing("http.send json.headers-object", replace_function(http_messages, "_headers"))
def http_headers_lost(fields: object) -> None:
    """A message sent over HTTP loses its headers."""
    return


@wrong_value("http.send", around(http_messages, "_read_sent"))
def http_payload_backwards(original: Original, fields: object) -> object:
    """The payload of a message sent over HTTP is stored in reverse order."""
    sent = original(fields)
    assert isinstance(sent, Sent)
    return replace(sent, payload=sent.payload[::-1])


@missing("http.offsets", replace_function(http_messages, "store_offset"))
def http_offset_not_stored(*place: object, **offset: object) -> None:
    """An offset stored over HTTP is not stored, although the answer is a success."""
    return


@wrong_value("http.offsets", around(message_json, "offset_object"))
def http_offset_zero(original: Original, consumer: int, stored: int | None) -> object:
    """A stored offset is 0 over HTTP."""
    return original(consumer, 0)


@condition("json.headers-empty", setting("json.message"))
def json_headers_empty_as_array(message: Message) -> Mapping[str, object]:
    """An empty set of headers is an empty array in JSON instead of an empty object."""
    fields = message_object(message)
    return {**fields, "headers": []} if message.headers == {} else fields


FAULTS = list_faults(__name__)
