"""Frames: length u32 and code u32 in requests, status u32 and length u32 in answers."""

import struct

from wireproof_reference_impl.iggy.core.status import INVALID_COMMAND, Refusal

LENGTH_BYTES = 4
CODE_BYTES = 4

_HEAD = struct.Struct("<II")


def response(status: int, body: bytes) -> bytes:
    """Return an answer; the length counts the body only."""
    return _HEAD.pack(status, len(body)) + body


def ends(refusal: Refusal) -> Refusal | None:
    """Say nothing about a frame that cannot be read: the connection ends."""
    return None


def refused(refusal: Refusal) -> Refusal | None:
    """Answer a frame that cannot be read, and go on."""
    if refusal.status.code == INVALID_COMMAND.code:
        return refusal
    return Refusal(INVALID_COMMAND, refusal.reason)
