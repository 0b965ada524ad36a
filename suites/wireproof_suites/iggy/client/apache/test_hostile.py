"""Answers that no server of generation apache should send: a client survives them."""

from collections.abc import Mapping

import pytest

from wireproof_kit.clients.observe import shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.apache.changes import BROKEN, BROKEN_OBJECTS
from wireproof_kit.iggy.clients.apache.log import in_order, make_frame
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import ask_poll
from wireproof_kit.iggy.clients.script import (
    Batches,
    Body,
    Evict,
    Odd,
    Raw,
    Reply,
    Silence,
    Transport,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.header import HEADER_SIZE
from wireproof_suites.iggy.client.apache.apache_case import LONG, client_case, make_script
from wireproof_suites.iggy.client.seen import LATER, answered, is_given_later, told

SENT = in_order(0, [make_frame(b"wireproof %d" % number, id=number + 1) for number in range(3)])
ASKS = (ask_poll(0, 3), ask_poll(LATER, 3))
_LARGEST = (1 << 32) - 1
FRAMES: Mapping[str, Reply] = {
    "silence": Silence(),
    "closed": Raw(b""),
    "reset": Raw(b"", reset=True),
    "header-cut": Raw(bytes(100)),
    "zeros": Raw(bytes(HEADER_SIZE)),
    "http": Raw(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "size-zero": Odd({"size": 0}),
    "size-short": Odd({"size": HEADER_SIZE - 1}),
    "size-of-header": Odd({"size": HEADER_SIZE}),
    "size-beyond": Odd({"size": 1 << 20}),
    "size-largest": Odd({"size": _LARGEST}),
    "command-request": Odd({"command": 5}),
    "command-of-replicas": Odd({"command": 6}),
    "command-unknown": Odd({"command": 255}),
    "number-other": Odd({"request": 1 << 40}),
    "client-other": Odd({"client": 1}),
    "operation-other": Odd({"operation": 255}),
    "status-and-body": Body(bytes(16), status=statuses.STREAM_ID_NOT_FOUND),
    "body-empty": Body(b""),
    "body-of-one-byte": Body(b"\0"),
    "body-of-15-bytes": Body(bytes(15)),
    "eviction-without-reason": Evict(0),
    "eviction-unknown": Evict(255),
}
"""Answers to a poll over TCP."""
LOGINS: Mapping[str, Reply] = {
    "closed": Raw(b""),
    "header-cut": Raw(bytes(100)),
    "empty": Body(b""),
    "one-byte": Body(b"\0"),
    "result-alone": Body(bytes(4)),
    "cut": Body(bytes(15)),
    "version-text-beyond": Body(bytes(20) + b"\xffabc"),
    "result-largest": Body(b"\xff\xff\xff\xff"),
    "rejected": Body(b"\1\0\0\0\0\0\0\0\x09\0\0\0"),
    "command-unknown": Odd({"command": 255}),
    "size-largest": Odd({"size": _LARGEST}),
}
"""Answers to the first login; the next one is answered as usual."""
INVENTIVE = (
    "cut-before-payload",
    "cut-in-payload",
    "length-short",
    "payload-length-beyond",
    "headers-length-beyond",
)
"""Bodies of which a careless reader takes other bytes for a message."""


def _play(client: Client, reply: Reply, transport: Transport = "tcp") -> Story:
    script = make_script("consumer", transport, polls=[reply], asks=ASKS)
    return client.play(script, answered(2), within=LONG)


def _survival(story: Story) -> Observation:
    if not answered(2)(story):
        return unless(story, "silent", seen=False)
    return unless(story, "survives" if is_given_later(story) else "refuses-later")


@client_case("hostile/body", "survives", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", BROKEN)
def test_body(client: Client, change: str) -> Observation:
    """A client that polls malformed batches keeps working, or reports an error to its user."""
    return _survival(_play(client, Batches((SENT,), change)))


@client_case("hostile/frame", "survives", "consumer", "driver", "tcp")
@pytest.mark.parametrize("frame", FRAMES)
def test_frame(client: Client, frame: str) -> Observation:
    """A client that gets a malformed reply keeps working, or reports an error to its user."""
    return _survival(_play(client, FRAMES[frame]))


@client_case("hostile/login", "survives", "consumer", "driver", "tcp")
@pytest.mark.parametrize("reply", LOGINS)
def test_login(client: Client, reply: str) -> Observation:
    """A client whose login gets a malformed reply keeps working, or reports an error."""
    script = make_script("consumer", logins=[LOGINS[reply]], asks=ASKS)
    return _survival(client.play(script, answered(2), within=LONG))


@client_case("hostile/json", "survives", "consumer", "driver", "http")
@pytest.mark.parametrize("change", BROKEN_OBJECTS)
def test_json(client: Client, change: str) -> Observation:
    """A client that polls malformed JSON over HTTP keeps working, or reports an error."""
    return _survival(_play(client, Batches((SENT,), change), "http"))


@client_case("hostile/invented", "whole", "consumer", "driver", "tcp")
@pytest.mark.parametrize("change", INVENTIVE)
def test_invented(client: Client, change: str) -> Observation:
    """A client that polls broken batches gives its user no message that was not sent."""
    story = _play(client, Batches((SENT,), change))
    sent = {in_base64(each.payload) for each in SENT.frames}
    others = [each for each in told(story) or () if each.get("payload") not in sent]
    note = f"given {others[0].get('offset')}: {others[0].get('payload')}"[:80] if others else ""
    value = "invented" if others else "nothing-invented"
    return shown(story, value, seen=answered(1)(story), note=note)
