"""The cluster of a server: a single node, its leader."""

from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.bodies.cluster import CLUSTER, Cluster, ClusterNode

NAME, NODE_NAME = "single-node", "iggy-node"
"""The names that the measured server gives without a configuration of a cluster."""


def get_cluster(node: Node, body: bytes) -> bytes:
    """Return the body that describes the cluster.

    Clients may connect again to the addresses in it, so that these are the real ones.
    """
    tcp, http = node.addresses
    return encode(CLUSTER, Cluster(NAME, (ClusterNode(NODE_NAME, tcp[0], tcp[1], http[1]),)))
