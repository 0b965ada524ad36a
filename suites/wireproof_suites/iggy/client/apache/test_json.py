"""Clients of generation apache over HTTP: the same messages, as JSON."""

import pytest

from wireproof_kit.clients.observe import any_of
from wireproof_kit.clients.pieces import HTTP_PIECES
from wireproof_kit.iggy.clients.apache.log import in_order, make_frame
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.probes import ONE
from wireproof_kit.iggy.clients.script import Batches, Refuse
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.apache import statuses
from wireproof_suites.iggy.client.apache.apache_case import (
    MANY,
    MEMBERS,
    client_case,
    due_of,
    is_settled,
    make_script,
    observe_polled,
    observe_trouble,
)
from wireproof_suites.iggy.client.apache.test_poll import FIELDS, HEADERS, IDS
from wireproof_suites.iggy.client.apache.test_send import MESSAGES
from wireproof_suites.iggy.client.seen import (
    answered,
    is_malformed,
    is_told,
    not_told,
    observe_members,
    told,
)
from wireproof_suites.iggy.client.test_send import compare_sent


@client_case("json/send", "json-layout", "producer", "driver", "http")
@pytest.mark.parametrize("row", MESSAGES)
def test_send(client: Client, row: str) -> Observation:
    """Over HTTP a producer sends the payloads, the user headers and the ids of its user."""
    script = make_script("producer", "http", asks=[ask_send(MESSAGES[row])])
    story = client.play(script, any_of(answered(1, SEND), is_malformed))
    return compare_sent(story, MESSAGES[row])


@client_case("json/fields", "json-poll", "consumer", "driver", "http")
def test_fields(client: Client) -> Observation:
    """Over HTTP the user of a consumer is given every polled message with its fields."""
    return observe_polled(client, FIELDS, transport="http")


@client_case("json/id", "json-poll", "consumer", "driver", "http")
@pytest.mark.parametrize("name", IDS)
def test_id(client: Client, name: str) -> Observation:
    """Over HTTP the user of a consumer is given the id of a message exactly, however large."""
    batch = in_order(0, [make_frame(b"an id", id=IDS[name])])
    return observe_polled(client, batch, transport="http")


@client_case("json/headers", "json-poll", "consumer", "driver", "http")
@pytest.mark.parametrize("name", HEADERS)
def test_headers(client: Client, name: str) -> Observation:
    """Over HTTP the user of a consumer is given the user headers of a message."""
    polls = [Batches(HEADERS[name])]
    script = make_script("consumer", "http", polls=polls, asks=[ask_poll(count=30)])
    story = client.play(script, answered(1))
    if told(story) and not is_told(story, "headers"):
        return not_told("headers")
    return observe_members(story, due_of(HEADERS[name]), MEMBERS, ("headers", "payload"))


@client_case("json/pieces", "json-poll", "consumer", "driver", "http")
@pytest.mark.parametrize("cut", HTTP_PIECES)
def test_pieces(client: Client, cut: str) -> Observation:
    """The user of a consumer is given every message of a response that comes in pieces."""
    return observe_polled(client, FIELDS, transport="http", pieces=HTTP_PIECES[cut])


@client_case("json/refused", "json-refused", "driver", "http")
@pytest.mark.parametrize("op", [POLL, SEND])
def test_refused(client: Client, op: str) -> Observation:
    """Over HTTP the user of a client is told that the server refused a request."""
    denied = (Refuse(statuses.PARTITION_NOT_FOUND),) * MANY
    ask = ask_poll() if op == POLL else ask_send([ONE])
    script = make_script(client.role, "http", polls=denied, sends=denied, asks=[ask])
    return observe_trouble(client.play(script, is_settled(op)), op, done=False)
