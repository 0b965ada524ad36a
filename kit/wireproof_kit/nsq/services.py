"""The HTTP services of a target beside its main port, as the user named them."""

from dataclasses import replace

from wireproof_kit.nsq.lookup.answer import Node
from wireproof_kit.nsq.lookup.reach import Reach
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.topics.topic import Address
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import format_address, split_address
from wireproof_kit.wire.http import ConnectionPool, address_of
from wireproof_kit.wire.transcript import Transcript

LOOKUPD = "lookupd"
"""The URL key with the addresses of lookup servers."""
# Longer than for a broker: a busy lookup server was seen to answer late.
LOOKUP_SECONDS = 30.0
PING_SECONDS = 1.0


def http_address(target: Target) -> Address | None:
    """Return the target's HTTP address: the given one, or the next port if it answers /ping."""
    if target.http:
        return address_of(target.http)
    if target.port >= 0xFFFF:
        return None
    beside = (target.host, target.port + 1)
    client = HttpClient(beside, transcript=Transcript(), seconds=PING_SECONDS)
    return beside if client.request("GET", "/ping").status == 200 else None


def lookup_client(target: Target) -> LookupClient | None:
    """Return a client for the given lookup servers; None without any."""
    if not lookup_addresses(target):
        return None
    transcript = Transcript()
    reach = Reach(list_hosts(target))
    servers = [
        HttpClient(
            address, transcript=transcript, seconds=LOOKUP_SECONDS, line=ConnectionPool(address)
        )
        for address in lookup_addresses(target)
    ]
    return LookupClient(servers, reach)


def list_hosts(target: Target) -> list[str]:
    """Return the hosts that the user named, of the target and of what is beside it."""
    others = (split_address(address)[0] for _, address in target.addresses())
    return [*filter(None, [target.host]), *others]


def control_client(target: Target) -> HttpClient | None:
    """Return a client for the given control API; None without one."""
    if target.control is None:
        return None
    token, _, address = target.control.rpartition("@")
    return HttpClient(
        address_of(address), transcript=Transcript(), seconds=LOOKUP_SECONDS, token=token
    )


def lookup_addresses(target: Target) -> list[Address]:
    """Return the addresses of the given lookup servers."""
    return [address_of(text) for text in target.servers.get(LOOKUPD, ())]


def text_of(address: Address | None) -> str | None:
    """Return an address as HOST:PORT, with brackets around an IPv6 host; None stays None."""
    return None if address is None else format_address(address)


def move_to_node(target: Target, node: Node) -> Target:
    """Return the target with the address of a node that a lookup server listed."""
    host, port = node.address
    return replace(target, host=host, port=port, http=target.http or text_of(node.http_address))
