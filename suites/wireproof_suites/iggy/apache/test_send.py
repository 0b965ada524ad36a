"""Sends: where messages go, what is confirmed, and requests that cannot be read."""

from collections import Counter

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Replied
from wireproof_kit.iggy.apache.batches import NAME, batch, batch_bytes, message, numbered
from wireproof_kit.iggy.apache.observe import observe, observe_messages, observe_unread
from wireproof_kit.iggy.apache.probes import ask_send
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer, confirmations_of
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BatchHeader, MessageFrame, make_batch
from wireproof_spec.iggy.apache.bodies.places import TOPIC_REQUEST, TopicRequest
from wireproof_spec.iggy.apache.checksum import partition_of_key
from wireproof_spec.iggy.bodies.identifier import Identifier, numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced, messages_key, partition_id
from wireproof_suites.iggy.apache import steps

PARTITIONS = 3
KEYS = {
    "1-byte": b"a",
    "5-bytes": b"key-1",
    "any-bytes": bytes(range(64)),
    "255-bytes": b"k" * 255,
}
WRONG_PARTITIONINGS = {
    "kind-0": b"\x00\x00",
    "kind-4": b"\x04\x04" + bytes(4),
    "partition-of-2-bytes": b"\x02\x02" + bytes(2),
    "empty-key": b"\x03\x00",
}


@case("iggy/apache/send/accept", clause="iggy.apache.send.accept")
@pytest.mark.parametrize("count", [1, 2, 100])
@pytest.mark.parametrize("has_headers", [False, True], ids=["no-headers", "headers"])
def test_accept(
    apache: ApacheServer, apache_topic: Topic, count: int, has_headers: bool
) -> Observation:
    """A right batch is accepted, and its messages can be polled."""
    sent = numbered(count, *[NAME] * has_headers)
    return _sent(apache, apache_topic, apache.send_body(apache_topic, batch(*sent)), sent)


@case("iggy/apache/send/accept-large", clause="iggy.apache.send.accept")
@pytest.mark.parametrize("size", [60_000, 1 << 20], ids=["60000-bytes", "mebibyte"])
def test_accept_large(apache: ApacheServer, apache_topic: Topic, size: int) -> Observation:
    """A batch with a large payload is accepted, and its message can be polled."""
    sent = (message(b"p" * size),)
    return _sent(apache, apache_topic, apache.send_body(apache_topic, batch(*sent)), sent)


@case("iggy/apache/send/metadata-length", clause="iggy.apache.send.metadata-length")
@pytest.mark.parametrize("by_name", [False, True], ids=["by-number", "by-name"])
@pytest.mark.parametrize("by_key", [False, True], ids=["partition", "key-of-255"])
def test_metadata_length(
    apache: ApacheServer, apache_topic: Topic, by_name: bool, by_key: bool
) -> Observation:
    """The metadata of a send may be of any length."""
    sent = numbered(2)
    where = apache_topic.by_name if by_name else apache_topic.by_number
    how = messages_key(b"k" * 255) if by_key else partition_id(0)
    return _sent(apache, apache_topic, requests.send_body(where, how, batch(*sent)), sent)


def _sent(
    apache: ApacheServer, topic: Topic, body: Outgoing, frames: tuple[MessageFrame, ...]
) -> Observation:
    answer = apache.ask_settled(operations.SEND_MESSAGES, body)
    seen = observe(answer)
    if seen.value != "ok":
        return seen
    polled = apache.poll_until(topic, len(frames), Polling(count=len(frames) + 1))
    return seen.then(observe_messages(polled, frames).value)


