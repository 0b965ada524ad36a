"""The server frame, the only kind of data that a broker sends."""

from msgspec import Struct

from wireproof_spec.decoding import Schema, encode
from wireproof_spec.grammar.layout import Int32ub, Record, Rest, field
from wireproof_spec.grammar.lengths import Sized
from wireproof_spec.stream import NEED_MORE as NEED_MORE
from wireproof_spec.stream import NeedMore as NeedMore
from wireproof_spec.stream import SizedReader

FRAME_TYPE_RESPONSE = 0
FRAME_TYPE_ERROR = 1
FRAME_TYPE_MESSAGE = 2


class ServerFrame(Struct, frozen=True, gc=False):
    """A frame from the broker; every 32-bit `frame_type` decodes, but only three are known."""

    frame_type: int
    data: bytes


SERVER_FRAME = Schema(
    "server frame",
    "smart.connection.frame",
    ServerFrame,
    Sized(Int32ub, Record(ServerFrame, field("frame_type", Int32ub), field("data", Rest))),
)
"""`size` (4 + data), `frame_type`, `data`."""


class FrameReader(SizedReader[ServerFrame]):
    """Decodes frames from a broker's stream that may arrive in pieces of any size."""

    def __init__(self, limit: int) -> None:
        """Create a reader; `limit` is the largest size in bytes that a frame may declare."""
        super().__init__(SERVER_FRAME, limit)

    def next_frame(self) -> ServerFrame | NeedMore:
        """Return the next complete frame, or NEED_MORE.

        Raises:
            WireError: the size is below 4 or over the limit; the offset counts from the
                start of the stream.
        """
        return self.next()


def response_frame(data: bytes) -> bytes:
    """Return the bytes of a response frame."""
    return encode(SERVER_FRAME, ServerFrame(FRAME_TYPE_RESPONSE, data))


def message_frame(data: bytes) -> bytes:
    """Return the bytes of a message frame; `data` is an encoded message."""
    return encode(SERVER_FRAME, ServerFrame(FRAME_TYPE_MESSAGE, data))


def error_frame(code: str, description: str = "") -> bytes:
    """Return the bytes of an error frame; without a description the space after the code stays."""
    return encode(SERVER_FRAME, ServerFrame(FRAME_TYPE_ERROR, f"{code} {description}".encode()))


def error_code(data: bytes) -> str:
    """Return the code in an error frame's data: its first word."""
    return data.split(b" ", 1)[0].decode("utf-8", "replace")
