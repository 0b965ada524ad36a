"""The end of a client that its user stops: lookups and connections end."""

from dataclasses import replace

from wireproof_kit.clients.events import Ended
from wireproof_kit.clients.observe import answers, is_marked, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import LOOKUP_INTERVAL_MS, Client
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.peers import ANSWERED
from wireproof_kit.nsq.clients.script import (
    After,
    Beat,
    Delay,
    Delivery,
    Note,
    Request,
    Script,
    always,
    once,
)
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import CLOSE
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    Question,
    commands,
    finishes,
    node_connections,
    play,
    publishes,
)

INTERVAL_S = LOOKUP_INTERVAL_MS / 1000
LATE_S = 0.3


@client_case("connection/end", "smart.client.end", "consumer", "driver")
def test_end(client: Client) -> Observation:
    """A consumer that is stopped by its user closes its connections."""
    return _end_connections(client, _end_script("consumer"))


@client_case("connection/end/producer", "smart.client.end", "producer", "driver")
def test_producer_end(client: Client) -> Observation:
    """A producer that is stopped by its user closes its connections."""
    return _end_connections(client, _end_script("producer"))


@client_case(
    "connection/end/lookups/consumer",
    "smart.client.end",
    "consumer",
    "driver",
    "lookup",
    "refresh-consumer",
)
def test_consumer_end_lookups(client: Client) -> Observation:
    """A consumer that is stopped by its user makes no more lookups."""
    return _end_lookups(client, _end_script("consumer"))


@client_case(
    "connection/end/lookups/producer",
    "smart.client.end",
    "producer",
    "driver",
    "lookup-producer",
    "refresh-producer",
)
def test_producer_end_lookups(client: Client) -> Observation:
    """A producer that is stopped by its user makes no more lookups."""
    return _end_lookups(client, _end_script("producer"))


@client_case("connection/end/cls", "smart.client-connection.graceful-end", "consumer", "driver")
def test_graceful_end(client: Client) -> Observation:
    """A consumer that is stopped by its user sends CLS before it closes the connection."""
    story = client.play(_end_script("consumer"), _all_closed)
    value = "cls" if commands(story, "CLS") else "no-cls"
    return unless(story, value, seen=_all_closed(story))


@client_case(
    "connection/end/beat",
    "smart.client-connection.heartbeat-between",
    "consumer",
    "driver",
)
def test_beat_while_ending(client: Client) -> Observation:
    """A consumer that gets a heartbeat before the answer to its CLS closes its connections."""
    script = _end_script("consumer")
    beat = always("CLS", Beat(), Delay(LATE_S))
    story = client.play(replace(script, rules=(beat, *script.rules)), _all_closed)
    closed = _all_closed(story)
    if closed and not commands(story, "CLS"):
        return unless(story, "unsupported", note="the client closes without CLS")
    return unless(story, "closed" if closed else "kept", seen=closed)


def _end_script(role: Role) -> Script:
    """Return a script in which the user ends the client after its first message.

    A mark shows that two intervals of lookups and a half have passed since the client had ended.
    """
    # The driver's lines are its greeting, then the answers to open, to the work, and to close.
    over = once(ANSWERED, After(2.5 * INTERVAL_S, (Note(),)), at=4)
    if role == "producer":
        return Script(role, publishes=1, rules=(once(ANSWERED, Request(CLOSE), at=3), over))
    end = once("FIN", Request(CLOSE))
    return Script(role, deliveries=(Delivery(),), rules=(end, over))


def _end_connections(client: Client, script: Script) -> Observation:
    return play(client, script, {"closed": _all_closed}, "kept")


def _all_closed(story: Story) -> bool:
    begun = node_connections(story)
    worked = bool(finishes(story) or publishes(story))
    return bool(begun and worked) and not any(story.is_open(each.conn) for each in begun)


def _end_lookups(client: Client, script: Script) -> Observation:
    ends: dict[str, Question] = {"looks-on": _looks_on, "ended": _has_ended}
    return play(client, script, ends, "incomplete")


def _looks_on(story: Story) -> bool:
    """Return True if a request came half an interval after the end; a round may be under way."""
    ended = next((event.at for event in answers(story, CLOSE)), float("inf"))
    return any(event.at > ended + INTERVAL_S / 2 for event in story.of(Requested))


def _has_ended(story: Story) -> bool:
    """Return True once lookups would have been seen again, or the client's process is over."""
    return bool(answers(story, CLOSE)) and (is_marked(story) or story.first(Ended) is not None)
