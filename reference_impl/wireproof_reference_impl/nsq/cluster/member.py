"""A node of the cluster, as the others know it."""

from wireproof_reference_impl.nsq.core.node import Node


class Member:
    """One node, its number from 1 on, and the addresses it listens at."""

    def __init__(self, node: Node, number: int) -> None:
        self.node = node
        self.number = number
        self.tcp = ("", 0)
        self.http = ("", 0)

    @property
    def up(self) -> bool:
        """Tell whether it can be reached."""
        return self.node.open
