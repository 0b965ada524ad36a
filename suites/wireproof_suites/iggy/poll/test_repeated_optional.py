"""Repeated polls of messages that a server may take or refuse.

The messages that a server takes, and a valid message after them, are polled for seconds with the
same result as at first. The messages that it refuses do not appear later.
"""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.http import base64_text, is_success
from wireproof_kit.observation import Observation
from wireproof_suites.iggy.steps.elapsed_time import (
    are_some_of,
    json_objects,
    json_poll_content,
    messages_content,
    observe_fewer,
    observe_fewer_json,
    poll_content,
    poll_repeatedly,
    repeat_while,
)
from wireproof_suites.iggy.steps.message_contents import PAYLOAD, WIDTHS, message

SENTINEL = b"sentinel"
OF_OTHER_WIDTHS = tuple(message(PAYLOAD, each) for each in WIDTHS.values())
OF_ONE_ID = (message(b"first", id=7), message(b"second", id=7))
POSTED: dict[str, dict[str, object]] = {
    "empty-headers": {"payload": base64_text(PAYLOAD), "headers": {}},
    "empty-payload": {"payload": ""},
}


@case("iggy/poll/again-later/width", clause="iggy.poll.again", waiting=True)
def test_width_later(server: Server, topic: Topic) -> Observation:
    """Header values of a wrong size are refused, or each later poll returns them unchanged."""
    taken = _sent_one_by_one(server, topic)
    first = server.poll_until(topic, taken + 1)
    fewer = observe_fewer(first, taken + 1)
    if fewer is not None:
        return fewer
    seen = poll_repeatedly(poll_content(first), lambda: poll_content(server.poll(topic)))

    return _unless_refused(seen, is_refused=taken < len(OF_OTHER_WIDTHS))


@case("iggy/json/again-later/width", clause="iggy.poll.again", needs=("http",), waiting=True)
def test_json_width_later(server: Server, topic: Topic) -> Observation:
    """Header values of a wrong size are refused, or read the same at each later HTTP poll."""
    taken = _sent_one_by_one(server, topic)
    first = server.get_until(topic, taken + 1)
    fewer = observe_fewer_json(first, taken + 1)
    if fewer is not None:
        return fewer
    seen = poll_repeatedly(json_poll_content(first), lambda: json_poll_content(server.get(topic)))

    return _unless_refused(seen, is_refused=taken < len(OF_OTHER_WIDTHS))


@case("iggy/poll/again-later/repeated-id", clause="iggy.poll.again", waiting=True)
def test_repeated_id_later(server: Server, topic: Topic) -> Observation:
    """Repeated polls of two messages sent with one id return only those of the first poll."""
    for each in OF_ONE_ID:
        server.send(topic, each)
    first = server.poll_until(topic, len(OF_ONE_ID))
    fewer = observe_fewer(first, 1)
    if fewer is not None:
        return fewer
    known = messages_content(first)

    return repeat_while(lambda: are_some_of(messages_content(server.poll(topic)), known))


@case("iggy/json/again-later/repeated-id", clause="iggy.poll.again", needs=("http",), waiting=True)
def test_json_repeated_id_later(server: Server, topic: Topic) -> Observation:
    """Repeated HTTP polls of two messages sent with one id return only those of the first poll."""
    for each in OF_ONE_ID:
        server.send(topic, each)
    first = server.get_until(topic, len(OF_ONE_ID))
    fewer = observe_fewer_json(first, 1)
    if fewer is not None:
        return fewer

    return repeat_while(lambda: are_some_of(json_objects(server.get(topic)), first.objects))


@case("iggy/json/again-later/posted", clause="iggy.poll.again", needs=("http",), waiting=True)
@pytest.mark.parametrize("posted", POSTED.values(), ids=POSTED)
def test_posted_later(server: Server, topic: Topic, posted: dict[str, object]) -> Observation:
    """Empty headers or payloads posted over HTTP are refused, or read the same at each poll."""
    is_taken = is_success(server.post(topic, message(PAYLOAD), posted))
    server.send_accepted(topic, message(SENTINEL))
    due = 3 if is_taken else 1
    fewer = observe_fewer_json(server.get_until(topic, due), due)
    if fewer is not None:
        return fewer

    def look() -> object:
        return json_poll_content(server.get(topic)), poll_content(server.poll(topic))

    return _unless_refused(poll_repeatedly(look(), look), is_refused=not is_taken)


def _sent_one_by_one(server: Server, topic: Topic) -> int:
    """Send each message of an unusual width, then a valid one; return how many the server took."""
    answers = [server.send(topic, each) for each in OF_OTHER_WIDTHS]
    server.send_accepted(topic, message(SENTINEL))
    return sum(isinstance(each, Done) for each in answers)


def _unless_refused(seen: Observation, *, is_refused: bool) -> Observation:
    """Put ``refused`` before an observation if the server refused a message."""
    return replace(seen, value=f"refused,{seen.value}") if is_refused else seen
