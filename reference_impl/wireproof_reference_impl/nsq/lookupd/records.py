"""How lookup answers describe nodes and lookup servers.

A real nsqlookupd shows the port of a node's connection to it as `id` and `remote_address`. There
is no such connection here. The port is made up, and different on every lookup server, so that no
client can mistake it for the name of the node.
"""

from collections.abc import Mapping

from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.lookupd.server import LookupServer

HOSTNAME = "wireproof"

_REGISTRATION_PORTS = 20000
_PORTS_EACH = 1000

Record = Mapping[str, object]


def remote_address(server: LookupServer, member: Member) -> str:
    """Return the made-up address from which a node is connected to a lookup server."""
    port = _REGISTRATION_PORTS + server.number * _PORTS_EACH + member.number
    return f"{member.tcp[0]}:{port}"


def node(server: LookupServer, member: Member) -> Record:
    """Return a node as the JSON object in lookup answers."""
    remote = remote_address(server, member)
    host, port = member.tcp
    return {
        "id": remote,
        "remote_address": remote,
        "hostname": HOSTNAME,
        "broadcast_address": host,
        "tcp_port": port,
        "http_port": member.http[1],
        "version": member.node.behaviour.output.version,
        "distributed_id": f"{host}:0:{port}:{member.number}",
    }


def lookup_server(server: LookupServer) -> Record:
    """Return a lookup server as the JSON object in the answer to /listlookup.

    It has neither an RPC nor a TCP port; the HTTP port is given for the first, and 0 for the
    second.
    """
    host, port = server.http
    return {
        "ID": f"{host}:{port}:0:nsqlookup",
        "NodeIP": host,
        "TcpPort": "0",
        "HttpPort": str(port),
        "RpcPort": str(port),
        "Epoch": 0,
    }
