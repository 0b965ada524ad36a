"""Requests that several cases send: refused ones, and right ones to be made wrong."""

from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.wire.outgoing import Outgoing

ABSENT = 4_000_000_000
ABSENT_NAME = "wp_no_such_name"
NO_TOPIC = Topic(Stream(ABSENT, ABSENT_NAME), ABSENT, ABSENT_NAME, 0)


def refused_polls(server: Server) -> dict[str, Outgoing]:
    """Return two polls that every server refuses, each with another status."""
    return {
        "no-count": server.poll_request(NO_TOPIC, Polling(count=0)),
        "no-stream": server.poll_request(NO_TOPIC),
    }
