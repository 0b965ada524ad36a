"""Layers of Apache Iggy with headers of 256 bytes, protocol 0.11.

Written from the six pages "Binary Protocol" and from what a real server was seen to send.
"""

from typing import ClassVar, TypeVar

from scapy.fields import (
    ByteEnumField,
    ByteField,
    LEIntField,
    LELongField,
)
from scapy.packet import Packet, Raw

from wireproof_kit.iggy.pcap.apache_bodies import ANSWERS, READ_ANSWERS, READS, REQUESTS, zeros
from wireproof_kit.iggy.pcap.parts import Wide
from wireproof_kit.pcap.layer import (
    Enclosing,
    Layer,
    LayerViolation,
    cut,
    decode_filling,
    expect,
)

F = TypeVar("F", bound=Layer)

HEADER_SIZE = 256
OPERATIONS = {
    1: "register",
    2: "non_replicated",
    3: "logout",
    128: "create_stream",
    130: "delete_stream",
    132: "create_topic",
    134: "delete_topic",
    139: "create_consumer_group",
    140: "delete_consumer_group",
    148: "join_consumer_group",
    149: "leave_consumer_group",
    160: "send_messages",
    161: "store_consumer_offset",
    162: "delete_consumer_offset",
}


_FRONT = (
    Wide("checksum", 0),
    Wide("checksum_body", 0),
    Wide("cluster", 0),
    LEIntField("size", None),
    LEIntField("view", 0),
    LEIntField("release", 0),
)


class _Framed(Enclosing):
    measure, counted = "size", HEADER_SIZE

    def pre_dissect(self, s: bytes) -> bytes:
        """Reject a size without room for the header before the rest of it is there."""
        size = int.from_bytes(s[48:52], "little")
        if len(s) >= 52 and size < HEADER_SIZE:
            raise LayerViolation(f"size: expected {HEADER_SIZE} or more, found {size}")
        return s

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Leave the body undecoded: `read_request` and `read_reply` know its layer."""
        return Raw


class Request(_Framed):
    """Scapy layer of the header of a request."""

    name = "Iggy request (256 bytes)"
    fields_desc: ClassVar = [
        *_FRONT,
        ByteField("frame_command", 5),
        ByteField("replica", 0),
        zeros("reserved_front", 66),
        Wide("client", 1),
        Wide("request_checksum", 0),
        LELongField("timestamp", 0),
        LELongField("request", 1),
        ByteEnumField("operation", 2, OPERATIONS),
        zeros("padding", 7),
        LELongField("session", 1),
        LEIntField("user_id", 0),
        LEIntField("code", 0),
        zeros("reserved", 56),
    ]


class Reply(_Framed):
    """Scapy layer of the header of a reply."""

    name = "Iggy reply (256 bytes)"
    fields_desc: ClassVar = [
        *_FRONT,
        ByteField("frame_command", 8),
        ByteField("replica", 0),
        zeros("reserved_front", 66),
        Wide("request_checksum", 0),
        Wide("context", 0),
        Wide("client", 1),
        LELongField("op", 0),
        LELongField("commit", 0),
        LELongField("timestamp", 0),
        LELongField("request", 1),
        ByteEnumField("operation", 2, OPERATIONS),
        zeros("padding", 7),
        LEIntField("status", 0),
        zeros("reserved", 36),
    ]


class Eviction(_Framed):
    """Scapy layer of an eviction."""

    name = "Iggy eviction (256 bytes)"
    fields_desc: ClassVar = [
        *_FRONT,
        ByteField("frame_command", 13),
        ByteField("replica", 0),
        zeros("reserved_front", 66),
        Wide("client", 1),
        LEIntField("server_protocol_version", 0),
        LEIntField("server_protocol_version_min", 0),
        zeros("reserved", 103),
        ByteField("reason", 1),
    ]


def read_request(data: bytes) -> tuple[Request, bytes]:
    """Decode one request; return it and the bytes after it.

    Raises:
        LayerViolation: the command is not that of a request, or the body is not what it asks for.
        Short: the frame is incomplete.
    """
    request, behind = cut(Request, data)
    expect("command", "5", request.frame_command, holds=request.frame_command == 5)
    kind = (READS if request.operation == 2 else REQUESTS).get(
        request.code if request.operation == 2 else request.operation
    )
    if kind is None:
        raise LayerViolation(f"operation: expected one that is known, found {request.operation}")
    return _fill(request, kind), behind


def read_reply(data: bytes, code: int = 0) -> tuple[Reply | Eviction, bytes]:
    """Decode one reply, to a read with this code or to an operation, or an eviction.

    Raises:
        LayerViolation: it is neither, or its body is not what it answers.
        Short: the frame is incomplete.
    """
    if len(data) > 60 and data[60] == 13:
        return cut(Eviction, data)
    reply, behind = cut(Reply, data)
    expect("command", "8 or 13", reply.frame_command, holds=reply.frame_command == 8)
    kind = READ_ANSWERS.get(code) if reply.operation == 2 else ANSWERS.get(reply.operation)
    if reply.status or kind is None or reply.size == HEADER_SIZE:
        return reply, behind
    return _fill(reply, kind), behind


def _fill(frame: F, kind: type[Layer]) -> F:
    content = bytes(frame.payload)
    frame.remove_payload()
    frame.add_payload(decode_filling(kind, content))
    return frame
