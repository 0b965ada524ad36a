"""Polls: their head, where each strategy begins, how many come, and what they commit."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Replied
from wireproof_kit.iggy.apache.observe import (
    Polled,
    first_unlike,
    observe,
    observe_unread,
    read_polled,
)
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_suites.iggy.apache import steps
from wireproof_suites.iggy.apache.test_send import PARTITIONS, unknown_place

SIZES = {"one-batch": (14,), "several": (1, 3, 10), "single": (1,) * 6}
STRATEGIES = {"offset": OFFSET, "timestamp": TIMESTAMP, "first": FIRST, "last": LAST, "next": NEXT}
CONSUMER = 7
each_sizes = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
each_count = pytest.mark.parametrize("count", [1, 3, 100])
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


@case("iggy/apache/poll/head", clause="iggy.apache.poll.head")
def test_head(apache: ApacheServer) -> Observation:
    """The reply to a poll begins with partition, newest offset and count."""
    topic = apache.new_topic(PARTITIONS)
    polls: list[Polled] = []
    for number in range(PARTITIONS):
        steps.store(apache, topic, [number + 1], partition=number)
        polls.append(polled := apache.poll(topic, Polling(partition=number)))
        if polled.body is None:
            return observe_unread(polled) or observe(polled.answer)
        head = polled.body.head
        if not head.count or (head.partition_id, head.count) != (number, len(polled.frames)):
            return observed("head:other", note=f"{head}").on(polled)
    return observed("head:right").on(*polls)


@case("iggy/apache/poll/current", clause="iggy.apache.poll.current")
@each_strategy
def test_current(apache: ApacheServer, apache_topic: Topic, strategy: int) -> Observation:
    """The second field of the head is the newest offset of the partition."""
    polls: list[Polled] = []
    for size in (3, 2):
        steps.store(apache, apache_topic, [size])
        newest = apache.poll_all(apache_topic).offsets[-1:]
        polls.append(polled := apache.poll(apache_topic, Polling(strategy=strategy, count=1)))
        if polled.body is None or not newest:
            return observe_unread(polled) or observed("missing", overdue=True).on(polled)
        found = polled.body.head.current_offset
        if found != newest[0]:
            note = f"{found} in place of {newest[0]}"
            return observed("current:other", note=note).on(polled)
    # Whether a poll from beyond the end is answered by no message is another clause.
    polls.append(polled := apache.poll(apache_topic, Polling(value=found + 100)))
    if polled.body is not None and polled.body.head.current_offset != found:
        return observed("current:other", note="without messages").on(polled)
    return observed("current:newest").on(*polls)


@case("iggy/apache/poll/count", clause="iggy.apache.poll.count")
def test_count(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A poll returns no more messages than it asks for, and counts them rightly."""
    sent = steps.store(apache, apache_topic, (1, 3, 4))
    polls: list[Polled] = []
    for start in range(len(sent)):
        for count in range(1, len(sent) + 1):
            polls.append(polled := apache.poll(apache_topic, Polling(value=start, count=count)))
            if polled.body is None:
                return observe_unread(polled) or observe(polled.answer)
            came, note = len(polled.frames), f"{count} from offset {start}"
            if came > count or polled.body.head.count != came:
                word = "more" if came > count else "wrong"
                return observed(f"count:{word}", note=note).on(polled)
    return observed("count:right").on(*polls[-1:])


@case("iggy/apache/poll/slice", clause="iggy.apache.poll.slice")
@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize("count", [1, 2, 100])
def test_slice(apache: ApacheServer, start: int, count: int) -> Observation:
    """A poll that begins within a stored batch begins with the message of that offset."""
    topic, partition = apache.new_topic(PARTITIONS), PARTITIONS - 1
    sent = steps.store(apache, topic, [4], partition=partition)
    offsets = apache.poll_all(topic, Polling(partition=partition)).offsets
    if len(offsets) != len(sent):
        return observed("missing", overdue=True)
    due = offsets[start]
    polled = apache.poll(topic, Polling(value=due, count=count, partition=partition))
    if polled.offsets and polled.offsets[0] != due:
        note = f"offset {polled.offsets[0]} in place of {due}"
        return observed("delivered:other", note=note).on(polled)
    return steps.observe_asked(polled, sent[start : start + count], whole=False)


