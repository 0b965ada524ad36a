"""Defaults of the behaviour table that change nothing."""

from collections.abc import Sequence

from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_spec.iggy.states import STATES


def no_delay() -> int:
    """Return 0: writes are not delayed."""
    return 0


def same_number(number: int) -> int:
    """Return the number unchanged."""
    return number


def same_offset(offset: int | None) -> int | None:
    """Return the offset unchanged."""
    return offset


def same_text(text: str) -> str:
    """Return the text unchanged."""
    return text


def same_headers(headers: Headers | None) -> Headers | None:
    """Return the headers unchanged."""
    return headers


def has_state(message: Message) -> bool:
    """Return True if the state of a message is one of the published states."""
    return message.state in STATES


def all_messages(messages: list[Message]) -> list[Message]:
    """Return all messages unchanged, in whatever state."""
    return messages


def one_piece(data: bytes) -> Sequence[bytes]:
    """Return the data as one piece."""
    return (data,)
