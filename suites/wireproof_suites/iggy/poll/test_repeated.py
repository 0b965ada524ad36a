"""A poll that was answered correctly at first is still answered correctly seconds later."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.states import MARKED_FOR_DELETION, POISONED, UNAVAILABLE
from wireproof_suites.iggy.steps.elapsed_time import (
    json_poll_content,
    observe_fewer,
    observe_fewer_json,
    poll_content,
    poll_repeatedly,
)
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND
from wireproof_suites.iggy.steps.message_contents import (
    BOUNDS,
    DISTINCT_ID,
    FIFTEEN_HEADERS,
    HEADER_SETS,
    KEYS,
    PAYLOAD,
    PAYLOADS,
    make_numbered,
    message,
)
from wireproof_suites.iggy.steps.stored_states import (
    NOT_CHANGED,
    NOT_SET,
    flip_payload,
    list_offsets,
    set_states,
)

IDS = (DISTINCT_ID, (1 << 53) + 1, 1 << 64, (1 << 128) - 1, 0)
HEADERS: tuple[tuple[Header, ...], ...] = (
    *HEADER_SETS.values(),
    *(tuple(headers) for headers in EVERY_KIND.values()),
    tuple(headers[0] for headers in EVERY_KIND.values()) + FIFTEEN_HEADERS,
)
KEYED = (*(Header(key, STRING, b"v") for key in KEYS.values()), *BOUNDS.values())

CONTENTS: dict[str, tuple[SentMessage, ...]] = {
    "payloads": tuple(message(each, *FIFTEEN_HEADERS[:2]) for each in PAYLOADS.values()),
    "payloads-without-headers": tuple(message(each) for each in PAYLOADS.values()),
    "headers": tuple(message(PAYLOAD, *each) for each in HEADERS),
    "keys": tuple(message(PAYLOAD, each) for each in KEYED),
    "ids": tuple(message(PAYLOAD, id=each) for each in IDS),
}
STATES_SET = {1: UNAVAILABLE, 2: POISONED, 3: MARKED_FOR_DELETION}
UNKNOWN_SET = {1: 0, 3: 11}
FLIPPED_BIT = 5
FROM_THE_SECOND = Polling(value=1)
ONE_BY_ONE = tuple(Polling(value=offset, count=1) for offset in range(5))


@case("iggy/poll/again-later", clause="iggy.poll.again", waiting=True)
@pytest.mark.parametrize("sent", CONTENTS.values(), ids=CONTENTS)
def test_later(server: Server, topic: Topic, sent: tuple[SentMessage, ...]) -> Observation:
    """Repeated polls over several seconds return the messages of the first poll."""
    fewer = observe_fewer(server.sent_and_polled(topic, *sent), len(sent))
    if fewer is not None:
        return fewer

    def look() -> object:
        return poll_content(server.poll(topic)), poll_content(server.poll(topic, FROM_THE_SECOND))

    return poll_repeatedly(look(), look)


@case("iggy/poll/again-later/changed", clause="iggy.poll.again", needs=("control",), waiting=True)
def test_changed_later(server: Server, topic: Topic) -> Observation:
    """Messages whose state or payload was changed on the server read the same at each poll."""
    fewer = observe_fewer(server.sent_and_polled(topic, *make_numbered(5)), 5)
    if fewer is not None:
        return fewer
    not_done = _not_changed(server, topic)
    if not_done is not None:
        return not_done

    return poll_repeatedly(
        poll_content(server.poll(topic)), lambda: poll_content(server.poll(topic))
    )


@case(
    "iggy/poll/again-later/unknown-state",
    clause="iggy.poll.again",
    needs=("control",),
    waiting=True,
)
def test_unknown_state_later(server: Server, topic: Topic) -> Observation:
    """Repeated polls of messages with an undefined state return the same result for seconds."""
    fewer = observe_fewer(server.sent_and_polled(topic, *make_numbered(5)), 5)
    if fewer is not None:
        return fewer
    if not set_states(server, topic, UNKNOWN_SET):
        return observed(NOT_SET)

    def look() -> object:
        return [poll_content(server.poll(topic, each)) for each in ONE_BY_ONE]

    return poll_repeatedly(look(), look)


@case("iggy/json/again-later", clause="iggy.poll.again", needs=("http",), waiting=True)
@pytest.mark.parametrize("sent", CONTENTS.values(), ids=CONTENTS)
def test_json_later(server: Server, topic: Topic, sent: tuple[SentMessage, ...]) -> Observation:
    """Repeated HTTP polls over several seconds return the messages of the first poll."""
    server.send_accepted(topic, *sent)
    first = server.get_until(topic, len(sent))
    fewer = observe_fewer_json(first, len(sent))
    if fewer is not None:
        return fewer

    return poll_repeatedly(json_poll_content(first), lambda: json_poll_content(server.get(topic)))


@case(
    "iggy/json/again-later/changed",
    clause="iggy.poll.again",
    needs=("http", "control"),
    waiting=True,
)
def test_json_changed_later(server: Server, topic: Topic) -> Observation:
    """Repeated HTTP polls return messages with changed state or payload the same way."""
    server.send_accepted(topic, *make_numbered(5))
    fewer = observe_fewer_json(server.get_until(topic, 5), 5)
    if fewer is not None:
        return fewer
    not_done = _not_changed(server, topic)
    if not_done is not None:
        return not_done

    return poll_repeatedly(
        json_poll_content(server.get(topic)), lambda: json_poll_content(server.get(topic))
    )


@case(
    "iggy/json/again-later/unknown-state",
    clause="iggy.poll.again",
    needs=("http", "control"),
    waiting=True,
)
def test_json_unknown_state_later(server: Server, topic: Topic) -> Observation:
    """Repeated HTTP polls return the same messages, also those whose state byte is undefined."""
    server.send_accepted(topic, *make_numbered(5))
    fewer = observe_fewer_json(server.get_until(topic, 5), 5)
    if fewer is not None:
        return fewer
    if not set_states(server, topic, UNKNOWN_SET):
        return observed(NOT_SET)

    def look() -> object:
        return [
            json_poll_content(server.get(topic, value=each.value, count=each.count))
            for each in ONE_BY_ONE
        ]

    return poll_repeatedly(look(), look)


def _not_changed(server: Server, topic: Topic) -> Observation | None:
    """Set states and turn a bit over; ``not-set`` or ``not-changed`` when that cannot be done."""
    offsets = list_offsets(server, topic, 5)
    if not set_states(server, topic, STATES_SET, offsets):
        return observed(NOT_SET)
    is_flipped = flip_payload(server, topic, 4, FLIPPED_BIT, offsets)
    return None if is_flipped else observed(NOT_CHANGED)
