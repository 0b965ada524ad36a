"""Sending over either transport."""

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import observe_http
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import is_success
from wireproof_spec.iggy.bodies.send_messages import SentMessage

OVER_TCP, OVER_HTTP = "over-tcp", "over-http"
TRANSPORTS = (OVER_TCP, OVER_HTTP)


def send_over(transport: str, server: Server, topic: Topic, *sent: SentMessage) -> None:
    """Send messages over TCP or HTTP as a step that must succeed.

    Raises:
        ArrangementFailed: the server refused the messages.
    """
    if transport == OVER_TCP:
        server.send_accepted(topic, *sent)
    else:
        post_messages(server, topic, *sent)


def post_messages(server: Server, topic: Topic, *sent: SentMessage) -> None:
    """Send messages over HTTP as a step that must succeed.

    Raises:
        ArrangementFailed: the server refused the messages.
    """
    answer = server.post(topic, *sent)
    if not is_success(answer):
        raise ArrangementFailed(f"a right request was answered {observe_http(answer).describe()}")
