"""Frames that no node should send: a client survives them."""

import pytest

from wireproof_kit.clients.events import Connected, Ended, Malformed
from wireproof_kit.clients.observe import any_of, is_marked, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import Client
from wireproof_kit.nsq.clients.script import (
    NODE_1,
    Act,
    After,
    Beat,
    Bytes,
    Close,
    Note,
    Rule,
    Script,
    once,
)
from wireproof_kit.observation import Observation, observed
from wireproof_suites.nsq.client.client_case import client_case
from wireproof_suites.nsq.client.seen import (
    MOST_CALM,
    NEXT_LOOKUP,
    answers_after,
    awaits_lookup,
    most_calm,
    publishes,
    subscriptions,
)

MANY = 1000
SOON = 0.3
LATER = tuple(After(SOON * number, (Beat(),)) for number in range(1, 6))
"""nsqjs answers a heartbeat that comes with a short message, and then ends at the message. pynsq
finishes such a message with as many bytes as there are; the rest of that FIN, up to 17 bytes, is
read from its next answers, NOP and a line feed each."""
LONG = 15.0
"""pynsq tries a node again ten seconds after the last attempt, and not earlier."""


def _frame(kind: int, data: bytes, size: int | None = None) -> bytes:
    length = 4 + len(data) if size is None else size
    return (length & 0xFFFFFFFF).to_bytes(4, "big") + kind.to_bytes(4, "big") + data


FRAMES = {
    "unknown-type": _frame(9, b"what"),
    "type-minus-one": _frame(0xFFFFFFFF, b"what"),
    "unknown-response": _frame(0, b"_what_"),
    "empty-response": _frame(0, b""),
    "empty-error": _frame(1, b""),
    "unknown-error": _frame(1, b"E_WHAT happened"),
    "error-not-utf8": _frame(1, b"\xff\xfe\x00"),
    "short-message": _frame(2, b"\x00" * 20),
    "empty-message": _frame(2, b""),
}
"""Frames that are well formed as frames, so that a client may go on after them."""
LIES = {
    "size-zero": _frame(0, b"OK", size=0),
    "size-three": _frame(0, b"OK", size=3),
    "size-negative": _frame(0, b"OK", size=-1),
    "size-two-gigabytes": _frame(0, b"OK", size=2**31 - 1),
}
"""Frames whose size lies: what follows cannot be read, and the node closes the connection."""


@client_case("robust/frame", "smart.client-robust.frame", "consumer")
@pytest.mark.parametrize("frame", FRAMES)
def test_frame(client: Client, frame: str) -> Observation:
    """A consumer that gets an unexpected frame answers a later heartbeat, or subscribes again."""
    return _survival(client, Bytes(FRAMES[frame]), *LATER)


@client_case("robust/size", "smart.client-robust.size", "consumer")
@pytest.mark.parametrize("lie", LIES)
def test_size(client: Client, lie: str) -> Observation:
    """After a frame of wrong size and a disconnect by the node a consumer subscribes again."""
    return _survival(client, Bytes(LIES[lie]), After(SOON, (Close(),)))


@client_case("robust/recovery", "smart.client-robust.recovery", "consumer")
@pytest.mark.parametrize("bad", [*FRAMES, *LIES])
def test_recovery(client: Client, bad: str) -> Observation:
    """A consumer that gets an unexpected or broken frame answers heartbeats or resubscribes."""
    closing = (After(SOON, (Close(),)),) if bad in LIES else LATER
    return _survival(client, Bytes({**FRAMES, **LIES}[bad]), *closing)


def _survival(client: Client, *acts: Act) -> Observation:
    script = Script("consumer", rules=(once("RDY", *acts),))
    story = client.play(script, any_of(_answers, _comes_again, _is_malformed), within=LONG)
    alive = _answers(story) or _comes_again(story)
    if not alive and not _is_malformed(story) and awaits_lookup(story):
        return unless(story, "unsupported", note=NEXT_LOOKUP)
    return _observe_life(story, alive=alive)


def _observe_life(story: Story, *, alive: bool) -> Observation:
    """Return whether the client goes on; bytes that are no command are a sign of life too.

    gnsq finishes a message that is too short for an id, with as many bytes as there are.
    """
    alive = alive or _is_malformed(story)
    return unless(story, "survives" if alive else "silent", seen=alive)


def _is_malformed(story: Story) -> bool:
    return story.first(Malformed) is not None


_answers = answers_after(SOON, "RDY")


def _comes_again(story: Story) -> bool:
    return len(subscriptions(story)) >= 2


@client_case("robust/producer-frame", "smart.client-robust.frame", "producer")
@pytest.mark.parametrize("frame", FRAMES)
def test_producer_frame(client: Client, frame: str) -> Observation:
    """A producer that gets an unexpected frame goes on publishing, or reconnects and publishes."""
    script = Script("producer", publishes=MANY, rules=(once("PUBLISH", Bytes(FRAMES[frame])),))
    story = client.play(script, lambda s: len(publishes(s)) >= 3, within=LONG)
    alive, ended = len(publishes(story)) >= 3, story.first(Ended)
    if ended is not None and not alive:
        # The first short run has shown that the producer does not end by itself.
        return observed(f"ended:{ended.code}")
    return _observe_life(story, alive=alive)


@client_case("robust/node-loop", "smart.client-robust.loop")
def test_node_loop(client: Client) -> Observation:
    """A client pauses between its connections to a node that closes each of them."""
    rules = (
        Rule("connect", (After(1.0, (Note(),)),), peer=NODE_1, first=1, last=1),
        Rule("connect", (Close(reset=True),), peer=NODE_1),
    )
    story = client.play(
        Script(client.role, publishes=2, every=0.5, rules=rules),
        any_of(is_marked, lambda s: _attempts(s) > MOST_CALM),
    )
    value = "calm" if _attempts(story) <= most_calm(story, client.role) else "hot"
    seen = value == "hot" or is_marked(story)
    return shown(story, value, seen=seen, note=f"{_attempts(story)} connections in a second")


def _attempts(story: Story) -> int:
    return len(story.of(Connected, lambda event: event.peer == NODE_1))
