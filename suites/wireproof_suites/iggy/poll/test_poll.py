"""Polling: the fields before the messages, the number of messages, and automatic commits."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import MISSING, as_set, observe, observe_unread
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, STRATEGIES, TIMESTAMP
from wireproof_spec.iggy.message import Message
from wireproof_suites.iggy.steps.message_contents import HEADER_SETS, message
from wireproof_suites.iggy.steps.poll_results import (
    AS_ASKED,
    ask,
    observe_asked,
    observe_beginning,
    observe_nothing,
    offsets_of,
    send_and_check,
)

BEYOND = {"one-after-the-last": 0, "far-beyond": 1 << 40, "greatest": (1 << 64) - 1}
EVERY_STRATEGY = {STRATEGIES[code]: code for code in (OFFSET, TIMESTAMP, FIRST, LAST, NEXT)}


@case("iggy/poll/head", clause="iggy.poll.head")
@pytest.mark.parametrize("count", [0, 1, 3])
def test_head(server: Server, topic: Topic, count: int) -> Observation:
    """A poll response starts with a count, with partition, offset and count, or with a message."""
    polled = _of(server, topic, count)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if len(polled.seen) < count:
        return observed(MISSING, overdue=True)

    return observed(f"head:{polled.head}")


@case("iggy/poll/count", clause="iggy.poll.count")
@pytest.mark.parametrize("count", [1, 5, 100])
def test_count(server: Server, topic: Topic, count: int) -> Observation:
    """The count in a poll response equals the number of messages that follow."""
    return _count(server, topic, count)


@case("iggy/poll/count/0", clause="iggy.poll.empty")
def test_count_of_none(server: Server, topic: Topic) -> Observation:
    """The count in the response to a poll of an empty partition is 0."""
    return _count(server, topic, 0)


def _count(server: Server, topic: Topic, count: int) -> Observation:
    polled = _of(server, topic, count)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if len(polled.seen) < count:
        return observed(MISSING, overdue=True)
    if polled.declared is None and len(polled.seen) == count:
        return observed("count:none")
    note = f"{polled.declared} declared, {len(polled.seen)} there"

    return observed(
        "count:right" if polled.declared == len(polled.seen) == count else "count:wrong", note=note
    )


@case("iggy/poll/as-many", clause="iggy.poll.as-many")
@pytest.mark.parametrize("count", [1, 3, 5, 6, (1 << 32) - 1])
def test_as_many(server: Server, topic: Topic, count: int) -> Observation:
    """A poll returns as many messages as requested, if that many are available."""
    sent = send_and_check(server, topic, 5)

    return ask(server, topic, sent[:count], Polling(count=count))


@case("iggy/poll/by-name", clause="iggy.poll.request")
def test_by_name(server: Server, topic: Topic) -> Observation:
    """A poll may identify the stream and the topic by name."""
    sent = send_and_check(server, topic, 3)

    return observe_beginning(server.poll(topic, by=topic.by_name), sent)


@case("iggy/poll/strategies", clause="iggy.poll.request")
@pytest.mark.parametrize("auto_commit", [0, 1], ids=["no-commit", "commit"])
@pytest.mark.parametrize("strategy", EVERY_STRATEGY.values(), ids=EVERY_STRATEGY)
def test_strategies(server: Server, topic: Topic, strategy: int, auto_commit: int) -> Observation:
    """A well-formed poll with any strategy is answered with success."""
    send_and_check(server, topic, 3)
    value = _times(server, topic)[0] if strategy == TIMESTAMP else 0
    polling = Polling(strategy=strategy, value=value, count=3, auto_commit=auto_commit)

    return observe(server.poll(topic, polling).answer)


@case("iggy/poll/partition-alone", clause="iggy.poll.request")
@pytest.mark.parametrize("strategy", EVERY_STRATEGY.values(), ids=EVERY_STRATEGY)
def test_partition_alone(server: Server, strategy: int) -> Observation:
    """A poll of a partition returns none of the messages of the topic's other partitions."""
    topic = server.new_topic(partitions=3)
    own = {
        each: send_and_check(server, topic, 4, partition=each)
        for each in range(1, topic.partitions + 1)
    }
    found = (
        _of_partition(server, replace(topic, partition=each), sent, strategy)
        for each, sent in own.items()
    )

    return first_unlike(found, "partition:as-asked")


