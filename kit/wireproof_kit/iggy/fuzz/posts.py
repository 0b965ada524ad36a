"""The messages that an HTTP request must store if accepted, and whether it must be accepted."""

import base64
import binascii
import re
from typing import Final, TypeGuard

from wireproof_kit.fuzz.oracle.http_posts import NO_PROMISE, Promise, first_post
from wireproof_kit.iggy.fuzz.answers import fingerprint_stored
from wireproof_kit.iggy.fuzz.owed import WritableStreams, does_fit, is_first
from wireproof_kit.iggy.wire.http import JSON_TYPE
from wireproof_spec import strict_json
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import kind_code
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import PARTITIONING_NAMES
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

_PATH: Final = re.compile(r"/streams/([a-z0-9_-]+)/topics/([a-z0-9_-]+)/messages")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")
_PARTITIONING: Final = {name: code for code, name in PARTITIONING_NAMES.items()}
_MAY_TELL: Final = frozenset(("id", "payload", "headers"))
_JSON: Final = (JSON_TYPE[0].lower().encode(), JSON_TYPE[1].encode())
_KEY: Final = re.compile(r"[!-~]{1,255}")


def read_promise(there: WritableStreams, data: bytes) -> Promise:
    """Return the messages that a request stores if accepted, and whether it must be accepted.

    The result is empty if the request goes elsewhere, or if servers may differ about its
    destination or messages.
    """
    post = first_post(data)
    path = _PATH.fullmatch(post.path) if post is not None and not post.query else None
    if post is None or path is None:
        return NO_PROMISE
    is_read = there.there.get((_identifier(path[1]), _identifier(path[2])))
    if is_read is None:
        return NO_PROMISE
    try:
        read = strict_json.read(post.body)
        messages = [] if read.faults else _messages(read.value)
    except (WireError, _Differs):
        return NO_PROMISE
    is_usual = post.is_usual((_JSON,)) and _JSON[0] in post.headers
    is_right = bool(messages) and is_usual and all(map(_is_right, messages))
    return Promise(
        tuple(_fingerprint(message) for message in messages) if is_read else (), is_right
    )


def _fingerprint(message: SentMessage) -> bytes:
    return fingerprint_stored(message.id, message.headers, message.payload)


def _is_right(message: SentMessage) -> bool:
    """Return True if every header value is valid for its kind; some servers check this."""
    return all(
        does_fit(header) and _KEY.fullmatch(header.key) and len(header.value) < 256
        for header in message.headers
    )


class _Differs(Exception):
    """Servers may disagree about whether the request is valid."""


def _identifier(part: str) -> Identifier:
    return numeric(int(part)) if _NUMBER.fullmatch(part) else make_named(part)


def _messages(value: JsonValue) -> list[SentMessage]:
    if not _is_object(value) or value.keys() != {"partitioning", "messages"}:
        raise _Differs
    partitioning, messages = value["partitioning"], value["messages"]
    if not isinstance(messages, list) or not is_first(_read_partitioning(partitioning)):
        raise _Differs
    return [_message(message) for message in messages]


def _read_partitioning(value: JsonValue) -> Partitioning:
    if not _is_object(value) or value.keys() != {"kind", "value"}:
        raise _Differs
    kind = value["kind"]
    return Partitioning(
        _PARTITIONING.get(kind, 0) if isinstance(kind, str) else 0, _octets(value["value"])
    )


def _message(value: JsonValue) -> SentMessage:
    if not _is_object(value) or value.keys() - _MAY_TELL:
        raise _Differs
    number, payload = value.get("id", 0), _octets(value.get("payload"))
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 128:
        raise _Differs
    if not payload:
        raise _Differs
    told = value.get("headers")
    told = {} if told is None else told
    if not _is_object(told):
        raise _Differs
    headers = tuple(_header(key, each) for key, each in told.items())
    return SentMessage(number, headers, payload)


def _header(key: str, value: JsonValue) -> Header:
    if not key or not _is_object(value) or value.keys() != {"kind", "value"}:
        raise _Differs
    name, octets = value["kind"], _octets(value["value"])
    kind = kind_code(name) if isinstance(name, str) else None
    if kind is None or not octets:
        raise _Differs
    return Header(key, kind, octets)


def _octets(value: JsonValue) -> bytes:
    """Decode base64 that all readers accept; servers may disagree about any other spelling."""
    try:
        octets = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        raise _Differs from None
    if not isinstance(value, str) or base64.b64encode(octets).decode() != value:
        raise _Differs
    return octets


def _is_object(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict)
