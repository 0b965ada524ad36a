"""Responses: a status, a length, and the body for the request."""

from typing import ClassVar

from scapy.fields import (
    ByteEnumField,
    FieldLenField,
    LEIntField,
    LELongField,
    XLEIntField,
)
from scapy.packet import Packet, Raw

from wireproof_kit.iggy.pcap.messages import Polled
from wireproof_kit.iggy.pcap.parts import Single, text
from wireproof_kit.pcap.layer import (
    Enclosing,
    Inner,
    Layer,
    Layers,
    LayerViolation,
    cut,
    decode_filling,
)

TRANSPORTS = {1: "tcp", 2: "quic"}


class Stats(Layer):
    """Scapy layer of the response body to get_stats."""

    name = "Iggy stats"
    fields_desc: ClassVar = [
        LEIntField("process_id", 0),
        Single("cpu_usage"),
        LELongField("memory_usage", 0),
        LELongField("total_memory", 0),
        LELongField("available_memory", 0),
        LELongField("run_time", 0),
        LELongField("start_time", 0),
        LELongField("read_bytes", 0),
        LELongField("written_bytes", 0),
        LELongField("messages_size_bytes", 0),
        LEIntField("streams_count", 0),
        LEIntField("topics_count", 0),
        LEIntField("partitions_count", 0),
        LEIntField("segments_count", 0),
        LELongField("messages_count", 0),
        LEIntField("clients_count", 0),
        LEIntField("consumer_groups_count", 0),
        *text("hostname"),
        *text("os_name"),
        *text("os_version"),
        *text("kernel_version"),
    ]


class Membership(Layer):
    """Scapy layer of one consumer group that a client is a member of."""

    name = "Iggy membership"
    fields_desc: ClassVar = [
        LEIntField("consumer_group_id", 0),
        LEIntField("topic_id", 0),
        LEIntField("stream_id", 0),
    ]


_CLIENT = (
    XLEIntField("client_id", 0),
    ByteEnumField("transport", 1, TRANSPORTS),
    *text("address"),
)


class Client(Layer):
    """Scapy layer of the response body to get_me and get_client."""

    name = "Iggy client"
    fields_desc: ClassVar = [
        *_CLIENT,
        FieldLenField("groups_count", None, count_of="groups", fmt="<I"),
        Layers("groups", Membership, count_from=lambda pkt: pkt.groups_count),
    ]


class ClientInList(Layer):
    """Scapy layer of one client in a list: it has the number of the client's groups only."""

    name = "Iggy client in a list"
    fields_desc: ClassVar = [*_CLIENT, LEIntField("groups_count", 0)]


class Clients(Layer):
    """Scapy layer of the response body to get_clients."""

    name = "Iggy clients"
    fields_desc: ClassVar = [Layers("clients", ClientInList)]


class Offset(Layer):
    """Scapy layer of the response body to get_consumer_offset."""

    name = "Iggy consumer offset"
    fields_desc: ClassVar = [LEIntField("consumer_id", 0), LELongField("offset", 0)]


class Stream(Layer):
    """Scapy layer of one stream's description in a response."""

    name = "Iggy stream"
    fields_desc: ClassVar = [
        LEIntField("id", 0),
        LEIntField("topics_count", 0),
        LELongField("size_bytes", 0),
        LELongField("messages_count", 0),
        *text("stream_name"),
    ]


class Topic(Layer):
    """Scapy layer of one topic's description in a response."""

    name = "Iggy topic"
    fields_desc: ClassVar = [
        LEIntField("id", 0),
        LEIntField("partitions_count", 0),
        LELongField("size_bytes", 0),
        LELongField("messages_count", 0),
        *text("topic_name"),
    ]


class Partition(Layer):
    """Scapy layer of one partition's description in a response."""

    name = "Iggy partition"
    fields_desc: ClassVar = [
        LEIntField("id", 0),
        LEIntField("segments_count", 0),
        LELongField("current_offset", 0),
        LELongField("size_bytes", 0),
        LELongField("messages_count", 0),
    ]


class StreamDetails(Layer):
    """Scapy layer of the response body to get_stream: the stream and its topics."""

    name = "Iggy stream details"
    fields_desc: ClassVar = [Inner("stream", Stream), Layers("topics", Topic)]


class Streams(Layer):
    """Scapy layer of the response body to get_streams."""

    name = "Iggy streams"
    fields_desc: ClassVar = [Layers("streams", Stream)]


class TopicDetails(Layer):
    """Scapy layer of the response body to get_topic: the topic and its partitions."""

    name = "Iggy topic details"
    fields_desc: ClassVar = [Inner("topic", Topic), Layers("partitions", Partition)]


class Topics(Layer):
    """Scapy layer of the response body to get_topics."""

    name = "Iggy topics"
    fields_desc: ClassVar = [Layers("topics", Topic)]


class Group(Layer):
    """Scapy layer of one consumer group's description in a response."""

    name = "Iggy consumer group"
    fields_desc: ClassVar = [
        LEIntField("id", 0),
        LEIntField("partitions_count", 0),
        LEIntField("members_count", 0),
    ]


class Number(Layer):
    """Scapy layer of one partition number in a group member's list."""

    name = "Iggy partition number"
    fields_desc: ClassVar = [LEIntField("number", 0)]


class Member(Layer):
    """Scapy layer of a consumer group's member, and the partitions that it polls."""

    name = "Iggy member"
    fields_desc: ClassVar = [
        XLEIntField("id", 0),
        FieldLenField("partitions_count", None, count_of="partitions", fmt="<I"),
        Layers("partitions", Number, count_from=lambda pkt: pkt.partitions_count),
    ]


class GroupDetails(Layer):
    """Scapy layer of the response body to get_consumer_group."""

    name = "Iggy consumer group details"
    fields_desc: ClassVar = [Inner("group", Group), Layers("members", Member)]


class Groups(Layer):
    """Scapy layer of the response body to get_consumer_groups."""

    name = "Iggy consumer groups"
    fields_desc: ClassVar = [Layers("groups", Group)]


BODIES: dict[int, type[Layer]] = {
    10: Stats,
    20: Client,
    21: Client,
    22: Clients,
    100: Polled,
    120: Offset,
    200: StreamDetails,
    201: Streams,
    300: TopicDetails,
    301: Topics,
    600: GroupDetails,
    601: Groups,
}
"""Command code → the layer of the response body; other commands are answered without a body."""


class Response(Enclosing):
    """Scapy layer of a response; `length` counts the body alone."""

    name = "Iggy response"
    fields_desc: ClassVar = [LEIntField("status", 0), LEIntField("length", None)]
    measure = "length"

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Leave the body undecoded; `read_response` knows the body's layer from the request."""
        return Raw


def read_response(
    data: bytes, code: int, *, body: type[Layer] | None = None
) -> tuple[Response, bytes]:
    """Decode one response to a request with this code; return it and the bytes after it.

    ``body`` is the layer of its body if another server's layout is expected.

    Raises:
        LayerViolation: the body does not fit the request.
        Short: the response is incomplete.
    """
    response, behind = cut(Response, data)
    kind = body or BODIES.get(code)
    if response.status == 0 and kind is not None:
        content = bytes(response.payload)
        response.remove_payload()
        response.add_payload(decode_filling(kind, content))
    elif response.length:
        raise LayerViolation(f"body: expected none, found {response.length} bytes")
    return response, behind
