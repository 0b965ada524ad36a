"""Decodes a client's HTTP requests into the commands and payloads that TCP has for them."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from wireproof_kit.clients.http_requests import HttpRequest
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.apache import json_requests
from wireproof_kit.iggy.clients.events import Asked
from wireproof_spec import json_schema, strict_json
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.header_kinds import kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import CONSUMER_KIND, PARTITIONING_NAMES, STRATEGIES
from wireproof_spec.strict_json import JsonValue, fields_of
from wireproof_spec.wire_error import WireError

CLAUSE = "iggy.client.well-formed"
_PATHS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("",): {"GET": "ping"},
    ("ping",): {"GET": "ping"},
    ("users", "login"): {"POST": "login_user"},
    ("streams",): {"GET": "get_streams", "POST": "create_stream"},
    ("streams", "*"): {"GET": "get_stream", "DELETE": "delete_stream"},
    ("streams", "*", "topics"): {"GET": "get_topics", "POST": "create_topic"},
    ("streams", "*", "topics", "*"): {"GET": "get_topic", "DELETE": "delete_topic"},
    ("streams", "*", "topics", "*", "messages"): {"GET": "poll_messages", "POST": "send_messages"},
    ("streams", "*", "topics", "*", "consumer-offsets"): {
        "GET": "get_consumer_offset",
        "PUT": "store_consumer_offset",
    },
}
_STRATEGY_CODES = {name: code for code, name in STRATEGIES.items()}
_PARTITIONING_CODES = {name: code for code, name in PARTITIONING_NAMES.items()}
_PUBLISHED_MEMBERS = frozenset({"id", "payload", "headers"})
_STREAM_AT, _TOPIC_AT = 1, 3
_CONSUMER = "/id"
"""The consumer that stores an offset: no text says of which type it is in JSON."""
_DIGITS = 10
"""The digits of the greatest number of 32 bits."""


def decode(at: float, conn: str, request: HttpRequest) -> Asked:
    """Return the event for an HTTP request of a client.

    Raises:
        WireError: a parameter or the body does not have its form.
    """
    event, words = decode_head(at, conn, request), _words(request)
    if event.command == "send_messages":
        return _sending(event, words, request.body)
    if event.command == "store_consumer_offset":
        return _with(event, _offset(words, request.body))
    return event


def decode_head(at: float, conn: str, request: HttpRequest) -> Asked:
    """Return what a request asks for, without what its body says.

    Raises:
        WireError: a parameter does not have its form.
    """
    words = _words(request)
    command = _command(request.method, words)
    generation: Generation = (
        "tagged" if "authorization" in request.headers or command == "login_user" else "published"
    )
    event = Asked(at, conn, command, generation, closes=request.closes)
    return _with(event, _poll(words, request.query)) if command == "poll_messages" else event


def _words(request: HttpRequest) -> tuple[str, ...]:
    return tuple(request.path.strip("/").split("/"))


def _command(method: str, words: tuple[str, ...]) -> str:
    for pattern, methods in _PATHS.items():
        fits = len(pattern) == len(words) and all(
            form in ("*", word) for form, word in zip(pattern, words, strict=True)
        )
        if fits and method in methods:
            return methods[method]
    return f"{method} /{'/'.join(words)}"


def _with(
    event: Asked,
    payload: PollMessages | SendMessages | StoreConsumerOffset,
    members: tuple[str, ...] = (),
) -> Asked:
    return replace(event, payload=payload, members=members)


def _poll(words: tuple[str, ...], query: Mapping[str, tuple[str, ...]]) -> PollMessages:
    def number(name: str, default: int, bits: int = 32) -> int:
        return _number(name, query.get(name, (str(default),))[0], bits)

    kind = query.get("kind", ("offset",))[0]
    if kind not in _STRATEGY_CODES:
        raise _unfit("kind", " | ".join(_STRATEGY_CODES), kind)
    return PollMessages(
        consumer=Consumer(CONSUMER_KIND, 0),
        stream=_identifier(words[_STREAM_AT]),
        topic=_identifier(words[_TOPIC_AT]),
        partition_id=number("partition_id", 1),
        strategy=_STRATEGY_CODES[kind],
        value=number("value", 0, 64),
        count=number("count", 10),
        auto_commit=int(query.get("auto_commit", ("false",))[0] == "true"),
    )


def _offset(words: tuple[str, ...], body: bytes) -> StoreConsumerOffset:
    value = _checked("iggy/store-consumer-offset", body)
    return StoreConsumerOffset(
        consumer=Consumer(CONSUMER_KIND, 0),
        stream=_identifier(words[_STREAM_AT]),
        topic=_identifier(words[_TOPIC_AT]),
        partition_id=_number("partition_id", str(value.get("partition_id", 1)), 32),
        offset=_number("offset", str(value.get("offset")), 64),
    )


def _sending(event: Asked, words: tuple[str, ...], body: bytes) -> Asked:
    value, read = strict_json.read(body).value, _message
    messages = _messages_of(value)
    if json_requests.is_apache(messages):
        event, read = replace(event, generation=APACHE), _apache_message
    else:
        value = _fitting("iggy/send-messages", value)
    kind, data = _partitioning(value)
    payload = SendMessages(
        stream=_identifier(words[_STREAM_AT]),
        topic=_identifier(words[_TOPIC_AT]),
        partitioning=Partitioning(_PARTITIONING_CODES[kind], _bytes("partitioning.value", data)),
        messages=tuple(map(read, messages)),
    )
    members = sorted({name for message in messages for name in message} - _PUBLISHED_MEMBERS)
    return _with(event, payload, tuple(members))


def _messages_of(value: JsonValue) -> list[dict[str, JsonValue]]:
    """Return the objects in the member ``messages``; none if it is no array of objects."""
    found = value.get("messages") if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _partitioning(value: JsonValue) -> tuple[str, str]:
    """Return kind and value of the partitioning."""
    how = fields_of(value).get("partitioning")
    kind, data = (how.get("kind"), how.get("value")) if isinstance(how, dict) else (None, None)
    if kind not in _PARTITIONING_CODES or not isinstance(data, str):
        raise _unfit("partitioning", "a kind and base64", repr(how)[:40])
    return str(kind), data


def _apache_message(value: dict[str, JsonValue]) -> SentMessage:
    return json_requests.read_message(value, _bytes)


def _message(value: dict[str, JsonValue]) -> SentMessage:
    headers = cast("dict[str, dict[str, str]] | None", value.get("headers"))
    return SentMessage(
        id=cast(int, value.get("id", 0)),
        headers=tuple(_headers(headers or {})),
        payload=_bytes("payload", str(value["payload"])),
    )


def _headers(headers: Mapping[str, Mapping[str, str]]) -> Iterator[Header]:
    for key, header in headers.items():
        yield Header(key, kind_code(header["kind"]) or 0, _bytes("headers", header["value"]))


def _checked(schema: str, body: bytes) -> dict[str, JsonValue]:
    return _fitting(schema, strict_json.read(body).value)


def _fitting(schema: str, value: JsonValue) -> dict[str, JsonValue]:
    for fault in json_schema.check(schema, value):
        if fault.pointer == _CONSUMER:
            continue
        raise _unfit(fault.pointer.strip("/") or "body", fault.expected, fault.found)
    return fields_of(value)


def _identifier(word: str) -> Identifier:
    """Return the identifier in a path; as at real servers, more than 32 bits are a name."""
    is_number = word.isdecimal() and len(word) <= _DIGITS and int(word) < 1 << 32
    return numeric(int(word)) if is_number else make_named(word)


def _number(name: str, text: str, bits: int) -> int:
    if not text.isdecimal() or len(text) > 2 * _DIGITS or int(text) >= 1 << bits:
        raise _unfit(name, f"an integer of {bits} bits without sign", text)
    return int(text)


def _bytes(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _unfit(name, "base64", text[:40]) from None


def _unfit(name: str, expected: str, found: str) -> WireError:
    return WireError(clause=CLAUSE, field=name, offset=0, expected=expected, found=found)
