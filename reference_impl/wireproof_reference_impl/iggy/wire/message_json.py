"""Messages, offsets and refusals in JSON, as the published text has them."""

from base64 import b64encode
from collections.abc import Mapping

from wireproof_reference_impl.iggy.wire.checks import empty_payload
from wireproof_reference_impl.iggy.wire.header import (
    Headers,
    checked_key_length,
    checked_value_length,
)
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.polled import StoredOffset
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.states import STATES


def state_name(code: int) -> object:
    """Return the name of a message state, or its code if it has no name."""
    return STATES.get(code, code)


def message_object(message: Message) -> Mapping[str, object]:
    """Return a message as a JSON value, its members in the published order."""
    return {
        "offset": message.offset,
        "state": state_name(message.state),
        "timestamp": message.timestamp,
        "id": message.id,
        "checksum": message.checksum,
        "headers": headers_object(message.headers),
        "payload": base64_text(message.payload),
    }


def headers_object(headers: Headers | None) -> Mapping[str, object] | None:
    """Return the headers of a message as a JSON value."""
    if headers is None:
        return None
    return {
        key: {"kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
        for key, header in headers.items()
    }


def offset_object(consumer: int, stored: int | None) -> object:
    """Return the stored offset of a consumer as a JSON value; 0 if none was stored."""
    return {"consumer_id": consumer, "offset": stored or 0}


def short_offset(found: StoredOffset) -> object:
    """Return the JSON of a stored offset as the server of document 002 writes it."""
    return offset_object(found.consumer, found.stored)


def base64_text(data: bytes) -> str:
    """Return bytes as base64 text, for JSON."""
    return b64encode(data).decode()


def error_object(refusal: Refusal) -> Mapping[str, object]:
    """Return a refusal as the JSON object of an error response."""
    code, name, _ = refusal.status
    return {"id": code, "code": name, "reason": refusal.reason}


def check_as_over_tcp(sent: Sent) -> None:
    """Check a message sent over HTTP by the rules of TCP.

    Raises:
        Refusal: an empty payload, or a header's key or value that is empty or too long.
    """
    if not sent.payload:
        raise empty_payload()
    for key, header in (sent.headers or {}).items():
        checked_key_length(len(key.encode()))
        checked_value_length(len(header.value))


def skip_checks(sent: Sent) -> None:
    """Accept every message sent over HTTP."""
