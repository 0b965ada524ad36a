"""Frames: length u32 and code u32 in requests, status u32 and length u32 in answers."""

import struct

from wireproof_reference_impl.iggy.wire.status import (
    EMPTY_MESSAGE_PAYLOAD,
    INVALID_COMMAND,
    INVALID_HEADER_KEY,
    INVALID_HEADER_VALUE,
    Refusal,
    invalid_command,
)

LENGTH_BYTES = 4
CODE_BYTES = 4

_UNREADABLE = (INVALID_COMMAND, INVALID_HEADER_KEY, INVALID_HEADER_VALUE, EMPTY_MESSAGE_PAYLOAD)

_HEAD = struct.Struct("<II")


def response(status: int, body: bytes) -> bytes:
    """Return the bytes of a response frame; its length counts the body only."""
    return _HEAD.pack(status, len(body)) + body


def ends(refusal: Refusal) -> Refusal | None:
    """Return None: a frame that cannot be read ends the connection without an answer."""
    return None


def answer_refusal(refusal: Refusal) -> Refusal | None:
    """Return the refusal with which a frame that cannot be read is answered.

    The connection stays open. Malformed fields share one status; well-formed fields with bad
    values have their own.
    """
    return invalid_command() if refusal.status in _UNREADABLE else refusal
