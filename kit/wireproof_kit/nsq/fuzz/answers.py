"""A fast reader of frames from a broker, and fingerprints of stored messages."""

import re
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

from wireproof_kit.fuzz.driver import Answer
from wireproof_kit.nsq.fuzz.documents import canonical_header
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    response_frame,
)
from wireproof_spec.nsq.names import CLOSE_WAIT, HEARTBEAT, NOP, OK

OK_KIND: Final = "OK"
TRACE: Final = "trace response"
JSON: Final = "JSON response"
CLOSING: Final = "CLOSE_WAIT"
BEAT: Final = "heartbeat"
MESSAGE: Final = "message"
OTHER: Final = "unknown response"
STRANGE: Final = "unknown error"

ERRORS: Final = frozenset(
    value for name, value in vars(error_codes).items() if name.isupper() and isinstance(value, str)
)
"""All error codes, in error frames and over HTTP."""

LARGEST: Final = 16 * 1024 * 1024
"""The most bytes of a frame that any broker sends."""

_SHORT = 200
"""The most bytes of a frame that is remembered, since it probably comes often."""
_HEAD = Struct(">II")
_HEAD_SIZE = 8
_TRACE_SIZE = 30
_OK_FRAME = response_frame(OK)
_OK = Answer(OK_KIND, _OK_FRAME)
_RESPONSES = {OK: OK_KIND, CLOSE_WAIT: CLOSING, HEARTBEAT: BEAT}
_CODE = re.compile(rb"[A-Z_]+")


class FrameReader:
    """Splits the bytes received from a broker into frames."""

    def __init__(self) -> None:
        self.fault = ""
        self.pending: bytes = b""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Add received bytes; return the frames that are complete now."""
        if self.fault or not data:
            return ()
        if self.pending:
            data = self.pending + data
        found: list[Answer] = []
        at, end = 0, len(data)
        while end - at >= _HEAD_SIZE:
            if data.startswith(_OK_FRAME, at):
                found.append(_OK)
                at += len(_OK_FRAME)
                continue
            size, frame_type = _HEAD.unpack_from(data, at)
            if not 4 <= size <= LARGEST or frame_type > FRAME_TYPE_MESSAGE:
                self.fault = f"size {size} and type {frame_type} begin no frame"
                break
            if end - at < 4 + size:
                break
            frame = data[at : at + 4 + size]
            is_common = size <= _SHORT and frame_type != FRAME_TYPE_MESSAGE
            read = _short_answer if is_common else _answer
            found.append(read(frame_type, frame))
            at += 4 + size
        self.pending = data[at:]
        return found


def _answer(frame_type: int, frame: bytes) -> Answer:
    data = frame[_HEAD_SIZE:]
    if frame_type == FRAME_TYPE_MESSAGE:
        return Answer(MESSAGE, frame)
    if frame_type == FRAME_TYPE_ERROR:
        return Answer(_error(data), frame)
    assert frame_type == FRAME_TYPE_RESPONSE, "the reader lets no other pass"
    kind = _RESPONSES.get(data)
    if kind is None and len(data) == _TRACE_SIZE and data.startswith(OK):
        kind = TRACE
    if kind is None and data.startswith(b"{"):
        kind = JSON
    return Answer(kind or OTHER, frame)


_short_answer = lru_cache(maxsize=1024)(_answer)


def _error(data: bytes) -> str:
    if data == error_codes.TOO_MANY_CONNECTIONS.encode():
        return error_codes.TOO_MANY_CONNECTIONS
    found = _CODE.match(data)
    code = found[0].decode() if found else ""
    return code if code in ERRORS else STRANGE


_MESSAGE_HEAD = Struct(">qHQQ")
HEADER_LENGTH_SIZE: Final = 4
"""Bytes of the header's length at the start of a message's fingerprint."""
_ANY_LENGTH: Final = b"\xff" * HEADER_LENGTH_SIZE
_ID = slice(_HEAD_SIZE + 10, _HEAD_SIZE + 26)


def message_id(frame: bytes) -> bytes:
    """Return the id in the data of a message frame, for FIN, REQ or TOUCH."""
    return frame[_ID]


def fingerprint_stored(header: bytes, body: bytes) -> bytes:
    """Return the bytes that identify a stored message: its JSON header, if any, and its body."""
    header = canonical_header(header)
    return len(header).to_bytes(HEADER_LENGTH_SIZE) + header + body


def read_body(stored: bytes) -> bytes:
    """Return the body in the bytes that identify a stored message."""
    length, rest = stored[:HEADER_LENGTH_SIZE], stored[HEADER_LENGTH_SIZE:]
    return rest if length == _ANY_LENGTH else rest[int.from_bytes(length) :]


def any_header(body: bytes) -> bytes:
    """Return the bytes that identify a message whose broker may write its header differently."""
    return _ANY_LENGTH + body


def list_fingerprints(frame: bytes, *, extend: bool) -> tuple[bytes, ...]:
    """Return the bytes that may identify a delivered message; none when the frame is malformed.

    There are several, since deployed brokers write version 0 without a length, published ones with
    it.
    """
    at = _HEAD_SIZE + _MESSAGE_HEAD.size
    if len(frame) < at:
        return ()
    if not extend:
        return (fingerprint_stored(b"", frame[at:]),)
    if len(frame) == at:
        return ()
    read = [(b"", frame[at + 1 :])] if frame[at] == 0 else []
    read += _with_length(frame, at + 1)
    return (*(fingerprint_stored(*each) for each in read), *(any_header(body) for _, body in read))


def _with_length(frame: bytes, at: int) -> list[tuple[bytes, bytes]]:
    end = at + 2 + int.from_bytes(frame[at : at + 2])
    return [(frame[at + 2 : end], frame[end:])] if end <= len(frame) else []


class _UnrequestedHandler:
    """Handles unrequested frames: answers heartbeats, and treats messages as expected."""

    def is_pushed(self, kind: str) -> bool:
        return kind == BEAT

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        return NOP + b"\n"


ATTENTIVE: Final = _UnrequestedHandler()