@case("iggy/apache/send/confirm", clause="iggy.apache.send.confirm")
def test_confirm(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """The reply to a send says where the messages were stored."""
    base = 0
    for count in (2, 1, 3):
        answer = apache.send(apache_topic, *numbered(count))
        if not isinstance(answer, Replied) or not answer.is_accepted:
            return observe(answer)
        due = (apache_topic.stream_id, apache_topic.id, 0, base)
        found = [
            (each.stream_id, each.topic_id, each.partition_id, each.base_offset)
            for each in confirmations_of(answer)
        ]
        if found != [due]:
            return observed("confirmed:other", note=f"{found} in place of {due}").on(answer)
        base += count
    return observed("confirmed").on(answer)


@case("iggy/apache/send/order", clause="iggy.apache.send.order")
def test_order(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """Batches are stored in the order in which they were sent, without gaps."""
    sent = steps.store(apache, apache_topic, [1, 3, 2, 10, 1])
    polled = apache.poll_all(apache_topic)
    seen = observe_messages(polled, sent)
    if seen.value != "delivered:as-sent":
        return seen
    first = polled.offsets[0]
    is_run = polled.offsets == tuple(range(first, first + len(sent)))
    return observed("offsets:consecutive" if is_run else "offsets:other").on(polled)


@case("iggy/apache/send/partition", clause="iggy.apache.send.partition")
def test_partition(apache: ApacheServer) -> Observation:
    """Messages are stored in the partition that their request names."""
    topic = apache.new_topic(PARTITIONS)
    order = (2, 0, 1, 1, 0, 2)
    sent = [(number, message(b"to %d" % number)) for number in order]
    for number, each in sent:
        apache.send_accepted(topic, each, partition=number)
    for number in range(PARTITIONS):
        due = [each for where, each in sent if where == number]
        seen = observe_messages(apache.poll_until(topic, 2, Polling(partition=number)), due)
        if seen.value != "delivered:as-sent":
            return observed("partition:other", note=f"partition {number}: {seen.value}")
    return observed("partition:as-asked")


@case("iggy/apache/send/key", clause="iggy.apache.send.key")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_key(apache: ApacheServer, key: bytes) -> Observation:
    """Requests with the same key go to the same partition."""
    return _by_key(apache, key, None)


@case("iggy/apache/send/key-hash", clause="iggy.apache.send.key-hash")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_key_hash(apache: ApacheServer, key: bytes) -> Observation:
    """The hash of the key is the number of the partition."""
    return _by_key(apache, key, partition_of_key(key, PARTITIONS))


def _by_key(apache: ApacheServer, key: bytes, due: int | None) -> Observation:
    topic = apache.new_topic(PARTITIONS)
    for _ in range(2):
        apache.send_accepted(topic, message(), partitioning=messages_key(key))
        apache.reconnect()
    counts = _count(apache, topic)
    if due is not None:
        word = "by-hash" if counts == {due: 2} else "other"
        return observed(f"partition:{word}", note=f"{counts}")
    return observed("partition:same" if len(counts) == 1 else "partition:other", note=f"{counts}")


@case("iggy/apache/send/balanced", clause="iggy.apache.send.balanced")
def test_balanced(apache: ApacheServer) -> Observation:
    """Requests with balanced partitioning are spread over the partitions."""
    topic = apache.new_topic(PARTITIONS)
    for _ in range(4 * PARTITIONS):
        apache.send_accepted(topic, message(), partitioning=make_balanced())
    counts = _count(apache, topic)
    is_spread = len(counts) == PARTITIONS
    return observed("partitions:spread" if is_spread else "partitions:some", note=f"{counts}")


def _count(apache: ApacheServer, topic: Topic) -> Counter[int]:
    """Count the messages of each partition that has any."""
    polls = {n: apache.poll_all(topic, Polling(partition=n)) for n in range(PARTITIONS)}
    return Counter({n: len(polled.frames) for n, polled in polls.items() if polled.frames})


@case("iggy/apache/send/partitioning-wrong", clause="iggy.apache.send.partitioning-wrong")
@pytest.mark.parametrize("how", WRONG_PARTITIONINGS.values(), ids=WRONG_PARTITIONINGS)
def test_partitioning_wrong(apache: ApacheServer, apache_topic: Topic, how: bytes) -> Observation:
    """A send whose partitioning is invalid is refused."""
    where = encode(TOPIC_REQUEST, TopicRequest(*apache_topic.by_number))
    metadata = where + how + (1).to_bytes(4, "little")
    body = len(metadata).to_bytes(4, "little") + metadata + batch_bytes(batch(message()))
    return observe(ask_send(apache, apache_topic, body))


@case("iggy/apache/send/unknown", clause="iggy.apache.send.unknown")
@pytest.mark.parametrize("kind", ["stream", "stream-name", "topic", "topic-name", "partition"])
def test_unknown(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A send to a place that does not exist is refused."""
    where, how = unknown_place(apache_topic, kind), partition_id(9 if kind == "partition" else 0)
    return observe(
        ask_send(apache, apache_topic, requests.send_body(where, how, batch(message())))
    )


def unknown_place(topic: Topic, kind: str) -> tuple[Identifier, Identifier]:
    """Return identifiers of which one, by its kind, names nothing."""
    stream, own = topic.by_number
    nobody = steps.NO_STREAM if kind.endswith("name") else numeric(steps.UNKNOWN_NUMBER)
    if kind.startswith("stream"):
        return nobody, own
    return (stream, nobody) if kind.startswith("topic") else (stream, own)


@case("iggy/apache/send/metadata-wrong", clause="iggy.apache.send.metadata-wrong")
@pytest.mark.parametrize("kind", ["zero", "one-less", "one-more", "beyond", "other-count"])
def test_metadata_wrong(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A send whose metadata do not fit is refused, and nothing is stored."""
    sent = message(b"unwanted")
    right = apache.send_body(apache_topic, batch(sent))
    length = int.from_bytes(right.data[:4], "little")
    lengths = {"zero": 0, "one-less": length - 1, "one-more": length + 1, "beyond": 1 << 20}
    body = lengths.get(kind, length).to_bytes(4, "little") + right.data[4:]
    if kind == "other-count":
        body = requests.send_body(
            apache_topic.by_number, partition_id(0), batch(sent), count=2
        ).data
    return steps.refused_and_absent(apache, apache_topic, body, [sent])


@case("iggy/apache/send/server-fields", clause="iggy.apache.send.server-fields")
def test_server_fields(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """The server's own fields are overwritten where a producer sets them."""
    header = BatchHeader(partition_id=7, base_offset=5, base_timestamp=5)
    own = make_batch(header, batch(message()).frames)
    answer = ask_send(apache, apache_topic, apache.send_body(apache_topic, own))
    if not confirmations_of(answer):
        return observed("refused", note=observe(answer).value).on(answer)
    polled = apache.poll_until(apache_topic, 1)
    unread = observe_unread(polled)
    if unread is not None or not polled.batches:
        return unread or observed("missing", overdue=True).on(polled)
    found = polled.batches[0].header
    is_own = found.partition_id == 7 or 5 in (found.base_offset, found.base_timestamp)
    return observed("kept" if is_own else "overwritten").on(polled)


@case("iggy/apache/send/empty-payload", clause="iggy.apache.send.empty-payload")
def test_empty_payload(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A message without payload is stored, or refused."""
    return kept_or_refused(apache, apache_topic, message(b""))


def kept_or_refused(apache: ApacheServer, topic: Topic, *sent: MessageFrame) -> Observation:
    """Send messages that may be refused: ``refused``, or how they are polled."""
    answer = ask_send(apache, topic, apache.send_body(topic, batch(*sent)))
    if not confirmations_of(answer):
        return observed("refused", note=observe(answer).value).on(answer)
    count = len(sent)
    return observe_messages(apache.poll_until(topic, count, Polling(count=count)), sent)
