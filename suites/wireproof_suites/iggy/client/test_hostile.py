"""Answers that no server should send: a client survives them, and makes up no message."""

import pytest

from wireproof_kit.clients.observe import shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.changes import BROKEN_BODIES, BROKEN_OBJECTS
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import ask_poll
from wireproof_kit.iggy.clients.log import make_message
from wireproof_kit.iggy.clients.script import Messages, Raw, Reply, Script, Transport
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import in_base64
from wireproof_suites.iggy.client.client_case import client_case
from wireproof_suites.iggy.client.seen import LATER, answered, is_given_later, told

SENT = tuple(make_message(offset) for offset in range(3))
LONG = 12.0
ASKS = (ask_poll(0, 3), ask_poll(LATER, 3))


def _tcp(status: int, length: int, body: bytes = b"") -> bytes:
    return status.to_bytes(4, "little") + length.to_bytes(4, "little") + body


def _http(*lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([*lines, "", ""]).encode() + body


FRAMES: dict[str, Reply] = {
    "closed": Raw(b""),
    "reset": Raw(b"", reset=True),
    "head-cut": Raw(_tcp(0, 4)[:5]),
    "body-cut": Raw(_tcp(0, 100, b"\x01\x00\x00\x00")),
    "body-empty": Raw(_tcp(0, 0)),
    "body-of-one-byte": Raw(_tcp(0, 1, b"\x00")),
    "length-largest": Raw(_tcp(0, 0xFFFFFFFF, b"\x00" * 64)),
    "more-than-length": Raw(_tcp(0, 4, b"\x00" * 64)),
    "refused-with-body": Raw(_tcp(3, 4, b"\x00" * 4)),
    "http": Raw(_http("HTTP/1.1 400 Bad Request", "Content-Length: 0")),
}
"""Answers over TCP, after which the server closes or resets the connection."""
HEADS: dict[str, Reply] = {
    "closed": Raw(b""),
    "reset": Raw(b"", reset=True),
    "head-cut": Raw(b"HTTP/1.1 200 O"),
    "body-cut": Raw(_http("HTTP/1.1 200 OK", "Content-Length: 100", body=b"[")),
    "no-http": Raw(_tcp(0, 4, b"\x00" * 4)),
    "no-length": Raw(_http("HTTP/1.1 200 OK", body=b"[")),
    "length-negative": Raw(_http("HTTP/1.1 200 OK", "Content-Length: -1")),
    "chunk-cut": Raw(_http("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"5\r\n[")),
    "no-content": Raw(_http("HTTP/1.1 204 No Content")),
    "page": Raw(_http("HTTP/1.1 502 Bad Gateway", "Content-Length: 6", body=b"<html>")),
}
"""The same over HTTP."""
INVENTIVE = (
    "cut-before-payload",
    "cut-in-payload",
    "headers-length-beyond",
    "payload-length-beyond",
    "count-more",
    "header-cut",
    "old-layout",
)
"""Bodies of which a careless reader takes other bytes for a payload."""


def _play(client: Client, transport: Transport, reply: Reply) -> Story:
    script = Script("consumer", transport, polls=(reply,), asks=ASKS)
    return client.play(script, answered(2), within=LONG)


def _survival(client: Client, transport: Transport, reply: Reply) -> Observation:
    story = _play(client, transport, reply)
    if not answered(2)(story):
        return unless(story, "silent", seen=False)
    return unless(story, "survives" if is_given_later(story) else "refuses-later")


@client_case("hostile/body", "survives", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", BROKEN_BODIES)
def test_body(client: Client, change: str) -> Observation:
    """A client that polls a malformed TCP body keeps working, or reports an error to its user."""
    return _survival(client, "tcp", Messages(SENT, change))


@client_case("hostile/json", "survives", "consumer", "driver", "http")
@pytest.mark.parametrize("change", BROKEN_OBJECTS)
def test_json(client: Client, change: str) -> Observation:
    """A client that polls malformed JSON over HTTP keeps working, or reports an error."""
    return _survival(client, "http", Messages(SENT, change))


@client_case("hostile/frame", "survives", "consumer", "driver", "tcp")
@pytest.mark.parametrize("frame", FRAMES)
def test_frame(client: Client, frame: str) -> Observation:
    """A client that gets a malformed answer over TCP keeps working, or reports an error."""
    return _survival(client, "tcp", FRAMES[frame])


@client_case("hostile/head", "survives", "consumer", "driver", "http")
@pytest.mark.parametrize("head", HEADS)
def test_head(client: Client, head: str) -> Observation:
    """A client that gets a malformed answer over HTTP keeps working, or reports an error."""
    return _survival(client, "http", HEADS[head])


@client_case("hostile/invented", "whole", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", INVENTIVE)
def test_invented(client: Client, change: str) -> Observation:
    """A client that polls a broken body gives its user no message that was not sent."""
    return _invention(_play(client, "tcp", Messages(SENT, change)))


@client_case("hostile/invented-json", "whole", "consumer", "driver", "http")
@pytest.mark.parametrize("change", ["cut", "payload-not-base64", "payload-missing"])
def test_invented_json(client: Client, change: str) -> Observation:
    """A client that polls broken JSON gives its user no message that was not sent."""
    return _invention(_play(client, "http", Messages(SENT, change)))


def _invention(story: Story) -> Observation:
    sent = {(str(each.offset), in_base64(each.payload)) for each in SENT}
    given = told(story) or ()
    others = [each for each in given if (each.get("offset"), each.get("payload")) not in sent]
    note = f"given {others[0].get('offset')}: {others[0].get('payload')}"[:80] if others else ""
    value = "invented" if others else "nothing-invented"
    return shown(story, value, seen=answered(1)(story), note=note)
