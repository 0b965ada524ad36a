"""What a server reports about itself and its clients; about itself only published ones."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import (
    Field,
    Float32l,
    Int8ub,
    Int32ul,
    Int64ul,
    Record,
    Shape,
    field,
)
from wireproof_spec.grammar.lengths import Count, Each, Many
from wireproof_spec.iggy.bodies.text_fields import long_text


class Stats(Struct, frozen=True, gc=False):
    """A response with figures of the server's process and data: bytes, `run_time` in seconds."""

    process_id: int
    cpu_usage: float
    memory_usage: int
    total_memory: int
    available_memory: int
    run_time: int
    start_time: int
    read_bytes: int
    written_bytes: int
    messages_size_bytes: int
    streams_count: int
    topics_count: int
    partitions_count: int
    segments_count: int
    messages_count: int
    clients_count: int
    consumer_groups_count: int
    hostname: str
    os_name: str
    os_version: str
    kernel_version: str


class ClientRequest(Struct, frozen=True, gc=False):
    """The payload of a request for one client connection; no client has id 0."""

    client_id: int


class Client(Struct, frozen=True, gc=False):
    """A client connection in a response; `published` servers use the CRC-32 of its address as id.

    `user_id` is the user who logged in, 0 for none; it is None from `published` servers.
    """

    client_id: int
    user_id: int | None
    transport: int
    address: str
    groups_count: int


class Clients(Struct, frozen=True, gc=False):
    """The response that lists all client connections; the list has no count."""

    clients: tuple[Client, ...]


class ClientGroup(Struct, frozen=True, gc=False):
    """A consumer group that a client connection has joined: ids of group, topic and stream."""

    group_id: int
    topic_id: int
    stream_id: int


class ClientDetails(Struct, frozen=True, gc=False):
    """The response that describes one `Client` and the consumer groups it has joined."""

    client_id: int
    user_id: int | None
    transport: int
    address: str
    groups: tuple[ClientGroup, ...]


_COUNTS = (
    field("memory_usage", Int64ul),
    field("total_memory", Int64ul),
    field("available_memory", Int64ul),
    field("run_time", Int64ul),
    field("start_time", Int64ul),
    field("read_bytes", Int64ul),
    field("written_bytes", Int64ul),
    field("messages_size_bytes", Int64ul),
    field("streams_count", Int32ul),
    field("topics_count", Int32ul),
    field("partitions_count", Int32ul),
    field("segments_count", Int32ul),
    field("messages_count", Int64ul),
    field("clients_count", Int32ul),
    field("consumer_groups_count", Int32ul),
)

STATS = Schema(
    "stats",
    "iggy.frame.resources",
    Stats,
    Record(
        Stats,
        field("process_id", Int32ul),
        field("cpu_usage", Float32l),
        *_COUNTS,
        *long_text("hostname"),
        *long_text("os_name"),
        *long_text("os_version"),
        *long_text("kernel_version"),
    ),
)
"""104 bytes of numbers, then four texts behind their 4-byte lengths."""

CLIENT_REQUEST = Schema(
    "client request",
    "iggy.frame.resources",
    ClientRequest,
    Record(ClientRequest, field("client_id", Int32ul)),
)
"""4-byte `client_id`."""


def _client(*groups: Field, value_type: type, only_tagged: tuple[Field, ...] = ()) -> Record:
    return Record(
        value_type,
        field("client_id", Int32ul),
        *only_tagged,
        field("transport", Int8ub),
        *long_text("address"),
        *groups,
    )


_USER = (field("user_id", Int32ul),)
_GROUPS_COUNT = field("groups_count", Int32ul)

CLIENT = Schema(
    "client",
    "iggy.frame.resources",
    Client,
    _client(_GROUPS_COUNT, value_type=Client),
)
"""4-byte `client_id`, 1-byte `transport` (1 TCP, 2 QUIC), 4-byte `address_length`, `address`,
4-byte `groups_count`."""
CLIENT_TAGGED = Schema(
    "client, tagged",
    "iggy.frame.resources",
    Client,
    _client(_GROUPS_COUNT, value_type=Client, only_tagged=_USER),
)
"""The same, with a 4-byte `user_id` behind `client_id`."""

CLIENT_GROUP = Schema(
    "client group",
    "iggy.frame.resources",
    ClientGroup,
    Record(
        ClientGroup,
        field("group_id", Int32ul),
        field("topic_id", Int32ul),
        field("stream_id", Int32ul),
    ),
)
"""`group_id`, `topic_id`, `stream_id`, 4 bytes each."""
CLIENT_GROUP_TAGGED = Schema(
    "client group, tagged",
    "iggy.frame.resources",
    ClientGroup,
    Record(
        ClientGroup,
        field("stream_id", Int32ul),
        field("topic_id", Int32ul),
        field("group_id", Int32ul),
    ),
)
"""`stream_id`, `topic_id`, `group_id`, 4 bytes each."""

CLIENTS = Schema(
    "clients",
    "iggy.frame.resources",
    Clients,
    Record(Clients, field("clients", Each(CLIENT.shape))),
)
"""Clients one after the other, without their groups."""
CLIENTS_TAGGED = Schema(
    "clients, tagged",
    "iggy.frame.resources",
    Clients,
    Record(Clients, field("clients", Each(CLIENT_TAGGED.shape))),
)
"""The same of tagged clients."""


def _details(group: Shape, *only_tagged: Field) -> Record:
    return _client(
        field("groups_count", Count(Int32ul, of="groups")),
        field("groups", Many(group, count=this.groups_count)),
        value_type=ClientDetails,
        only_tagged=only_tagged,
    )


CLIENT_DETAILS = Schema(
    "client details", "iggy.frame.resources", ClientDetails, _details(CLIENT_GROUP.shape)
)
"""A client, then as many groups as it says."""
CLIENT_DETAILS_TAGGED = Schema(
    "client details, tagged",
    "iggy.frame.resources",
    ClientDetails,
    _details(CLIENT_GROUP_TAGGED.shape, *_USER),
)
"""The same of a tagged client."""
