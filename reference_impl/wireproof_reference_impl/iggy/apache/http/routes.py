"""The paths of the HTTP API, their handlers, and its connections."""

from wireproof_reference_impl.iggy.apache.http import messages, streams
from wireproof_reference_impl.iggy.apache.http.access import (
    Asked,
    error_object,
    login,
    protected,
)
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.http.connection import HttpConnection, json_answer, serve_site
from wireproof_reference_impl.iggy.wire.exchange import Answer, Routes, text
from wireproof_reference_impl.iggy.wire.status import Refusal

_STREAM = "/streams/{}"
_TOPIC = f"{_STREAM}/topics/{{}}"


def root(exchange: Asked) -> Answer:
    """Handle a request for the root of the HTTP API: answer with the name of the API."""
    return text("Apache Iggy HTTP")


def ping(exchange: Asked) -> Answer:
    """Handle an HTTP ping."""
    return text("pong")


ROUTES: Routes[Node] = {
    "/": {"GET": root},
    "/ping": {"GET": ping},
    "/users/login": {"POST": login},
    "/streams": {
        "GET": protected(streams.get_streams),
        "POST": protected(streams.create_stream),
    },
    _STREAM: {
        "GET": protected(streams.get_stream),
        "DELETE": protected(streams.delete_stream),
    },
    f"{_STREAM}/topics": {"POST": protected(streams.create_topic)},
    _TOPIC: {"GET": protected(streams.get_topic), "DELETE": protected(streams.delete_topic)},
    f"{_TOPIC}/messages": {
        "GET": protected(messages.poll_messages),
        "POST": protected(messages.send_messages),
    },
    f"{_TOPIC}/consumer-offsets": {
        "GET": protected(messages.get_offset),
        "PUT": protected(messages.put_offset),
    },
}


def connection(node: Node) -> HttpConnection[Node]:
    """Return the protocol of an accepted HTTP connection."""

    def refuse(refusal: Refusal) -> Answer:
        body = node.behaviour.json.encode(error_object(refusal))
        return json_answer(body, refusal.status.http)

    return serve_site(node, ROUTES, refuse, node.behaviour.http)
