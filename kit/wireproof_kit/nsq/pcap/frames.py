"""Frames: a size, a type, and what a broker has to say."""

from typing import ClassVar

from scapy.fields import IntEnumField, IntField, LongField, StrField
from scapy.packet import Packet

from wireproof_kit.nsq.pcap.messages import Message
from wireproof_kit.pcap.layer import Always, Enclosing, Layer, cut, decode_filling

RESPONSE, ERROR, MESSAGE = 0, 1, 2
FRAME_TYPES = {RESPONSE: "response", ERROR: "error", MESSAGE: "message"}
TRACED = 30
"""Bytes of the response to a traced publish: OK, three numbers of 8 bytes, one of 4."""


class Response(Layer):
    """Scapy layer of a response in words or JSON, such as OK, a heartbeat, or IDENTIFY's."""

    name = "NSQ response"
    fields_desc: ClassVar = [StrField("text", b"OK")]


class TraceReply(Layer):
    """Scapy layer of the response to a publish with a trace id."""

    name = "NSQ trace reply"
    fields_desc: ClassVar = [
        Always("ok", b"OK"),
        LongField("internal_id", 1),
        LongField("trace_id", 0),
        LongField("disk_queue_offset", 0),
        IntField("disk_queue_data_size", 0),
    ]


class Error(Layer):
    """Scapy layer of an error: a code, a space, a description."""

    name = "NSQ error"
    fields_desc: ClassVar = [StrField("text", b"E_INVALID ")]


class Unknown(Layer):
    """Scapy layer of data that is not decoded, such as that of a frame of unknown type."""

    name = "NSQ data"
    fields_desc: ClassVar = [StrField("data", b"")]


class Frame(Enclosing):
    """Scapy layer of a frame; `size` counts the type and what follows it."""

    name = "NSQ frame"
    fields_desc: ClassVar = [IntField("size", None), IntEnumField("frame_type", 0, FRAME_TYPES)]
    measure, counted = "size", 4

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the layer of the frame's data, by the frame's type."""
        if self.frame_type == RESPONSE:
            traced = len(payload) == TRACED and payload.startswith(b"OK")
            return TraceReply if traced else Response
        if self.frame_type == ERROR:
            return Error
        return Unknown


def read_frame(data: bytes, message: type[Layer] = Message) -> tuple[Frame, bytes]:
    """Decode one frame; return it and the bytes after it.

    ``message`` is the layer of messages, which depends on the subscription.

    Raises:
        LayerViolation: the size or the message is invalid.
        Short: the frame is incomplete.
    """
    frame, behind = cut(Frame, data)
    if frame.frame_type == MESSAGE:
        content = bytes(frame.payload)
        frame.remove_payload()
        frame.add_payload(decode_filling(message, content))
    return frame, behind
