"""The rules about a whole poll: whether it can be read, how many messages came, in which order."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from wireproof_kit.iggy.ledger.events import PollAnswered
from wireproof_kit.iggy.observe.observations import difference_of
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.wire.http import JsonPolled
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.kinds import AUTO_COMMIT, FIRST, GROUP_KIND, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_spec.iggy.message import Message

GROUP, AUTO_COMMITTED = "group", "auto-commit"
STRATEGY_WAYS: Final[dict[int, str]] = {
    TIMESTAMP: "by-timestamp",
    FIRST: "by-first",
    LAST: "by-last",
    NEXT: "by-next",
}
"""What the way of a message has if it was polled otherwise than by offset."""

_UNDECODABLE = "delivered:undecodable"
_COUNTS = ("count", "head")
_NOTHING = 1
"""A body of so few bytes says that there are no messages; some servers send one."""


def way_of_poll(poll: PollMessages) -> Iterator[str]:
    """Yield what is unusual about a poll: a group, a commit, a strategy other than offset."""
    if poll.consumer.kind == GROUP_KIND:
        yield GROUP
    if poll.auto_commit == AUTO_COMMIT:
        yield AUTO_COMMITTED
    if poll.strategy in STRATEGY_WAYS:
        yield STRATEGY_WAYS[poll.strategy]


def judge_answer(event: PollAnswered) -> Iterator[Finding]:
    """Judge whether the answer to a poll is a list of messages, and has as many as it counts."""
    result = event.result
    if isinstance(result, JsonPolled):
        if result.answer.json is None and result.answer.body.strip() and event.is_closed:
            yield Finding("iggy.json.fields", _UNDECODABLE)
        return
    fault = result.fault
    if fault is None:
        yield from _judge_layout(result)
    elif fault.field != "messages" and result.size > _NOTHING and event.is_closed:
        # More messages than the kit decodes are its own limit.
        clause = "iggy.poll.count" if fault.field in _COUNTS else "iggy.message.layout"
        yield Finding(clause, _UNDECODABLE, difference=difference_of(fault))


def _judge_layout(result: Polled) -> Iterator[Finding]:
    if result.seen and result.layout == "old":
        yield Finding("iggy.message.old-layout", "layout:old")
    elif result.seen:
        yield Finding("iggy.message.old-layout")
    if result.declared is not None:
        note = f"{result.declared} declared, {len(result.seen)} there"
        word = "" if result.declared == len(result.seen) else "count:wrong"
        yield Finding("iggy.poll.count", word, note)


def judge_messages(
    poll: PollMessages, messages: Sequence[Message], *, of_one_partition: bool = True
) -> Iterator[Finding]:
    """Judge the messages of one poll together: number, order, and where they begin.

    It takes no knowledge of what was published, so that the proxy judges by it, too.
    """
    if len(messages) > poll.count:
        note = f"{len(messages)} messages for a count of {poll.count}"
        yield Finding("iggy.poll.as-many", "delivered:more", note)
    elif len(messages) == poll.count:
        yield Finding("iggy.poll.as-many")
    if not messages or not of_one_partition:
        return
    yield from _judge_order(messages)
    first = messages[0]
    if poll.strategy == OFFSET and first.offset <= poll.value:
        # Messages between the offset and the first one may be withheld or expired.
        difference = Difference("offset", None, f"{poll.value} or more", str(first.offset))
        word = "delivered:id" if first.offset < poll.value else ""
        yield Finding("iggy.poll.strategy-offset", word, difference=difference if word else None)
    if poll.strategy == TIMESTAMP:
        difference = Difference("timestamp", None, f"{poll.value} or more", str(first.timestamp))
        word = "delivered:id" if first.timestamp < poll.value else ""
        yield Finding(
            "iggy.poll.strategy-timestamp", word, difference=difference if word else None
        )


def _judge_order(messages: Sequence[Message]) -> Iterator[Finding]:
    """Judge whether offsets increase; where they do, whether times do not decrease."""
    if len(messages) < 2:
        return
    offsets = [message.offset for message in messages]
    if not all(one < other for one, other in pairwise(offsets)):
        difference = Difference("offset", 0, "increasing offsets", str(offsets[:10]))
        yield Finding("iggy.message.offset-sequence", "offsets:other", difference=difference)
        return
    yield Finding("iggy.message.offset-sequence")
    times = [message.timestamp for message in messages]
    if not all(one <= other for one, other in pairwise(times)):
        difference = Difference("timestamp", 9, "times that do not decrease", str(times[:10]))
        yield Finding("iggy.message.timestamp-kept", "timestamp:backwards", difference=difference)
    else:
        yield Finding("iggy.message.timestamp-kept")
