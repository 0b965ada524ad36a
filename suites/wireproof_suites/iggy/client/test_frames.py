"""Answers as TCP brings them: in pieces, and of any length."""

import pytest

from wireproof_kit.clients.observe import results, shown
from wireproof_kit.clients.pieces import HTTP_PIECES, LENGTHS, Pieces
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import SEND, ask_send
from wireproof_kit.iggy.clients.log import make_message
from wireproof_kit.iggy.clients.probes import ONE
from wireproof_kit.iggy.clients.script import Messages, Script, Transport
from wireproof_kit.observation import Observation
from wireproof_suites.iggy.client.client_case import client_case, over_both
from wireproof_suites.iggy.client.seen import answered, observe_given, play_poll
from wireproof_suites.iggy.client.test_poll import FIELDS

PIECES = {
    "single": Pieces(single=True),
    "status": Pieces(2),
    "length": Pieces(6),
    "body": Pieces(-3),
}
"""How answers over TCP come: cut after so many bytes, within the part that is named."""


@client_case("frames/poll", "framing", "consumer", "driver", "tcp")
@pytest.mark.parametrize("cut", PIECES)
def test_poll(client: Client, cut: str) -> Observation:
    """The user of a client is given every message of an answer that comes in pieces."""
    return _poll(client, "tcp", PIECES[cut])


@client_case("frames/poll-json", "framing-http", "consumer", "driver", "http")
@pytest.mark.parametrize("cut", HTTP_PIECES)
def test_poll_json(client: Client, cut: str) -> Observation:
    """The user of a client is given every message of an HTTP answer that comes in pieces."""
    return _poll(client, "http", HTTP_PIECES[cut])


def _poll(client: Client, transport: Transport, pieces: Pieces) -> Observation:
    story = play_poll(client, transport, Messages(FIELDS), pieces=pieces)
    return observe_given(story, FIELDS)


@client_case("frames/send", "framing", "producer", "driver", "tcp")
@pytest.mark.parametrize("cut", PIECES)
def test_send(client: Client, cut: str) -> Observation:
    """The user of a client is told of success if the answer comes in pieces."""
    script = Script("producer", "tcp", asks=(ask_send([ONE]),), pieces=PIECES[cut])
    story = client.play(script, answered(1, SEND))
    value = "success" if results(story, SEND) else "not-told"
    return shown(story, value, seen=answered(1, SEND)(story))


@over_both("frames/length", "layout", "consumer", "driver", each=map(str, LENGTHS))
def test_length(client: Client, transport: Transport, name: str) -> Observation:
    """The user of a client is given a message of any length, and the one behind it."""
    sent = (make_message(0, bytes(int(name))), make_message(1, b"the one behind it"))
    return observe_given(play_poll(client, transport, Messages(sent)), sent)
