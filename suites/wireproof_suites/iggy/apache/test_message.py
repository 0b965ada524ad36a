"""Messages as they are polled: contents, offsets, times, checksums, in whole batches and parts."""

from collections.abc import Callable, Iterator

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.batches import (
    NAME,
    batch,
    batch_bytes,
    header_block,
    message,
    now_us,
    numbered,
)
from wireproof_kit.iggy.apache.observe import Polled, observe_messages, observe_unread
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.user_headers import UserHeader, text_header
from wireproof_spec.iggy.header_kinds import RAW
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_suites.iggy.apache import steps
from wireproof_suites.iggy.apache.test_send import PARTITIONS, kept_or_refused
from wireproof_suites.iggy.steps.elapsed_time import NotAnswered, repeat_while

MANY = tuple(text_header(f"key-{n % 7}-{n}", RAW, bytes([n] * (1 + n))) for n in range(100))
SETS = {"none": (), "one": (NAME,), "three": MANY[4:1:-1], "hundred": MANY}
PAYLOADS = {
    "one-byte": b"a",
    "zero-byte": b"\x00",
    "every-byte": bytes(range(256)),
    "zeros": bytes(300),
    "ones": b"\xff" * 300,
    "looks-like-a-batch": batch_bytes(batch(message())),
    "mebibyte": bytes(range(1, 256)) * 4112,
}
IDS = {
    "1": 1,
    "2-to-64": 1 << 64,
    "highest": (1 << 128) - 1,
    "distinct": int.from_bytes(bytes(range(0x10, 0x20)), "little"),
}
SIZES = (1, 3, 4)
each_payload = pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
each_set = pytest.mark.parametrize("headers", SETS.values(), ids=SETS)


@case("iggy/apache/message/layout", clause="iggy.apache.message.layout")
@pytest.mark.parametrize("count", [1, 2, 100])
def test_layout(apache: ApacheServer, apache_topic: Topic, count: int) -> Observation:
    """Polled messages stand in batches of frames."""
    polled = apache.sent_and_polled(apache_topic, *numbered(count, NAME))
    return steps.observe_batches([polled], rules.judge_counts, "layout:batches")


@case("iggy/apache/message/payload", clause="iggy.apache.message.payload")
@each_payload
def test_payload(apache: ApacheServer, apache_topic: Topic, payload: bytes) -> Observation:
    """A message is polled with its payload."""
    return _as_sent(apache, apache_topic, message(payload))


@case("iggy/apache/message/headers", clause="iggy.apache.message.headers")
@each_set
def test_headers(
    apache: ApacheServer, apache_topic: Topic, headers: tuple[UserHeader, ...]
) -> Observation:
    """User headers are polled byte for byte, in their order."""
    return _as_sent(apache, apache_topic, message(b"payload", *headers), message(b"other"))


@case("iggy/apache/message/id", clause="iggy.apache.message.id")
@pytest.mark.parametrize("number", IDS.values(), ids=IDS)
def test_id(apache: ApacheServer, apache_topic: Topic, number: int) -> Observation:
    """A message is polled with its id."""
    return _as_sent(apache, apache_topic, message(id=number))


@case("iggy/apache/message/id-zero", clause="iggy.apache.message.id-zero")
@pytest.mark.parametrize("number", [0, 5], ids=["zero", "repeated"])
def test_id_zero(apache: ApacheServer, apache_topic: Topic, number: int) -> Observation:
    """An id of 0 stays 0, and messages with the same id are all stored."""
    sent = [message(b"message %d" % n, id=number) for n in range(3 if number else 1)]
    return kept_or_refused(apache, apache_topic, *sent)


@case("iggy/apache/message/payload-first", clause="iggy.apache.message.payload-first")
@each_set
def test_payload_first(
    apache: ApacheServer, apache_topic: Topic, headers: tuple[UserHeader, ...]
) -> Observation:
    """The payload of a frame stands in front of its user headers."""
    sent = message(b"payload, which stands first", *headers)
    whole = apache.sent_and_polled(apache_topic, message(b"in front"), sent)
    polls = (whole, apache.poll(apache_topic, Polling(value=1)))
    for polled in polls:
        unread = observe_unread(polled)
        if unread is not None or not polled.frames:
            return unread or observed("missing", overdue=True).on(polled)
        found = polled.frames[-1]
        if found.payload + found.user_headers != sent.payload + header_block(headers):
            return observed("payload:other").on(polled)
    return observed("payload:first").on(*polls)


@case("iggy/apache/message/origin", clause="iggy.apache.message.origin")
@pytest.mark.parametrize("when", ["2001", "now", "2100"])
@pytest.mark.parametrize("delta", [0, 10**6, (1 << 32) - 1], ids=["0", "second", "longest"])
def test_origin(apache: ApacheServer, apache_topic: Topic, when: str, delta: int) -> Observation:
    """The producer's time of a message, and its delta, are polled as they were sent."""
    times = {"2001": 978_307_200_000_000, "now": now_us(), "2100": 4_102_444_800_000_000}
    sent = [message(b"first"), message(b"second", delta_us=delta)]
    apache.send_accepted(apache_topic, *sent, origin_us=times[when])
    polled = apache.poll_until(apache_topic, len(sent))
    for found in polled.batches:
        if found.header.origin_timestamp != times[when]:
            note = f"{found.header.origin_timestamp} in place of {times[when]}"
            return observed("origin:other", note=note).on(polled)
    return observe_messages(polled, sent, _differ_in_delta, right="origin:as-sent")


def _differ_in_delta(due: MessageFrame, found: MessageFrame) -> Difference | None:
    pair = due.timestamp_delta, found.timestamp_delta
    return None if pair[0] == pair[1] else Difference("delta", None, *map(str, pair))


