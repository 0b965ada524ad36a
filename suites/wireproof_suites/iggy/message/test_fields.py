"""Offsets, times and ids of polled messages: whose they are, and that they stay."""

import time

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import (
    MISSING,
    make_difference,
    observe_unread,
)
from wireproof_kit.iggy.observe.polled import Polled, PolledMessage
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_suites.iggy.steps.message_contents import (
    DISTINCT_ID,
    make_numbered,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.polled_messages import each_of

HEADERS_AT = 41
LENGTH_SIZE = 4
IDS = {
    "1": 1,
    "2-to-the-32": 1 << 32,
    "2-to-the-64": 1 << 64,
    "16-different-bytes": DISTINCT_ID,
    "2-to-the-127-and-one": (1 << 127) + 1,
    "greatest": (1 << 128) - 1,
}
# A server's clock may differ from ours, but not by more than this for the unit to be told.
CLOCK_DIFFERENCE_S = 86_400
CASE_SECONDS = 60


@case("iggy/message/offset", clause="iggy.message.offset")
@pytest.mark.parametrize("from_the", ["first", "last"])
def test_offset(server: Server, topic: Topic, from_the: str) -> Observation:
    """A poll from a message's offset returns that message first."""
    sent = make_numbered(5)
    for request in [sent] if from_the == "first" else [[one] for one in sent]:
        server.send_accepted(topic, *request)
    polled = server.poll_until(topic, len(sent))
    unread = observe_unread(polled)
    if unread is not None or len(polled.seen) < len(sent):
        return unread or observed(MISSING, overdue=True)
    known = polled.messages if from_the == "first" else tuple(reversed(polled.messages))
    for each in known:
        again = server.poll(topic, Polling(value=each.offset, count=1))
        if observe_unread(again) is not None or not again.messages:
            return observed("offset:leads-nowhere", note=f"offset {each.offset}")
        if again.messages[0].payload != each.payload or again.messages[0].offset != each.offset:
            return observed("offset:leads-astray", note=f"offset {each.offset}")

    return observed("offset:leads-back")


@case("iggy/message/offset-sequence", clause="iggy.message.offset-sequence")
def test_offset_sequence(server: Server, topic: Topic) -> Observation:
    """Offsets start at 0 and rise by 1, within a request and across requests."""
    sent = make_numbered(6)
    for first, last in ((0, 1), (1, 4), (4, 6)):
        server.send_accepted(topic, *sent[first:last])

    return _offsets(server.poll_until(topic, len(sent)), due=len(sent))


@case("iggy/message/offset-by-partition", clause="iggy.message.offset-sequence")
def test_offset_by_partition(server: Server) -> Observation:
    """Each partition numbers its messages independently."""
    topic = server.new_topic(partitions=2)
    for number, each in enumerate(make_numbered(6)):
        server.send_accepted(topic, each, partition=1 + number % 2)
    for partition in (1, 2):
        seen = _offsets(server.poll_until(topic, 3, Polling(partition=partition)), due=3)
        if seen.value != "offsets:from-0":
            return seen

    return seen


@case("iggy/message/timestamp", clause="iggy.message.timestamp-kept")
def test_timestamp(server: Server, topic: Topic) -> Observation:
    """A message keeps its timestamp in every poll, and timestamps never decrease."""
    sent = make_numbered(3)
    for each in sent:
        server.send_accepted(topic, each)
    polls = [server.poll_until(topic, len(sent)) for _ in range(2)]
    for polled in polls:
        unread = observe_unread(polled)
        if unread is not None or len(polled.seen) < len(sent):
            return unread or observed(MISSING, overdue=True)
    first, second = ([each.timestamp for each in polled.messages] for polled in polls)
    if first != second:
        difference = Difference("timestamp", 9, str(first), str(second))
        return observed("timestamp:changed", difference=difference)

    return observed("timestamp:kept" if first == sorted(first) else "timestamp:backwards")


@case("iggy/message/timestamp-unit", clause="iggy.message.timestamp-unit")
def test_timestamp_unit(server: Server, topic: Topic) -> Observation:
    """Timestamps are microseconds since 1970 and advance at real-time speed."""
    before = time.time()
    for each in make_numbered(2):
        server.send_accepted(topic, each)
    polled = server.poll_until(topic, 2)
    unread = observe_unread(polled)
    if unread is not None or len(polled.seen) < 2:
        return unread or observed(MISSING, overdue=True)
    first, second = (each.timestamp / 1e6 for each in polled.messages)
    is_of_the_case = before - 1 <= first <= second <= time.time() + 1
    is_of_another_clock = abs(first - before) <= CLOCK_DIFFERENCE_S
    if is_of_the_case or (is_of_another_clock and 0 <= second - first <= CASE_SECONDS):
        return observed("timestamp:microseconds")
    note = f"{polled.messages[0].timestamp} and {polled.messages[1].timestamp}"

    return observed("clock-differs" if is_of_another_clock else "timestamp:other", note=note)


@case("iggy/message/id", clause="iggy.message.id")
@pytest.mark.parametrize("number", IDS.values(), ids=IDS)
def test_id(server: Server, topic: Topic, number: int) -> Observation:
    """A message is polled with all 128 bits of the id it was sent with."""
    sent = [message(id=number)]
    if number > 1:
        sent.append(message(b"another", id=number - 1))

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        found = seen.message.id
        if found == due.id:
            return observed("id:as-sent")
        reversed_one = int.from_bytes(due.id.to_bytes(16, "big"), "little")
        word = "reversed" if found == reversed_one else "other"
        difference = make_difference("id", seen, str(due.id), str(found))
        return observed(f"id:{word}", difference=difference)

    return each_of(server.allowed_and_polled(topic, *sent), sent, "id:as-sent", look)


@case("iggy/message/byte-order", clause="iggy.message.byte-order")
def test_byte_order(server: Server, topic: Topic) -> Observation:
    """Message ids and lengths are little-endian."""
    sent = message(make_payload(258), id=DISTINCT_ID)

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        length = seen.raw[-LENGTH_SIZE - 258 : -258]
        id_bytes = due.id.to_bytes(16, "little")
        if length == bytes([2, 1, 0, 0]) and id_bytes in seen.raw[:HEADERS_AT]:
            return observed("order:little")
        return observed("order:other")

    return each_of(server.sent_and_polled(topic, sent), [sent], "order:little", look)


@case("iggy/message/generated-id", clause="iggy.message.generated-id")
@pytest.mark.parametrize("beside", ["in-one-request", "one-by-one"])
def test_generated_id(server: Server, topic: Topic, beside: str) -> Observation:
    """The server assigns a different id to each message that was sent with id 0."""
    sent = [message(b"one"), message(b"two"), message(b"three")]
    requests = [sent] if beside == "in-one-request" else [[each] for each in sent]
    for each in requests:
        server.send_accepted(topic, *each)
    polled = server.poll_until(topic, len(sent))
    unread = observe_unread(polled)
    if unread is not None or len(polled.seen) < len(sent):
        return unread or observed(MISSING, overdue=True)
    ids = {each.id for each in polled.messages}
    if 0 in ids:
        return observed("id:zero")

    return observed("id:generated" if len(ids) == len(sent) else "id:repeated")


@case("iggy/message/repeated-id", clause="iggy.message.repeated-id")
def test_repeated_id(server: Server, topic: Topic) -> Observation:
    """Of two messages sent with the same id, the server keeps both or one."""
    for payload in (b"first", b"second"):
        server.send(topic, message(payload, id=7))
    polled = server.poll_until(topic, 2)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if not polled.seen:
        return observed(MISSING, overdue=True)
    words = {1: "delivered:one", 2: "delivered:both"}

    return observed(words.get(len(polled.seen), "delivered:more"))


def _offsets(polled: Polled, *, due: int) -> Observation:
    unread = observe_unread(polled)
    if unread is not None or len(polled.seen) < due:
        return unread or observed(MISSING, overdue=True)
    found = [each.offset for each in polled.messages]
    if found == list(range(due)):
        return observed("offsets:from-0")
    difference = Difference("offset", 0, f"0 to {due - 1}", str(found))
    return observed("offsets:other", difference=difference)
