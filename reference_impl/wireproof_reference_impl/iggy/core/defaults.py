"""What the behaviour table says where nothing else is asked for."""

from base64 import b64encode
from collections.abc import Mapping, Sequence

from wireproof_reference_impl.iggy.core.checks import empty_payload
from wireproof_reference_impl.iggy.core.header import (
    Headers,
    checked_key_length,
    checked_value_length,
)
from wireproof_reference_impl.iggy.core.message import Message, Sent
from wireproof_reference_impl.iggy.core.messages import Polled
from wireproof_reference_impl.iggy.core.status import Refusal
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.states import STATES


def no_delay() -> int:
    """Return that there is nothing to wait for."""
    return 0


def same_number(number: int) -> int:
    """Return what was given."""
    return number


def same_offset(offset: int | None) -> int | None:
    """Return what was given."""
    return offset


def same_text(text: str) -> str:
    """Return what was given."""
    return text


def same_headers(headers: Headers | None) -> Headers | None:
    """Return what was given."""
    return headers


def has_state(message: Message) -> bool:
    """Tell whether a message is in one of the published states."""
    return message.state in STATES


def all_messages(messages: list[Message]) -> list[Message]:
    """Keep every message, whatever its state."""
    return messages


def one_piece(data: bytes) -> Sequence[bytes]:
    """Write everything at once."""
    return (data,)


def state_name(code: int) -> object:
    """Return the name of a state; a code without a name stands for itself."""
    return STATES.get(code, code)


def message_object(message: Message) -> Mapping[str, object]:
    """Return a message as JSON has it, in the published order."""
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
    """Return headers as JSON has them."""
    if headers is None:
        return None
    return {
        key: {"kind": HEADER_KINDS[header.kind], "value": base64_text(header.value)}
        for key, header in headers.items()
    }


def bare_array(found: Polled, messages: Sequence[object]) -> object:
    """Return the messages of a poll, alone."""
    return messages


def offset_object(consumer: int, stored: int | None) -> object:
    """Return how far a consumer has read; one that never said so has read up to 0."""
    return {"consumer_id": consumer, "offset": stored or 0}


def base64_text(data: bytes) -> str:
    """Return bytes as JSON has them."""
    return b64encode(data).decode()


def error_object(refusal: Refusal) -> Mapping[str, object]:
    """Return a refusal as JSON has it."""
    code, name, _ = refusal.status
    return {"id": code, "code": name, "reason": refusal.reason}


def check_as_over_tcp(sent: Sent) -> None:
    """Refuse over HTTP what TCP refuses.

    Raises:
        Refusal: an empty payload, or a header's key or value that is empty or too long.
    """
    if not sent.payload:
        raise empty_payload()
    for key, header in (sent.headers or {}).items():
        checked_key_length(len(key.encode()))
        checked_value_length(len(header.value))


def unchecked(sent: Sent) -> None:
    """Take a message as it is."""