@case("iggy/apache/poll/offset", clause="iggy.apache.poll.offset")
@each_sizes
@each_count
def test_offset(
    apache: ApacheServer, apache_topic: Topic, sizes: tuple[int, ...], count: int
) -> Observation:
    """A poll by offset begins at the offset."""
    sent = steps.store(apache, apache_topic, sizes)
    offsets = apache.poll_all(apache_topic).offsets
    seen = [
        steps.observe_asked(
            apache.poll(apache_topic, Polling(value=offset, count=count)),
            sent[place : place + count],
            whole=False,
        )
        for place, offset in enumerate(offsets)
    ]
    return first_unlike(seen or [observed("missing", overdue=True)], steps.AS_ASKED)


@case("iggy/apache/poll/first", clause="iggy.apache.poll.first")
@each_sizes
@each_count
def test_first(
    apache: ApacheServer, apache_topic: Topic, sizes: tuple[int, ...], count: int
) -> Observation:
    """A poll with strategy first begins with the first message."""
    sent = steps.store(apache, apache_topic, sizes)
    polled = apache.poll(apache_topic, Polling(strategy=FIRST, count=count))
    return steps.observe_asked(polled, sent[:count], whole=False)


@case("iggy/apache/poll/last", clause="iggy.apache.poll.last")
@each_sizes
@each_count
def test_last(
    apache: ApacheServer, apache_topic: Topic, sizes: tuple[int, ...], count: int
) -> Observation:
    """A poll with strategy last returns the newest messages, up to the last one."""
    sent = steps.store(apache, apache_topic, sizes)
    polled = apache.poll(apache_topic, Polling(strategy=LAST, count=count))
    came = len(polled.frames)
    is_tail = 0 < came <= count and polled.payloads == [each.payload for each in sent[-came:]]
    return observed("delivered:tail").on(polled) if is_tail else _all_or(polled, sent[-count:])


@case("iggy/apache/poll/last-count", clause="iggy.apache.poll.last-count")
@each_sizes
@each_count
def test_last_count(
    apache: ApacheServer, apache_topic: Topic, sizes: tuple[int, ...], count: int
) -> Observation:
    """A poll with strategy last returns as many of the newest messages as it asks for."""
    sent = steps.store(apache, apache_topic, sizes)
    polled = apache.poll(apache_topic, Polling(strategy=LAST, count=count))
    return steps.observe_asked(polled, sent[-count:])


def _all_or(polled: Polled, due: list[MessageFrame]) -> Observation:
    seen = steps.observe_asked(polled, due)
    is_odd = seen.value == steps.AS_ASKED
    return observed("delivered:other").on(polled) if is_odd else seen


@case("iggy/apache/poll/next", clause="iggy.apache.poll.next")
@each_sizes
@pytest.mark.parametrize("stored", [None, 0, 2, -1], ids=["none", "first", "third", "last"])
def test_next(
    apache: ApacheServer, apache_topic: Topic, sizes: tuple[int, ...], stored: int | None
) -> Observation:
    """A poll with strategy next begins behind the stored offset of the consumer."""
    sent = steps.store(apache, apache_topic, sizes)
    asked = Polling(strategy=NEXT, consumer=CONSUMER)
    if stored is None:
        return steps.observe_asked(apache.poll(apache_topic, asked), sent, whole=False)
    offsets = apache.poll_all(apache_topic).offsets
    if len(offsets) != len(sent):
        return observed("missing", overdue=True)
    offset = offsets[stored]
    answer = apache.store_offset(apache_topic, offset, consumer=CONSUMER)
    if observe(answer, framed=True).value != "ok":
        return observe(answer, framed=True)
    due = sent[stored + 1 :] if stored >= 0 else []
    return steps.observe_asked(apache.poll(apache_topic, asked), due, whole=not due)


@case("iggy/apache/poll/timestamp", clause="iggy.apache.poll.timestamp")
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("before", [0, 1, -1], ids=["its-time", "before", "behind"])
def test_timestamp(
    apache: ApacheServer, apache_topic: Topic, place: int, before: int
) -> Observation:
    """A poll by timestamp begins with the first batch of that time or later."""
    sizes = (2, 3, 1)
    sent = steps.store(apache, apache_topic, sizes)
    found = apache.poll_all(apache_topic)
    if len(found.frames) != len(sent):
        return observed("missing", overdue=True)
    # One record may be a part of a stored batch, so the messages are counted, not the records.
    times = [each.header.base_timestamp for each in found.batches for _ in each.frames]
    value = times[sum(sizes[:place])] - before
    due = [frame for frame, time in zip(sent, times, strict=True) if time >= value]
    polled = apache.poll(apache_topic, Polling(strategy=TIMESTAMP, value=value))
    return steps.observe_asked(polled, due, whole=False)


