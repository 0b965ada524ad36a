"""Time that passes: what was polled rightly at first is polled so seconds later, too."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.asking import Polling
from wireproof_kit.iggy.http import JsonPolled
from wireproof_kit.iggy.observing import MISSING, as_set, observe_unread
from wireproof_kit.iggy.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.waiting import until
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.send_messages import SentMessage
from wireproof_spec.iggy.states import MARKED_FOR_DELETION, POISONED, UNAVAILABLE
from wireproof_suites.iggy.changing import NOT_CHANGED, NOT_SET, are_set, is_done
from wireproof_suites.iggy.contents import (
    DISTINCT_ID,
    FIFTEEN_HEADERS,
    HEADER_SETS,
    PAYLOAD,
    PAYLOADS,
    message,
    numbered,
)
from wireproof_suites.iggy.json_reading import observe_unread_json
from wireproof_suites.iggy.kinds import EVERY_KIND

LASTING_SECONDS = 4.5
"""Longer than anybody is late."""

EVERY_SECONDS = 0.5
IDS = (DISTINCT_ID, (1 << 53) + 1, 1 << 64, (1 << 128) - 1, 0)
HEADERS: tuple[tuple[Header, ...], ...] = (
    *HEADER_SETS.values(),
    *(tuple(headers) for headers in EVERY_KIND.values()),
    tuple(headers[0] for headers in EVERY_KIND.values()) + FIFTEEN_HEADERS,
)

CONTENTS: dict[str, tuple[SentMessage, ...]] = {
    "payloads": tuple(message(each, *FIFTEEN_HEADERS[:2]) for each in PAYLOADS.values()),
    "payloads-without-headers": tuple(message(each) for each in PAYLOADS.values()),
    "headers": tuple(message(PAYLOAD, *each) for each in HEADERS),
    "ids": tuple(message(PAYLOAD, id=each) for each in IDS),
}
STATES_SET = {1: UNAVAILABLE, 2: POISONED, 3: MARKED_FOR_DELETION}
FLIPPED_BIT = 5
FROM_THE_SECOND = Polling(value=1)


@case("iggy/poll/again-later", clause="iggy.poll.again", waiting=True)
@pytest.mark.parametrize("sent", CONTENTS.values(), ids=CONTENTS)
def test_later(server: Server, topic: Topic, sent: tuple[SentMessage, ...]) -> Observation:
    """Messages are polled for seconds as they were at first."""
    first = server.sent_and_polled(topic, *sent)
    if len(first.seen) < len(sent):
        return observe_unread(first) or observed(MISSING, overdue=True)

    def look() -> object:
        return _told(server.poll(topic)), _told(server.poll(topic, FROM_THE_SECOND))

    return _lasting(look(), look)


@case("iggy/poll/again-later/changed", clause="iggy.poll.again", needs=("control",), waiting=True)
def test_changed_later(server: Server, topic: Topic) -> Observation:
    """Messages whose states and payloads were changed are polled for seconds as at first."""
    before = server.sent_and_polled(topic, *numbered(5))
    if len(before.seen) < 5:
        return observe_unread(before) or observed(MISSING, overdue=True)
    not_done = _not_changed(server, topic)
    if not_done is not None:
        return not_done

    return _lasting(_told(server.poll(topic)), lambda: _told(server.poll(topic)))


@case("iggy/json/again-later", clause="iggy.poll.again", needs=("http",), waiting=True)
@pytest.mark.parametrize("sent", CONTENTS.values(), ids=CONTENTS)
def test_json_later(server: Server, topic: Topic, sent: tuple[SentMessage, ...]) -> Observation:
    """Messages are polled over HTTP for seconds as they were at first."""
    server.sent(topic, *sent)
    first = server.got(topic, len(sent))
    if len(first.objects) < len(sent):
        return observe_unread_json(first) or observed(MISSING, overdue=True)

    return _lasting(_told_in_json(first), lambda: _told_in_json(server.get(topic)))


@case(
    "iggy/json/again-later/changed",
    clause="iggy.poll.again",
    needs=("http", "control"),
    waiting=True,
)
def test_json_changed_later(server: Server, topic: Topic) -> Observation:
    """Messages whose states and payloads were changed are polled over HTTP as at first."""
    server.sent(topic, *numbered(5))
    before = server.got(topic, 5)
    if len(before.objects) < 5:
        return observe_unread_json(before) or observed(MISSING, overdue=True)
    not_done = _not_changed(server, topic)
    if not_done is not None:
        return not_done

    return _lasting(_told_in_json(server.get(topic)), lambda: _told_in_json(server.get(topic)))


def _not_changed(server: Server, topic: Topic) -> Observation | None:
    """Set states and turn a bit over; ``not-set`` or ``not-changed`` when that cannot be done."""
    if not are_set(server, topic, STATES_SET):
        return observed(NOT_SET)
    return None if is_done(server.control.flip(topic, 4, FLIPPED_BIT)) else observed(NOT_CHANGED)


def _lasting(first: object, look: Callable[[], object]) -> Observation:
    """Look for seconds whether something else is told than at first."""
    other = until(
        lambda: True if look() != first else None, seconds=LASTING_SECONDS, every=EVERY_SECONDS
    )
    return observed("different" if other else "same")


def _told(polled: Polled) -> object:
    """Return all that a poll tells; the order of headers tells nothing."""
    unread = observe_unread(polled)
    if unread is not None:
        return unread.value
    return [
        (polled.layout, replace(each, headers=()), as_set(each.headers))
        for each in polled.messages
    ]


def _told_in_json(polled: JsonPolled) -> object:
    unread = observe_unread_json(polled)
    return polled.objects if unread is None else unread.value
