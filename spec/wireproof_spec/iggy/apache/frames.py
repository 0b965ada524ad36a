"""The frames of a connection: 256 bytes of header, then the body, as many bytes as `size` says."""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    EVICTION_COMMAND,
    EVICTION_HEADER,
    HEADER_SIZE,
    REPLY_COMMAND,
    REPLY_HEADER,
    REQUEST_HEADER,
    SIZE_AT,
    EvictionHeader,
    ReplyHeader,
    RequestHeader,
)
from wireproof_spec.stream import NEED_MORE as NEED_MORE
from wireproof_spec.stream import NeedMore as NeedMore
from wireproof_spec.stream import StreamBuffer
from wireproof_spec.wire_error import WireError

MAX_FRAME_SIZE = 64 << 20
"""`message_bus.max_message_size` of the peer; a larger size ends the connection."""
_SIZE_END = SIZE_AT + 4


class Frame(Struct, frozen=True, gc=False):
    """A frame whose header is not decoded yet; `command` says which header it is."""

    head: bytes
    body: bytes

    @property
    def command(self) -> int:
        """The command byte, which says which header the frame has."""
        return self.head[COMMAND_AT]


class Request(Struct, frozen=True, gc=False):
    """A request: its header and its body."""

    header: RequestHeader
    body: bytes


class Reply(Struct, frozen=True, gc=False):
    """A reply: its header and its body."""

    header: ReplyHeader
    body: bytes


class Eviction(Struct, frozen=True, gc=False):
    """An eviction; its body is empty unless the server is wrong."""

    header: EvictionHeader
    body: bytes = b""


Answer: TypeAlias = Reply | Eviction
"""What a server sends to a client."""


def encode_request(request: Request) -> bytes:
    """Return the bytes of a request, with the size of its header as it is."""
    return encode(REQUEST_HEADER, request.header) + request.body


def encode_answer(answer: Answer) -> bytes:
    """Return the bytes of a reply or an eviction, with the size of its header as it is."""
    if isinstance(answer, Reply):
        return encode(REPLY_HEADER, answer.header) + answer.body
    return encode(EVICTION_HEADER, answer.header) + answer.body


def make_request(header: RequestHeader, body: bytes = b"") -> Request:
    """Return a request whose size is that of its header and body."""
    return Request(replace(header, size=HEADER_SIZE + len(body)), body)


def make_reply(header: ReplyHeader, body: bytes = b"") -> Reply:
    """Return a reply whose size is that of its header and body."""
    return Reply(replace(header, size=HEADER_SIZE + len(body)), body)


def decode_request(frame: Frame) -> Request:
    """Return a frame of a client as a request, whatever its command is."""
    return Request(decode(REQUEST_HEADER, frame.head), frame.body)


def decode_answer(frame: Frame) -> Answer:
    """Return a frame of a server as a reply or an eviction.

    Raises:
        WireError: the command is that of neither.
    """
    if frame.command == REPLY_COMMAND:
        return Reply(decode(REPLY_HEADER, frame.head), frame.body)
    if frame.command == EVICTION_COMMAND:
        return Eviction(decode(EVICTION_HEADER, frame.head), frame.body)
    raise WireError(
        clause="iggy.apache.frame.command",
        field="command",
        offset=COMMAND_AT,
        expected=f"{REPLY_COMMAND} (reply) or {EVICTION_COMMAND} (eviction)",
        found=str(frame.command),
    )


class FrameReader(StreamBuffer):
    """Reads frames from a stream that may arrive in pieces of any size."""

    def __init__(self, limit: int = MAX_FRAME_SIZE) -> None:
        """Create a reader; `limit` is the largest size in bytes that a header may declare."""
        super().__init__()
        self.limit = limit

    def next_frame(self) -> Frame | NeedMore:
        """Return the next complete frame, or NEED_MORE.

        Raises:
            WireError: the size is below 256 or over the limit; the offset counts from the start
                of the stream, and the reader does not move.
        """
        if len(self._buffer) < _SIZE_END:
            return NEED_MORE
        size = int.from_bytes(self._buffer[SIZE_AT:_SIZE_END], "little")
        if not HEADER_SIZE <= size <= self.limit:
            raise WireError(
                clause="iggy.apache.frame.size",
                field="size",
                offset=self.offset + SIZE_AT,
                expected=f"{HEADER_SIZE} to {self.limit}",
                found=str(size),
            )
        if len(self._buffer) < size:
            return NEED_MORE
        frame = Frame(bytes(self._buffer[:HEADER_SIZE]), bytes(self._buffer[HEADER_SIZE:size]))
        self._drop(size)
        return frame