@case("iggy/apache/poll/value-ignored", clause="iggy.apache.poll.value-ignored")
@pytest.mark.parametrize("strategy", [FIRST, LAST, NEXT], ids=["first", "last", "next"])
@pytest.mark.parametrize("value", [1, (1 << 64) - 1], ids=["1", "highest"])
def test_value_ignored(
    apache: ApacheServer, apache_topic: Topic, strategy: int, value: int
) -> Observation:
    """The value of a poll with strategy first, last or next changes nothing."""
    steps.store(apache, apache_topic, (1, 3))
    asked = (Polling(strategy=strategy, value=each, count=2) for each in (0, value))
    first, other = (apache.poll(apache_topic, each) for each in asked)
    unread = observe_unread(first) or observe_unread(other)
    is_same = first.frames == other.frames and bool(first.frames)
    return unread or observed("same" if is_same else "different").on(first, other)


@case("iggy/apache/poll/empty", clause="iggy.apache.poll.empty")
@pytest.mark.parametrize("kind", [*STRATEGIES, "beyond", "count-zero"])
def test_empty(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A poll of an empty partition, or from beyond its end, returns no message."""
    polling = Polling(strategy=STRATEGIES.get(kind, OFFSET), value=1000)
    if kind in ("beyond", "count-zero"):
        steps.store(apache, apache_topic, [3])
        newest = max(apache.poll_all(apache_topic).offsets, default=0)
        polling = Polling(value=newest + 1) if kind == "beyond" else Polling(count=0)
    polled = apache.poll(apache_topic, polling)
    if polled.body is None:
        return observe_unread(polled) or observe(polled.answer)
    is_none = not polled.frames and not polled.body.head.count
    return observed("delivered:none" if is_none else "delivered:some").on(polled)


@case("iggy/apache/poll/commit", clause="iggy.apache.poll.commit")
@each_count
def test_commit(apache: ApacheServer, apache_topic: Topic, count: int) -> Observation:
    """A poll with auto_commit 1 stores the offset of its last message."""
    steps.store(apache, apache_topic, (1, 3, 10))
    polled = apache.poll(apache_topic, Polling(count=count, auto_commit=1, consumer=CONSUMER))
    stored = apache.stored_offset(apache_topic, consumer=CONSUMER)
    if not polled.offsets:
        return observe_unread(polled) or observed("delivered:none").on(polled)
    if stored is None:
        return observed("offset:none").on(polled)
    is_last = stored.stored_offset == polled.offsets[-1]
    note = f"{stored.stored_offset} in place of {polled.offsets[-1]}"
    return observed("offset:of-last" if is_last else "offset:other", note=note).on(polled)


@case("iggy/apache/poll/commit-none", clause="iggy.apache.poll.commit-none")
def test_commit_none(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A poll with auto_commit 0 stores nothing."""
    steps.store(apache, apache_topic, [3])
    polled = apache.poll(apache_topic, Polling(consumer=CONSUMER))
    stored = apache.stored_offset(apache_topic, consumer=CONSUMER)
    return observed("offset:none" if stored is None else "offset:stored").on(polled)


@case("iggy/apache/poll/unknown", clause="iggy.apache.poll.unknown")
@pytest.mark.parametrize("kind", ["stream", "stream-name", "topic", "topic-name", "partition"])
def test_unknown(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A poll of a place that does not exist is refused."""
    where, partition = unknown_place(apache_topic, kind), 9 if kind == "partition" else 0
    return _observe_poll(apache, requests.poll_body(where, partition, Polling()))


@case("iggy/apache/poll/wrong", clause="iggy.apache.poll.wrong")
@pytest.mark.parametrize("kind", ["strategy-0", "strategy-6", "consumer-0", "consumer-3", "cut"])
def test_wrong(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A poll that cannot be read returns no message."""
    steps.store(apache, apache_topic, [1])
    right = requests.poll_body(apache_topic.by_number, 0, Polling())
    field, _, number = kind.partition("-")
    if kind == "cut":
        return _observe_poll(apache, right.data[:-3])
    name = "consumer.kind" if field == "consumer" else field
    return _observe_poll(apache, requests.overwritten(right, name, int(number)))


def _observe_poll(apache: ApacheServer, body: Outgoing | bytes) -> Observation:
    client = apache.connect()
    answer = client.ask_before(client.read(operations.POLL_MESSAGES, body))
    polled = read_polled(answer, apache.access.envelope)
    if isinstance(answer, Replied) and polled.body is not None:
        return observed("delivered:some" if polled.frames else "delivered:none").on(polled)
    return observe(answer)
