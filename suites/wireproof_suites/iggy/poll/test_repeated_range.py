"""Time that passes over polls that ask for some of many messages, by every strategy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import AS_SENT
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, STRATEGIES, TIMESTAMP
from wireproof_suites.iggy.steps.elapsed_time import (
    NOT_AT_FIRST,
    json_poll_content,
    observe_fewer,
    poll_content,
    poll_repeatedly,
)
from wireproof_suites.iggy.steps.json_messages import observe_json_messages
from wireproof_suites.iggy.steps.message_contents import make_numbered
from wireproof_suites.iggy.steps.poll_results import AS_ASKED, observe_asked

MANY = 12
AT_FIRST = 2
STORED_OFFSET = 1
CONSUMER = 1

Due: TypeAlias = Sequence[SentMessage]
Ask: TypeAlias = Callable[[Polling, Due], tuple[bool, object]]
"""Polls once: whether what is due came, and all that was told."""


@case("iggy/poll/again-later/asked", clause="iggy.poll.again", waiting=True)
def test_asked_later(server: Server, topic: Topic) -> Observation:
    """Repeated polls for part of the messages, by each strategy, return the same messages."""

    def ask(polling: Polling, due: Due) -> tuple[bool, object]:
        polled = server.poll(topic, polling)
        return observe_asked(polled, due).value == AS_ASKED, poll_content(polled)

    return _asked_for_seconds(server, topic, ask)


@case("iggy/json/again-later/asked", clause="iggy.poll.again", needs=("http",), waiting=True)
def test_json_asked_later(server: Server, topic: Topic) -> Observation:
    """Repeated HTTP polls for part of the messages, by each strategy, return the same ones."""

    def ask(polling: Polling, due: Due) -> tuple[bool, object]:
        polled = server.get(
            topic,
            kind=STRATEGIES[polling.strategy],
            value=polling.value,
            count=polling.count,
            id=CONSUMER,
            consumer_id=CONSUMER,
        )
        return observe_json_messages(polled, due).value == AS_SENT, json_poll_content(polled)

    return _asked_for_seconds(server, topic, ask)


def _asked_for_seconds(server: Server, topic: Topic, ask: Ask) -> Observation:
    """Repeat for seconds the polls that were answered correctly at first.

    A poll that was answered wrongly at first breaks another clause, and is left out here.
    """
    sent = make_numbered(MANY)
    server.send_accepted(topic, *sent[:AT_FIRST])
    server.send_accepted(topic, *sent[AT_FIRST:])
    everything = server.poll_until(topic, MANY)
    fewer = observe_fewer(everything, MANY)
    if fewer is not None:
        return fewer
    server.store_offset(topic, STORED_OFFSET, consumer=CONSUMER)
    due = _list_due(sent, [each.timestamp for each in everything.messages])
    first = {polling: ask(polling, each) for polling, each in due.items()}
    right = {polling: brought for polling, (is_due, brought) in first.items() if is_due}
    if not right:
        return observed(NOT_AT_FIRST)
    seen = poll_repeatedly(
        right, lambda: {polling: ask(polling, due[polling])[1] for polling in right}
    )

    return replace(seen, note=_left_out(polling for polling in due if polling not in right))


def _list_due(sent: Due, times: Sequence[int]) -> Mapping[Polling, Due]:
    """Return polls for fewer messages than there are, and what each must bring."""
    of_time = times.index(times[AT_FIRST])
    return {
        Polling(value=0, count=MANY - 1): sent[:-1],
        Polling(value=5, count=2): sent[5:7],
        Polling(strategy=TIMESTAMP, value=times[AT_FIRST], count=2): sent[of_time : of_time + 2],
        Polling(strategy=FIRST, value=3, count=2): sent[:2],
        Polling(strategy=LAST, value=3, count=2): sent[-2:],
        Polling(strategy=NEXT, value=4, count=2, consumer=CONSUMER): sent[
            STORED_OFFSET + 1 : STORED_OFFSET + 3
        ],
    }


def _left_out(polls: Iterable[Polling]) -> str:
    names = [STRATEGIES[each.strategy] for each in polls]
    return f"not as asked at first: {', '.join(names)}" if names else ""