@case("iggy/apache/message/offset", clause="iggy.apache.message.offset")
@pytest.mark.parametrize("count", [1, 3, 10])
def test_offset(apache: ApacheServer, apache_topic: Topic, count: int) -> Observation:
    """The offsets of the messages of a batch follow one another."""
    apache.send_accepted(apache_topic, message(b"in front"))
    sent = numbered(count)
    apache.send_accepted(apache_topic, *sent)
    polled = apache.poll_until(apache_topic, count + 1)
    pairs = zip(polled.offsets, polled.payloads, strict=True)
    found = [number for number, payload in pairs if payload != b"in front"]
    if len(found) != count:
        return observe_messages(polled, (message(b"in front"), *sent))
    is_run = found == [*range(found[0], found[0] + count)]
    return observed("offsets:consecutive" if is_run else "offsets:other").on(polled)


@case("iggy/apache/message/append-time", clause="iggy.apache.message.append-time")
def test_append_time(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """Every polled batch has a time of the server that does not fall."""
    steps.store(apache, apache_topic, SIZES[:1])
    apache.reconnect()
    steps.store(apache, apache_topic, SIZES[1:])
    polled = apache.poll_all(apache_topic)
    found = [*map(rules.judge_time, polled.batches), *rules.judge_times(polled.batches)]
    broken = next((each for each in found if not each.holds), None)
    if broken is not None or len(polled.batches) < len(SIZES):
        seen = observed(broken.value, note=broken.note) if broken else observed("missing")
        return observe_unread(polled) or seen.on(polled)
    return observed("time:stamped").on(polled)


@case("iggy/apache/message/partition", clause="iggy.apache.message.partition")
def test_partition(apache: ApacheServer) -> Observation:
    """Every polled batch has the number of the partition that it is polled from."""
    topic = apache.new_topic(PARTITIONS)
    polls: list[Polled] = []
    for number in range(PARTITIONS):
        steps.store(apache, topic, [2], partition=number)
        polls.append(polled := apache.poll_all(topic, Polling(partition=number)))
        found = {each.header.partition_id for each in polled.batches}
        if found != {number}:
            note = f"{sorted(found)} in place of {number}"
            return observe_unread(polled) or observed("partition:other", note=note).on(polled)
    return observed("partition:stamped").on(*polls)


@case("iggy/apache/message/counts", clause="iggy.apache.message.counts")
def test_counts(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A polled batch, whole or in part, states the length and the count of its bytes."""
    return _in_parts(apache, apache_topic, rules.judge_counts, "counts:right")


@case("iggy/apache/message/batch-checksum", clause="iggy.apache.message.batch-checksum")
def test_batch_checksum(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A polled batch, whole or in part, has the right checksum."""
    return _in_parts(apache, apache_topic, rules.judge_batch_checksum, "checksum:right")


@case("iggy/apache/message/reserved", clause="iggy.apache.message.reserved")
def test_reserved(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """Reserved bytes of polled batches and frames are zero."""
    return _in_parts(apache, apache_topic, rules.judge_reserved, "reserved:zero")


def _in_parts(
    apache: ApacheServer, topic: Topic, judge: Callable[[Batch], Iterator[Finding]], right: str
) -> Observation:
    sent = steps.store(apache, topic, SIZES)
    return steps.observe_batches([*steps.each_part(apache, topic, len(sent))], judge, right)


@case("iggy/apache/message/checksum", clause="iggy.apache.message.checksum")
@each_payload
@pytest.mark.parametrize("has_headers", [False, True], ids=["no-headers", "headers"])
def test_checksum(
    apache: ApacheServer, apache_topic: Topic, payload: bytes, has_headers: bool
) -> Observation:
    """The checksum of a polled frame is that of its bytes."""
    polled = apache.sent_and_polled(apache_topic, message(payload, *[NAME] * has_headers))
    return steps.observe_batches([polled], rules.judge_frame_checksums, "checksum:right")


@case("iggy/apache/message/same", clause="iggy.apache.message.same")
@pytest.mark.parametrize("strategy", [OFFSET, TIMESTAMP, FIRST, LAST, NEXT])
def test_same(apache: ApacheServer, apache_topic: Topic, strategy: int) -> Observation:
    """Every poll of a message has the same bytes of its frame."""
    steps.store(apache, apache_topic, SIZES)
    first = apache.poll_all(apache_topic)
    due = dict(zip(first.offsets, first.frames, strict=True))
    for count in (2, 100):
        # A consumer of its own: whether a poll that does not commit stores nothing is no must.
        asked = Polling(strategy=strategy, count=count, consumer=count)
        polled = apache.poll(apache_topic, asked)
        unread = observe_unread(polled)
        if unread is not None or not polled.frames:
            return unread or observed("delivered:none").on(polled)
        for offset, frame in zip(polled.offsets, polled.frames, strict=True):
            if due.get(offset) != frame:
                return observed("different", note=f"offset {offset}").on(first, polled)
    return observed("same").on(first, polled)


@case("iggy/apache/message/same-later", clause="iggy.apache.message.same", waiting=True)
def test_same_later(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """Repeated polls over several seconds return the bytes of the first poll."""
    steps.store(apache, apache_topic, SIZES)
    first = apache.poll_all(apache_topic)
    if not first.frames:
        return observe_unread(first) or observed("delivered:none").on(first)

    def look() -> bool:
        polled = apache.poll_all(apache_topic)
        unread = observe_unread(polled)
        if unread is not None:
            raise NotAnswered(unread)
        return polled.frames == first.frames

    return repeat_while(look)


def _as_sent(apache: ApacheServer, topic: Topic, *sent: MessageFrame) -> Observation:
    return observe_messages(apache.sent_and_polled(topic, *sent), sent)
