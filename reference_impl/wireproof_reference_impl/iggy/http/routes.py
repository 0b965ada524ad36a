"""The paths of the HTTP API, their handlers, and its connections."""

from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.http import messages, streams, system
from wireproof_reference_impl.iggy.http.connection import HttpConnection, json_answer, serve_site
from wireproof_reference_impl.iggy.wire.exchange import Answer, Routes
from wireproof_reference_impl.iggy.wire.status import Refusal

_STREAM = "/streams/{}"
_TOPIC = f"{_STREAM}/topics/{{}}"

ROUTES: Routes[Server] = {
    "/": {"GET": system.root},
    "/ping": {"GET": system.ping},
    "/stats": {"GET": system.get_stats},
    "/clients": {"GET": system.get_clients},
    "/clients/{}": {"GET": system.get_client},
    "/streams": {"GET": streams.get_streams, "POST": streams.create_stream},
    _STREAM: {"GET": streams.get_stream, "DELETE": streams.delete_stream},
    f"{_STREAM}/topics": {"GET": streams.get_topics, "POST": streams.create_topic},
    _TOPIC: {"GET": streams.get_topic, "DELETE": streams.delete_topic},
    f"{_TOPIC}/partitions": {
        "POST": streams.create_partitions,
        "DELETE": streams.delete_partitions,
    },
    f"{_TOPIC}/messages": {"GET": messages.poll_messages, "POST": messages.send_messages},
    f"{_TOPIC}/consumer-offsets": {"GET": messages.get_offset, "PUT": messages.put_offset},
    f"{_TOPIC}/consumer-groups": {"GET": streams.get_groups, "POST": streams.create_group},
    f"{_TOPIC}/consumer-groups/{{}}": {
        "GET": streams.get_group,
        "DELETE": streams.delete_group,
    },
}


def connection(server: Server) -> HttpConnection[Server]:
    """Return the protocol of an accepted HTTP connection."""

    def refuse(refusal: Refusal) -> Answer:
        body = server.behaviour.json.encode(server.behaviour.http.error(refusal))
        return json_answer(body, refusal.status.http)

    return serve_site(server, ROUTES, refuse, server.behaviour.http)
