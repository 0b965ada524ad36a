"""Polled messages: their layout, states and headers, as the user of a client is given them."""

import pytest

from wireproof_kit.clients.observe import any_of, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.changes import UNUSUAL_OBJECTS
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import ask_poll
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.log import make_message
from wireproof_kit.iggy.clients.probes import polls
from wireproof_kit.iggy.clients.script import LOG_SIZE, Messages, Script, Transport
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.header_kinds import BOOL, STRING, UINT64
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.states import AVAILABLE, STATES, state_name
from wireproof_suites.iggy.client.client_case import client_case, over_both
from wireproof_suites.iggy.client.seen import (
    is_malformed,
    is_told,
    not_told,
    observe_given,
    observe_place,
    play_poll,
    refused,
    told,
)
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND

PUBLISHED = (
    Header("key_3", UINT64, (123456).to_bytes(8, "little")),
    Header("key 1", STRING, b"value1"),
    Header("key-2", BOOL, b"\x01"),
)
"""The headers of the published example."""
CAPITAL = Header("Key-4", STRING, b"value4")
FIELDS = (
    make_message(0, b"orders_data_2", id=0x_AE9793D5_4A1C_4E4B_9BBE_2D3B7B4A8F34),
    make_message(1, b"orders_data_3", headers=PUBLISHED),
    make_message(2, bytes(range(256)), id=7),
)
NUMBERS = make_message(
    2**63 + 5,
    b"wireproof-numbers-4",
    id=2**128 - 1,
    timestamp=2**63 + 7,
)
"""Every number has its highest bit set."""
UNKNOWN_STATE = 77
STATE_NAMES = {name.replace("_", "-"): code for code, name in STATES.items()}


@over_both("poll/fields", "layout", "consumer", "driver")
def test_fields(client: Client, transport: Transport) -> Observation:
    """The user of a client is given every polled message with its fields as sent."""
    return observe_given(play_poll(client, transport, Messages(FIELDS)), FIELDS)


@over_both("poll/numbers", "layout", "consumer", "driver")
def test_numbers(client: Client, transport: Transport) -> Observation:
    """The user of a client is given the offset, time, id and checksum exactly, however large."""
    return observe_given(play_poll(client, transport, Messages((NUMBERS,))), (NUMBERS,))


@over_both("poll/empty", "layout", "consumer", "driver")
def test_empty(client: Client, transport: Transport) -> Observation:
    """The user of a client is given no message when a poll has none."""
    return observe_given(play_poll(client, transport, Messages(())), ())


@over_both("poll/state", "state", "consumer", "driver", each=STATE_NAMES)
def test_state(client: Client, transport: Transport, name: str) -> Observation:
    """The user of a client is told the state of a message, or the message is withheld."""
    code = STATE_NAMES[name]
    sent = (make_message(0, state=code), make_message(1))
    story = play_poll(client, transport, Messages(sent))
    messages = told(story)
    if messages is None:
        return refused(story)
    first = next((each for each in messages if each.get("offset") == "0"), None)
    if first is None:
        return unless(story, "messages:fewer" if code == AVAILABLE else "state:withheld")
    if not is_told(story, "state"):
        return not_told("state")
    found = first.get("state")
    value = "state:as-sent" if found == state_name(code) else "state:other"
    return unless(story, value, note=f"told {found}")


@over_both("poll/unknown-state", "unknown-state", "consumer", "driver")
def test_unknown_state(client: Client, transport: Transport) -> Observation:
    """A message with an unknown state is refused, withheld, or told with an unknown state."""
    sent = (make_message(0, state=UNKNOWN_STATE), make_message(1))
    story = play_poll(client, transport, Messages(sent))
    messages = told(story)
    if messages is None:
        return refused(story)
    first = next((each for each in messages if each.get("offset") == "0"), None)
    if first is None:
        return unless(story, "state:withheld")
    if not is_told(story, "state"):
        return not_told("state")
    known = first.get("state") in STATES.values()
    note = f"told {first.get('state')}"
    return unless(story, "state:known" if known else "state:passed-on", note=note)


@over_both("poll/headers", "headers", "consumer", "driver", each=("kinds", "published", "between"))
def test_headers(client: Client, transport: Transport, name: str) -> Observation:
    """The user of a client is given the headers of a message, with keys, kinds and values."""
    sent = {
        "kinds": [
            make_message(number, headers=tuple(headers))
            for number, headers in enumerate(EVERY_KIND.values())
        ],
        "published": [make_message(0, headers=PUBLISHED[::-1])],
        "between": [make_message(0, headers=(CAPITAL, *PUBLISHED)), make_message(1)],
    }[name]
    return _headers(client, transport, Messages(tuple(sent)))


@client_case("poll/headers-json", "headers", "consumer", "driver", "http")
@pytest.mark.parametrize("change", UNUSUAL_OBJECTS)
def test_headers_json(client: Client, change: str) -> Observation:
    """A client that polls JSON with an empty headers object gives its user no headers."""
    sent = (make_message(0), make_message(1))
    return _headers(client, "http", Messages(sent, change))


def _headers(client: Client, transport: Transport, reply: Messages) -> Observation:
    story = play_poll(client, transport, reply)
    if told(story) and not is_told(story, "headers"):
        return not_told("headers")
    return observe_given(story, reply.messages, ("headers", "payload"))


@over_both("poll/place", "place", "consumer")
def test_place(client: Client, transport: Transport) -> Observation:
    """A client polls the stream and the topic that its user named."""
    asks = (ask_poll(), ask_poll(10))
    story = client.play(
        Script("consumer", transport, asks=asks),
        any_of(lambda s: len(polls(s)) >= 2, is_malformed),
    )
    return observe_place(story, places_of(story))


def places_of(story: Story) -> list[PollMessages | StoreConsumerOffset]:
    """Return the polls and stored offsets of a client case, in order."""
    payloads = (event.payload for event in story.of(Asked))
    return [each for each in payloads if isinstance(each, PollMessages | StoreConsumerOffset)]


@over_both("poll/position", "position", "consumer")
def test_position(client: Client, transport: Transport) -> Observation:
    """A client stores and polls no offset beyond the messages that it was given."""
    asks = tuple(ask_poll(offset) for offset in (0, 10, 20))
    story = client.play(
        Script("consumer", transport, asks=asks),
        any_of(lambda s: len(polls(s)) >= 3, is_malformed),
    )
    positions = list(_positions(story.of(Asked)))
    if not positions:
        note = "the client names no position"
        return shown(story, "unsupported", seen=len(polls(story)) >= 3, note=note)
    wrong = [(found, most) for found, most in positions if found > most]
    note = f"offset {wrong[0][0]} where {wrong[0][1]} is due at most" if wrong else ""
    seen = bool(wrong) or len(polls(story)) >= 3
    return shown(story, "other" if wrong else "as-given", seen=seen, note=note)


def _positions(requests: list[Asked]) -> list[tuple[int, int]]:
    """Return each offset that the client names after its first poll, and the highest due."""
    positions: list[tuple[int, int]] = []
    following: int | None = None
    for event in requests:
        if isinstance(event.payload, StoreConsumerOffset) and following is not None:
            positions.append((event.payload.offset, following - 1))
        if event.poll is None:
            continue
        if event.poll.strategy == OFFSET and following is not None:
            positions.append((event.poll.value, following))
        if event.poll.strategy == OFFSET:
            end = min(event.poll.value + event.poll.count, LOG_SIZE)
            following = max(following or 0, end)
        else:
            following = LOG_SIZE
    return positions
