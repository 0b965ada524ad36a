"""What a server answers about its cluster: real clients ask after each login, and to commit."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int8ub, Int16ul, Int32ul, Record, field
from wireproof_spec.grammar.lengths import Count, Many
from wireproof_spec.iggy.bodies.text_fields import long_text

LEADER = 0
HEALTHY = 0


class ClusterNode(Struct, frozen=True, gc=False):
    """A node of the cluster and the ports that it serves; 0 stands for none."""

    name: str
    ip: str
    tcp_port: int
    http_port: int
    quic_port: int = 0
    websocket_port: int = 0
    role: int = LEADER
    status: int = HEALTHY


class Cluster(Struct, frozen=True, gc=False):
    """The body of the reply to the command `get_cluster_metadata`."""

    name: str
    nodes: tuple[ClusterNode, ...]


_NODE = Record(
    ClusterNode,
    *long_text("name"),
    *long_text("ip"),
    field("tcp_port", Int16ul),
    field("quic_port", Int16ul),
    field("http_port", Int16ul),
    field("websocket_port", Int16ul),
    field("role", Int8ub),
    field("status", Int8ub),
)

CLUSTER = Schema(
    "apache cluster",
    "iggy.apache.reply.reads-bare",
    Cluster,
    Record(
        Cluster,
        *long_text("name"),
        field("count", Count(Int32ul, of="nodes")),
        field("nodes", Many(_NODE, count=this.count)),
    ),
)
"""4-byte `name_length`, `name`, 4-byte `count`, so many nodes. The pages show no body; measured of
server 0.9.0-edge.5."""
