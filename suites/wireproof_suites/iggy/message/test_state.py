"""Message states: the default, a state that was set, and messages withheld for their state."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import (
    AS_SENT,
    observe,
    observe_messages,
    observe_unread,
)
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_spec.iggy.states import MARKED_FOR_DELETION, POISONED, UNAVAILABLE
from wireproof_suites.iggy.steps.message_contents import (
    HEADER_SETS,
    make_numbered,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.polled_messages import observe_states
from wireproof_suites.iggy.steps.stored_states import (
    EVERY_STATE,
    NOT_SET,
    UNKNOWN_STATES,
    WITHHELD,
    is_withheld,
    set_states,
)

SIZES = [1, 13, 4096, 4097, 65536]
SOME_SET = {
    "unavailable": {1: UNAVAILABLE},
    "poisoned": {2: POISONED},
    "marked-for-deletion": {3: MARKED_FOR_DELETION},
    "one-of-each": {1: UNAVAILABLE, 2: POISONED, 3: MARKED_FOR_DELETION},
    "the-first": {0: UNAVAILABLE},
    "the-last": {4: POISONED},
    "all-but-one": dict.fromkeys((0, 1, 3, 4), MARKED_FOR_DELETION),
}


@case("iggy/state/default", clause="iggy.state.default")
@pytest.mark.parametrize("size", SIZES)
def test_default(server: Server, topic: Topic, size: int) -> Observation:
    """A newly sent message of any size, with or without headers, has the state "available"."""
    sent = [message(make_payload(size), *headers) for headers in HEADER_SETS.values()]

    return observe_states(server.sent_and_polled(topic, *sent), sent)


@case("iggy/state/default-again", clause="iggy.state.default")
def test_default_again(server: Server, topic: Topic) -> Observation:
    """A message that was already polled still has the state "available"."""
    sent = make_numbered(1)
    server.send_accepted(topic, *sent)
    seen = (observe_states(server.poll_until(topic, 1), sent) for _ in range(3))

    return first_unlike(seen, "state:available")


@case("iggy/state/code", clause="iggy.state.codes")
@pytest.mark.parametrize("state", EVERY_STATE.values(), ids=EVERY_STATE)
def test_code(server: Server, topic: Topic, state: int) -> Observation:
    """After a request changed a message's state, a poll returns the new code or no message."""
    sent = make_numbered(1)
    before = server.sent_and_polled(topic, *sent)
    if not before.seen:
        return observe_states(before, sent)
    if not set_states(server, topic, {0: state}):
        return observed(NOT_SET)
    polled = server.poll(topic)
    if is_withheld(state, polled, 1):
        return observed(WITHHELD)

    return observe_states(polled, sent, state=state, word="as-set")


@case("iggy/state/delivered", clause="iggy.state.available-delivered")
@pytest.mark.parametrize("states", SOME_SET.values(), ids=SOME_SET)
def test_delivered(server: Server, topic: Topic, states: dict[int, int]) -> Observation:
    """A poll over messages in different states returns at least the available ones."""
    sent = make_numbered(5)
    server.send_accepted(topic, *sent)
    if not set_states(server, topic, states):
        return observed(NOT_SET)
    polled = server.poll_on(topic, len(sent))
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    found = {each.payload for each in polled.messages}
    owed = {each.payload for offset, each in enumerate(sent) if offset not in states}
    if found == {each.payload for each in sent}:
        return observed("delivered:all")

    return observed("delivered:some" if owed <= found else "delivered:too-few")


@case("iggy/state/unknown", clause="iggy.state.unknown")
@pytest.mark.parametrize("state", UNKNOWN_STATES.values(), ids=UNKNOWN_STATES)
def test_unknown(server: Server, topic: Topic, state: int) -> Observation:
    """Polling a message with an undefined state code returns an error, or the code as it is."""
    sent = make_numbered(1)
    server.send_accepted(topic, *sent)
    if not set_states(server, topic, {0: state}):
        return observed(NOT_SET)
    polled = server.poll(topic)
    if observe_unread(polled) is not None:
        return observe(polled.answer, then=server.client.goes_on())

    return observe_states(polled, sent, state=state, word="as-set")


@case("iggy/state/unknown-alone", clause="iggy.state.unknown-alone")
@pytest.mark.parametrize("state", UNKNOWN_STATES.values(), ids=UNKNOWN_STATES)
def test_unknown_alone(server: Server, topic: Topic, state: int) -> Observation:
    """A message with an undefined state code does not break polls of its neighbours."""
    sent = make_numbered(3)
    server.send_accepted(topic, *sent)
    if not set_states(server, topic, {1: state}):
        return observed(NOT_SET)
    around = (
        observe_messages(server.poll(topic, Polling(value=offset, count=1)), [sent[offset]])
        for offset in (0, 2)
    )

    return first_unlike(around, AS_SENT)
