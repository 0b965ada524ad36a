"""Frames: a size, a type, and what a broker has to say."""

import struct
from typing import ClassVar

from scapy.fields import IntEnumField, IntField, LongField, StrField, StrFixedLenField
from scapy.packet import Packet

from wireproof_kit.nsq.pcap.messages import (
    ExtendedMessage,
    Message,
    PlacedExtendedMessage,
    PlacedMessage,
)
from wireproof_kit.pcap.layer import Enclosing, Layer, Refused, cut

RESPONSE, ERROR, MESSAGE = 0, 1, 2
FRAME_TYPES = {RESPONSE: "response", ERROR: "error", MESSAGE: "message"}
TRACED = 30
"""Bytes of a trace reply: OK, three numbers of 8 bytes, one of 4."""
MOST = 1 << 30
"""Bytes; a frame that says it is longer is none."""


class Response(Layer):
    """A response in words or JSON: OK, CLOSE_WAIT, a heartbeat, what IDENTIFY is answered."""

    name = "NSQ response"
    fields_desc: ClassVar = [StrField("text", b"OK")]


class TraceReply(Layer):
    """The answer to a publish with a trace id."""

    name = "NSQ trace reply"
    fields_desc: ClassVar = [
        StrFixedLenField("ok", b"OK", 2),
        LongField("internal_id", 1),
        LongField("trace_id", 0),
        LongField("queue_offset", 0),
        IntField("raw_size", 0),
    ]


class Error(Layer):
    """An error: a code, a blank, a description."""

    name = "NSQ error"
    fields_desc: ClassVar = [StrField("text", b"E_INVALID ")]


class Frame(Enclosing):
    """A frame; `size` counts the type and what follows it."""

    name = "NSQ frame"
    fields_desc: ClassVar = [IntField("size", None), IntEnumField("frame_type", 0, FRAME_TYPES)]
    message: ClassVar[type[Layer]] = Message

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill the size in where none was given."""
        if self.size is None:
            pkt = struct.pack("!I", 4 + len(pay)) + pkt[4:]
        return pkt + pay

    def enclosed(self) -> int:
        """Return the bytes behind the type."""
        if not 4 <= self.size <= MOST:
            raise Refused(f"size: expected 4 to {MOST}, found {self.size}")
        return int(self.size) - 4

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Name the layer of the data by the frame's type."""
        if self.frame_type == RESPONSE:
            traced = len(payload) == TRACED and payload.startswith(b"OK")
            return TraceReply if traced else Response
        if self.frame_type == ERROR:
            return Error
        if self.frame_type == MESSAGE:
            return self.message
        raise Refused(f"frame_type: expected 0, 1 or 2, found {self.frame_type}")


class ExtendedFrame(Frame):
    """A frame to who subscribed to a topic with extend headers."""

    message = ExtendedMessage


class PlacedFrame(Frame):
    """A frame to who subscribed in order to a plain topic."""

    message = PlacedMessage


class PlacedExtendedFrame(Frame):
    """A frame to who subscribed in order to a topic with extend headers."""

    message = PlacedExtendedMessage


FRAMES: dict[tuple[bool, bool], type[Frame]] = {
    (False, False): Frame,
    (True, False): ExtendedFrame,
    (False, True): PlacedFrame,
    (True, True): PlacedExtendedFrame,
}
"""(with extend headers, in order) → the frame."""


def read_frame(
    data: bytes, *, extended: bool = False, placed: bool = False
) -> tuple[Frame, bytes]:
    """Read one frame; return it and the bytes behind it.

    Raises:
        Refused: size, type or message are none.
        Short: it is not all there.
    """
    return cut(FRAMES[extended, placed], data)
