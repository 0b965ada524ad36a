"""Faults of HTTP: accepted and refused requests, errors and answers to polls."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl.iggy.faulty.effect import (
    BINARY,
    JSON,
    boundary,
    condition,
    make_overriding,
    missing,
    wrong_value,
)
from wireproof_reference_impl.iggy.wire import exchange
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.message_json import (
    error_object,
    message_object,
    skip_checks,
)
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.status import Refusal, invalid_command
from wireproof_reference_impl.overrides import replace_function
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
    condition(
        "json-headers-empty-as-array",
        "an empty set of headers is an empty array in JSON instead of an empty object",
        {"json.message": _empty_as_array},
        breaks="json.headers-empty",
        may_break=JSON,
    ),
)
