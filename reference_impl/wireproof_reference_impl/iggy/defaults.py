"""Defaults of the behaviour table that change nothing."""

from collections.abc import Sequence

from wireproof_reference_impl.iggy.wire.header import Headers
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_spec.iggy.states import STATES


def no_delay() -> int:
    """Return 0: writes are not delayed."""
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
    """Return True if a message is in one of the published states."""
    return message.state in STATES


def all_messages(messages: list[Message]) -> list[Message]:
    """Keep every message, whatever its state."""
    return messages


def one_piece(data: bytes) -> Sequence[bytes]:
    """Return the data as one piece."""
    return (data,)
