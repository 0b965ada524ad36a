"""The HTTP API of a node: its paths and their handlers."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.http import publish, status, topics
from wireproof_reference_impl.nsq.http.connection import BATCH, MESSAGE, HttpConnection, Route

_GET = ("GET",)

ROUTES: Mapping[str, Route[Node]] = {
    "/ping": Route(status.ping, ("GET", "HEAD")),
    "/info": Route(status.info, _GET),
    "/stats": Route(status.stats, _GET),
    "/pub": Route(publish.pub, body=MESSAGE),
    "/pub_ext": Route(publish.pub_ext, body=MESSAGE),
    "/pubtrace": Route(publish.pubtrace, always_v1=True, body=MESSAGE),
    "/mpub": Route(publish.mpub, body=BATCH),
}
"""The HTTP paths that every node serves."""

STANDALONE_ROUTES: Mapping[str, Route[Node]] = {
    **ROUTES,
    "/topic/create": Route(topics.create, always_v1=True),
    "/topic/creat": Route(topics.create, always_v1=True),
    "/topic/meta/update": Route(topics.update, always_v1=True),
    "/topic/delete": Route(topics.delete, always_v1=True),
}
"""And what only a node without lookup servers does."""


def connector(node: Node) -> Callable[[object, int], HttpConnection[Node]]:
    """Return the function that makes the protocol of an accepted HTTP connection."""
    routes = ROUTES if node.clustered else STANDALONE_ROUTES
    return lambda _, now_ns: HttpConnection(node, routes)
