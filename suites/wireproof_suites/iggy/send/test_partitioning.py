"""Partitioning: by number, by turns, by a key."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import MISSING, observe, observe_unread
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.key_hash import partition_of_key
from wireproof_spec.iggy.kinds import BALANCED
from wireproof_suites.iggy.steps.message_contents import make_payload, message

KEYS = {
    "1-byte": b"\x01",
    "zero": b"\x00",
    "4-bytes": b"key1",
    "255-bytes": make_payload(255),
    "no-text": b"\xff\xfe",
}
LENGTHS = [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 40]
PARTITION_COUNTS = [3, 7]
NAMED = (1, 1, 3, 2, 3, 3, 2, 1, 2)
"""The partitions of some requests; a server that takes turns cannot hit them all."""
KINDS = {
    "balanced": make_balanced(),
    "partition-id": partition_id(2),
    "key-of-1-byte": messages_key(b"k"),
    "key-of-255-bytes": messages_key(make_payload(255)),
}


@case("iggy/send/partition-id", clause="iggy.send.partitioning")
def test_partition_id(server: Server) -> Observation:
    """A message is stored in the partition its request names, and in no other."""
    topic = server.new_topic(partitions=3)
    due: dict[int, list[bytes]] = {}
    for number, partition in enumerate(NAMED):
        payload = b"%d to %d" % (number, partition)
        server.send_allowed(replace(topic, partition=partition), message(payload))
        due.setdefault(partition, []).append(payload)
    found = (
        _has(server, topic, partition, payloads, "as-asked") for partition, payloads in due.items()
    )

    return first_unlike(found, "partition:as-asked")


@case("iggy/send/partitioning-kinds", clause="iggy.send.partitioning")
@pytest.mark.parametrize("partitioning", KINDS.values(), ids=KINDS)
def test_kinds(server: Server, partitioning: Partitioning) -> Observation:
    """A request with any kind of partitioning is accepted."""
    topic = server.new_topic(partitions=3)

    return observe(server.send(topic, message(), partitioning=partitioning))


@case("iggy/send/balanced", clause="iggy.send.spread")
def test_balanced(server: Server) -> Observation:
    """Requests with balanced partitioning go to the partitions in turn, each to one of them."""
    topic = server.new_topic(partitions=3)
    for number in range(6):
        pair = [message(b"request %d, %d" % (number, which)) for which in (1, 2)]
        server.send_accepted(topic, *pair, partitioning=make_balanced())
    places: list[int] = []
    for number in range(6):
        found = _partition_of(server, topic, [b"request %d, %d" % (number, n) for n in (1, 2)])
        if found is None:
            return observed(MISSING, overdue=True, note=f"request {number + 1}")
        places.append(found)
    by_turns = sorted(places[:3]) == [1, 2, 3] and places[3:] == places[:3]

    return observed("partitions:in-turn" if by_turns else "partitions:other", note=str(places))


@case("iggy/send/balanced-value", clause="iggy.send.key-hash")
@pytest.mark.parametrize("size", [1, 4, 255])
def test_balanced_value(server: Server, topic: Topic, size: int) -> Observation:
    """A value given with balanced partitioning is ignored or refused."""
    odd = Partitioning(BALANCED, b"\x01" * size)

    return server.refusal(server.send_request(topic, message(), partitioning=odd))


@case("iggy/send/messages-key", clause="iggy.send.spread")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_messages_key(server: Server, key: bytes) -> Observation:
    """Requests with the same partitioning key go to the same partition every time."""
    topic = server.new_topic(partitions=3)
    for payload in (b"first", b"second"):
        server.send_accepted(topic, message(payload), partitioning=messages_key(key))
    places = [_partition_of(server, topic, [payload]) for payload in (b"first", b"second")]
    if None in places:
        return observed(MISSING, overdue=True)

    return observed(
        "partition:same" if places[0] == places[1] else "partition:other", note=str(places)
    )


@case("iggy/send/messages-key-murmur", clause="iggy.send.key-hash")
@pytest.mark.parametrize("count", PARTITION_COUNTS)
@pytest.mark.parametrize("length", LENGTHS)
def test_hash_of_the_key(server: Server, length: int, count: int) -> Observation:
    """The server picks partition hash(key) modulo count; remainder 0 means the last partition."""
    topic = server.new_topic(partitions=count)

    def place(key: bytes) -> int:
        return partition_of_key(key, count, server.generation)

    keys = [make_payload(length + start)[start:] for start in range(3)]
    for number, key in enumerate(keys):
        server.send_accepted(topic, message(b"key %d" % number), partitioning=messages_key(key))

    return first_unlike(
        (
            _has(server, topic, place(key), [b"key %d" % number], "by-hash", among=True)
            for number, key in enumerate(keys)
        ),
        "partition:by-hash",
    )


def _has(
    server: Server,
    topic: Topic,
    partition: int,
    payloads: list[bytes],
    word: str,
    *,
    among: bool = False,
) -> Observation:
    """Say whether a partition has these payloads, and unless ``among`` others no others."""
    polled = server.poll_until(topic, len(payloads), Polling(partition=partition))
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    found = [each.payload for each in polled.messages]
    right = set(payloads) <= set(found) if among else sorted(found) == sorted(payloads)
    if right:
        return observed(f"partition:{word}")
    elsewhere = _partition_of(server, topic, payloads)
    if elsewhere is None:
        return observed(MISSING, overdue=True)
    return observed("partition:other", note=f"{elsewhere}, not {partition}")


def _partition_of(server: Server, topic: Topic, payloads: list[bytes]) -> int | None:
    """Return the first partition that has all these payloads."""
    for partition in range(1, topic.partitions + 1):
        found = {
            each.payload for each in server.poll(topic, Polling(partition=partition)).messages
        }
        if set(payloads) <= found:
            return partition
    return None
