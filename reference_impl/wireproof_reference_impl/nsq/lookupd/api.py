"""The HTTP API of a lookup server: its paths, their handlers, and the style of answers.

Questions are answered in the requested style; the older style loses the status of every error.
Everything else is always answered in the newer style. An answer without data is empty.
"""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.nsq.http.connection import HttpConnection, Route
from wireproof_reference_impl.nsq.lookupd import channels, cluster, partitions, topics
from wireproof_reference_impl.nsq.lookupd.distortion import distort
from wireproof_reference_impl.nsq.lookupd.lookup import lookup
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import (
    Answer,
    HttpRefusal,
    Request,
    answer_nothing,
    data,
    plain,
)

Question = Callable[[LookupServer, Request], object]

_GET = ("GET", "OPTIONS")
_POST = ("POST", "OPTIONS")
_POST_OR_PUT = ("POST", "PUT", "OPTIONS")


def ping(server: LookupServer, request: Request) -> Answer:
    """Handle /ping: answer that the lookup server is alive."""
    return plain(b"OK", v1=False)


def _negotiate(question: Question) -> Route[LookupServer]:
    def handler(server: LookupServer, request: Request) -> Answer:
        right = answer(question, server, request, v1=request.v1)
        return distort(server.answering, request, right)

    return Route(handler, _GET)


def _always_v1(question: Question, methods: tuple[str, ...]) -> Route[LookupServer]:
    def handler(server: LookupServer, request: Request) -> Answer:
        return answer(question, server, request, v1=True)

    return Route(handler, methods, always_v1=True)


def answer(question: Question, server: LookupServer, request: Request, *, v1: bool) -> Answer:
    """Return the HTTP answer to a question, in the style of version 1.0 or the older one.

    Clause: smart.lookup.envelope, smart.lookup.v1
    """
    rules = server.behaviour.lookup
    try:
        if not request.escaped:
            raise HttpRefusal(400, "INVALID_REQUEST")
        found = find(question, server, request)
    except HttpRefusal as refusal:
        return rules.error(rules.refusal(request, refusal), v1)
    return answer_nothing() if found is None else rules.sent(request, data(found, v1=v1))


def find(question: Question, server: LookupServer, request: Request) -> object:
    """Return the data that answer a request to a lookup server; None if there are none.

    Raises:
        HttpRefusal: the question is refused.
    """
    found = question(server, request)
    return None if found is None else server.behaviour.lookup.answer(request, found)


ROUTES: Mapping[str, Route[LookupServer]] = {
    "/ping": Route(ping, _GET),
    "/info": _negotiate(cluster.info),
    "/lookup": _negotiate(lookup),
    "/listlookup": _negotiate(cluster.list_lookup),
    "/nodes": _negotiate(cluster.nodes),
    "/topics": _negotiate(cluster.topics),
    "/channels": _negotiate(cluster.channels),
    "/cluster/stats": _always_v1(cluster.stats, _GET),
    "/topic/create": _always_v1(topics.create, _POST_OR_PUT),
    "/topic/creat": _always_v1(topics.create, _POST_OR_PUT),
    "/topic/delete": _always_v1(topics.delete, _POST),
    "/topic/meta/update": _always_v1(topics.update, _POST),
    "/topic/partition/expand": _always_v1(partitions.expand, _POST),
    "/topic/partition/move": _always_v1(partitions.move, _POST),
    "/topic/tombstone": _always_v1(topics.tombstone, _POST),
    "/channel/create": _always_v1(channels.create, _POST),
    "/channel/delete": _always_v1(channels.delete, _POST),
    "/disable/write": _always_v1(cluster.disable_write, _POST),
}


def connector(server: LookupServer) -> Callable[[object, int], HttpConnection[LookupServer]]:
    """Return the function that makes the protocol of an accepted HTTP connection."""
    return lambda _, now_ns: HttpConnection(server, ROUTES)
