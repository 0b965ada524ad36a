"""A node of the cluster, as the other nodes see it."""

from wireproof_reference_impl.addresses import address_text
from wireproof_reference_impl.nsq.core.node import Node


class Member:
    """A node of a cluster: its number, from 1 on, and the addresses it listens at."""

    def __init__(self, node: Node, number: int) -> None:
        self.node = node
        self.number = number
        self.tcp: tuple[str, int] = ("", 0)
        self.http: tuple[str, int] = ("", 0)

    @property
    def address(self) -> str:
        """The TCP address for clients, which also names the node."""
        return address_text(*self.tcp)

    @property
    def http_address(self) -> str | None:
        """The HTTP address of the node, or None."""
        return address_text(*self.http) if self.http[1] else None

    @property
    def up(self) -> bool:
        """Return True if the node can be reached."""
        return self.node.open
