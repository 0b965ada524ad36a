"""Frames as TCP brings them: in pieces, several at once, of any length, between other things."""

from dataclasses import replace

import pytest

from wireproof_kit.clients.observe import answers, list_told, results
from wireproof_kit.clients.pieces import HTTP_PIECES, LENGTHS, Pieces
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    NODE_2,
    Beat,
    Delay,
    Delivery,
    Rule,
    Script,
    always,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import Result, from_base64
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    finishes,
    is_success,
    play,
    publishes,
    subscriptions,
)

LONG = 20.0
PIECES = {
    "single": Pieces(single=True),
    "size": Pieces(2),
    "type": Pieces(6),
    "id": Pieces(22),
    "body": Pieces(-3),
    "glued": Pieces(is_glued=True),
}
"""How frames come: cut after so many bytes, within the part that is named, or several at once."""
FEW = 3
TWO = {0: NODE_1, 1: NODE_2}
LATE_S = 0.3
_NEVER = (1 << 60,) * FEW


def _deliveries(*bodies: bytes) -> tuple[Delivery, ...]:
    return tuple(
        Delivery(body, internal_id=number, trace_id=number << 32)
        for number, body in enumerate(bodies, start=1)
    )


def _message_id(delivery: Delivery) -> bytes:
    internal_id, trace_id = delivery.internal_id or 0, delivery.trace_id
    return internal_id.to_bytes(8, "big") + trace_id.to_bytes(8, "big")


def _consume(client: Client, script: Script) -> Observation:
    """Observe whether a consumer finishes each message, and gives its user each body."""
    due = {_message_id(each) for each in script.deliveries}
    bodies = [each.body for each in script.deliveries]

    def is_other(story: Story) -> bool:
        told = list_told(story, "message")
        given = [from_base64(str(each.event.fields.get("body"))) for each in told]
        return any(each.message_id not in due for each in finishes(story)) or any(
            body not in bodies for body in given
        )

    def has_finished_all(story: Story) -> bool:
        return due <= {each.message_id for each in finishes(story)}

    ends: dict[str, Question] = {"other": is_other, "taken": has_finished_all}
    return play(client, script, ends, "not-taken", within=LONG)


@client_case("frames/pieces/consumer", "smart.client-connection.framing", "consumer")
@pytest.mark.parametrize("cut", PIECES)
def test_consumer_pieces(client: Client, cut: str) -> Observation:
    """A consumer takes frames by their size, in whatever pieces they come."""
    deliveries = _deliveries(b"the first body", bytes(range(256)), b"the last body")
    script = Script("consumer", deliveries=deliveries, pieces=PIECES[cut])
    return _consume(client, script)


@client_case(
    "frames/pieces/each", "smart.client-connection.framing", "consumer", "lookup", "partition"
)
@pytest.mark.parametrize("cut", PIECES)
def test_pieces_of_each(client: Client, cut: str) -> Observation:
    """A consumer takes frames by their size on each of two connections."""
    deliveries = tuple(
        replace(each, partition=partition, internal_id=(each.internal_id or 0) + 10 * partition)
        for partition in TWO
        for each in _deliveries(b"the first body", bytes(range(256)))
    )
    script = Script("consumer", leaders=TWO, deliveries=deliveries, pieces=PIECES[cut])
    return _consume(client, script)


@client_case("frames/pieces/producer", "smart.client-connection.framing", "producer")
@pytest.mark.parametrize("cut", PIECES)
def test_producer_pieces(client: Client, cut: str) -> Observation:
    """A producer takes answers by their size, in whatever pieces they come."""
    return _produce(client, Script("producer", publishes=FEW, pieces=PIECES[cut]))


def _produce(client: Client, script: Script) -> Observation:
    """Observe whether a producer goes on after each answer, and when it tells of success."""

    def tells_early(story: Story) -> bool:
        """Return True if the user was told of success before the node had answered."""
        sent = [story.index(each) for each in story.of(Sent) if is_success(each)]
        told = [
            story.index(each)
            for each in answers(story, PRODUCE)
            if isinstance(each.answer, Result)
        ]
        return any(place < due for place, due in zip(told, [*sent, *_NEVER], strict=False))

    def has_gone_on(story: Story) -> bool:
        told = len(results(story, PRODUCE))
        return len(publishes(story)) >= FEW and (told >= FEW or not story.requests)

    ends: dict[str, Question] = {"early": tells_early, "taken": has_gone_on}
    return play(client, script, ends, "not-taken", within=LONG)


@client_case("frames/length", "smart.client-connection.framing", "consumer")
@pytest.mark.parametrize("length", LENGTHS)
def test_length(client: Client, length: int) -> Observation:
    """A consumer takes a message of any length, and the one behind it."""
    deliveries = _deliveries(bytes(length), b"the one behind it")
    return _consume(client, Script("consumer", deliveries=deliveries))


@client_case("frames/beat/consumer", "smart.client-connection.heartbeat-between", "consumer")
def test_beat_consumer(client: Client) -> Observation:
    """A consumer takes no heartbeat for the answer to its subscription."""
    deliveries = _deliveries(b"the first body", b"the last body")
    return _consume(client, Script("consumer", deliveries=deliveries, rules=_beat("SUBSCRIBE")))


@client_case("frames/beat/producer", "smart.client-connection.heartbeat-between", "producer")
def test_beat_producer(client: Client) -> Observation:
    """A producer takes no heartbeat for the answer to its publish."""
    return _produce(client, Script("producer", publishes=FEW, rules=_beat("PUBLISH")))


@client_case("frames/beat/identify", "smart.client-connection.heartbeat-between", "consumer")
def test_beat_identify(client: Client) -> Observation:
    """A consumer takes no heartbeat for the answer to its IDENTIFY."""
    deliveries = _deliveries(b"the first body", b"the last body")
    return _consume(client, Script("consumer", deliveries=deliveries, rules=_beat("IDENTIFY")))


def _beat(event: str) -> tuple[Rule, ...]:
    """Return a rule for a heartbeat between each such command and its answer."""
    return (always(event, Beat(), Delay(LATE_S)),)


@client_case("lookup/pieces", "smart.client-lookup.framing", "lookup")
@pytest.mark.parametrize("cut", HTTP_PIECES)
def test_lookup_pieces(client: Client, cut: str) -> Observation:
    """A client takes the answer of a lookup server that comes in pieces."""
    script = Script(client.role, publishes=1, http_pieces=HTTP_PIECES[cut])
    ends: dict[str, Question] = {"taken": lambda s: bool(publishes(s) or subscriptions(s))}
    return play(client, script, ends, "not-taken", within=LONG)
