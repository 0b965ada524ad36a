"""The entry of a client: makes the connection object of an accepted socket."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.core.commands.table import handlers
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_spec.nsq.error_codes import TOO_MANY_CONNECTIONS


def connector(node: Node) -> Callable[[object, int], Connection]:
    """Return the function that makes the connection of an accepted client."""
    table = handlers(node.behaviour)

    def connect(_: object, now_ns: int) -> Connection:
        full = len(node.connections) >= node.limits.connections
        connection = Connection(node, table, now_ns)
        if full:
            connection.turn_away(TOO_MANY_CONNECTIONS)
        return connection

    return connect