def _of_partition(
    server: Server, topic: Topic, sent: Sequence[SentMessage], strategy: int
) -> Observation:
    value = min(_times(server, topic), default=0) if strategy == TIMESTAMP else 0
    polled = server.poll(topic, Polling(strategy=strategy, value=value, count=12))
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if not polled.seen:
        return observed("delivered:none")
    own = {each.payload for each in sent}
    is_own = all(each.payload in own for each in polled.messages)

    return observed("partition:as-asked" if is_own else "partition:other")


@case("iggy/poll/by-name/sent-by-name", clause="iggy.poll.request")
def test_sent_by_name(server: Server, topic: Topic) -> Observation:
    """Messages sent to a stream and topic by name can be polled by number."""
    sent = [message(b"by name", id=1)]
    server.client.ask(server.send_request(topic, *sent, by=topic.by_name))

    return observe_asked(server.poll_until(topic, 1), sent)


@case("iggy/poll/again", clause="iggy.poll.again")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_again(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """A second consumer can poll the messages that a first consumer polled."""
    server.sent_and_polled(topic, *[message(b"payload %d" % n, *headers) for n in range(5)])
    polls = [server.poll(topic, Polling(consumer=consumer)) for consumer in (1, 2)]
    for polled in polls:
        unread = observe_unread(polled)
        if unread is not None:
            return unread
    first, second = ([_all_of(each) for each in polled.messages] for polled in polls)
    if not first:
        return observed(MISSING, overdue=True)

    return observed("same" if first == second else "different")


@case("iggy/poll/offset", clause="iggy.poll.strategy-offset")
@pytest.mark.parametrize("which", [0, 1, 2, 4])
def test_offset(server: Server, topic: Topic, which: int) -> Observation:
    """A poll by offset starts at the message with that offset."""
    sent = send_and_check(server, topic, 5)
    offset = offsets_of(server, topic, 5)[which]

    return observe_beginning(server.poll(topic, Polling(value=offset)), sent[which:])


@case("iggy/poll/offset-beyond", clause="iggy.poll.strategy-offset")
@pytest.mark.parametrize("offset", BEYOND.values(), ids=BEYOND)
def test_offset_beyond(server: Server, topic: Topic, offset: int) -> Observation:
    """A poll by an offset after the last message returns no messages, or an error."""
    send_and_check(server, topic, 5)
    behind = offsets_of(server, topic, 5)[-1] + 1

    return observe_nothing(server.poll(topic, Polling(value=max(offset, behind))))


@case("iggy/poll/timestamp", clause="iggy.poll.strategy-timestamp")
@pytest.mark.parametrize("which", [0, 2, 4], ids=["first", "middle", "last"])
def test_timestamp(server: Server, topic: Topic, which: int) -> Observation:
    """A poll by timestamp starts at the first message not older than the timestamp."""
    sent = send_and_check(server, topic, 5, one_by_one=True)
    times = _times(server, topic)
    if len(times) < len(sent):
        return observed(MISSING, overdue=True)
    begin = times.index(times[which])

    return ask(server, topic, sent[begin:], Polling(strategy=TIMESTAMP, value=times[which]))


@case("iggy/poll/timestamp-before", clause="iggy.poll.strategy-timestamp")
@pytest.mark.parametrize("when", ["just-before", "1970"])
def test_timestamp_before(server: Server, topic: Topic, when: str) -> Observation:
    """A poll by a timestamp before the first message returns all messages, or none."""
    sent = send_and_check(server, topic, 3, one_by_one=True)
    value = _times(server, topic)[0] - 1 if when == "just-before" else 0
    seen = ask(server, topic, sent, Polling(strategy=TIMESTAMP, value=value))

    return observed("delivered:all") if seen.value == AS_ASKED else seen


@case("iggy/poll/timestamp-after", clause="iggy.poll.strategy-timestamp")
@pytest.mark.parametrize("when", ["just-after", "end-of-time"])
def test_timestamp_after(server: Server, topic: Topic, when: str) -> Observation:
    """A poll by a timestamp after the last message returns no messages."""
    send_and_check(server, topic, 3, one_by_one=True)
    value = _times(server, topic)[-1] + 1 if when == "just-after" else (1 << 64) - 1

    return observe_nothing(server.poll(topic, Polling(strategy=TIMESTAMP, value=value)))


@case("iggy/poll/first", clause="iggy.poll.strategy-first")
@pytest.mark.parametrize("value", [0, 3, (1 << 64) - 1])
@pytest.mark.parametrize("count", [1, 5])
def test_first(server: Server, topic: Topic, value: int, count: int) -> Observation:
    """A poll with strategy "first" starts at the first message and ignores the value."""
    sent = send_and_check(server, topic, 5)

    return ask(server, topic, sent[:count], Polling(strategy=FIRST, value=value, count=count))


@case("iggy/poll/last", clause="iggy.poll.strategy-last")
@pytest.mark.parametrize("value", [0, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 6, 100])
def test_last(server: Server, topic: Topic, value: int, count: int) -> Observation:
    """A poll with strategy "last" returns the last messages in their stored order."""
    sent = send_and_check(server, topic, 5)

    return ask(server, topic, sent[-count:], Polling(strategy=LAST, value=value, count=count))


@case("iggy/poll/next", clause="iggy.poll.strategy-next")
@pytest.mark.parametrize("stored", [None, 0, 1, 3])
@pytest.mark.parametrize("value", [0, 4])
def test_next(server: Server, topic: Topic, stored: int | None, value: int) -> Observation:
    """A poll with strategy "next" starts after the stored offset, or at the first message."""
    sent = send_and_check(server, topic, 5)
    if stored is not None:
        server.store_offset(topic, offsets_of(server, topic, 5)[stored])
    due = sent if stored is None else sent[stored + 1 :]

    return ask(server, topic, due, Polling(strategy=NEXT, value=value))


@case("iggy/poll/empty", clause="iggy.poll.empty")
@pytest.mark.parametrize("strategy", EVERY_STRATEGY.values(), ids=EVERY_STRATEGY)
def test_empty(server: Server, topic: Topic, strategy: int) -> Observation:
    """A poll of an empty partition returns no messages, and returns one after a send."""
    seen = observe_nothing(server.poll(topic, Polling(strategy=strategy)))
    send_and_check(server, topic, 1)

    return seen


@case("iggy/poll/empty/after-all", clause="iggy.poll.empty")
def test_next_after_all(server: Server, topic: Topic) -> Observation:
    """A poll with strategy "next" returns nothing once the last message is committed."""
    send_and_check(server, topic, 3)
    server.poll(topic, Polling(strategy=NEXT, auto_commit=1))

    return observe_nothing(server.poll(topic, Polling(strategy=NEXT)))


@case("iggy/poll/auto-commit", clause="iggy.poll.auto-commit")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_auto_commit(server: Server, topic: Topic, count: int) -> Observation:
    """A poll with auto-commit continues where the previous one ended."""
    sent = send_and_check(server, topic, 5)
    polling = Polling(strategy=NEXT, count=count, auto_commit=1)
    polls = (
        ask(server, topic, sent[first : first + count], polling) for first in range(0, 5, count)
    )

    return first_unlike(polls, AS_ASKED)


@case("iggy/poll/no-commit", clause="iggy.poll.auto-commit")
@pytest.mark.parametrize("byte", [0, 2, 255])
def test_no_commit(server: Server, topic: Topic, byte: int) -> Observation:
    """A poll whose commit byte is not 1 stores no offset."""
    sent = send_and_check(server, topic, 5)
    polling = Polling(strategy=NEXT, count=2, auto_commit=byte)

    return first_unlike((ask(server, topic, sent[:2], polling) for _ in range(3)), AS_ASKED)


def _of(server: Server, topic: Topic, count: int) -> Polled:
    if not count:
        return server.poll(topic)
    return server.sent_and_polled(topic, *[message(b"message %d" % n) for n in range(count)])


def _times(server: Server, topic: Topic) -> list[int]:
    return [each.timestamp for each in server.poll(topic).messages]


def _all_of(message: Message) -> tuple[object, ...]:
    headers = tuple(as_set(message.headers))
    return (
        message.offset,
        message.state,
        message.timestamp,
        message.id,
        message.checksum,
        headers,
        message.payload,
    )
