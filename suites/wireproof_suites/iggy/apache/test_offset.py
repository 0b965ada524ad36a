"""Stored offsets: what is stored comes back, by partition and consumer, and is deleted."""

from collections.abc import Mapping
from itertools import product

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Replied
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.probes import ask_unserved
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_suites.iggy.apache import steps
from wireproof_suites.iggy.apache.test_send import PARTITIONS

WHO = requests.consumer(1)
LONG = "wp_consumer_with_a_name_as_long_as_names_are_where_they_are_made_of_a_host_and_a_process_"
CONSUMERS: tuple[int | str, ...] = (1, 257, "wp", "wp-2", f"{LONG}1", f"{LONG}2", f"x{LONG}1")


@case("iggy/apache/offset/store-get", clause="iggy.apache.offset.store-get")
@pytest.mark.parametrize("place", range(3))
def test_store_get(apache: ApacheServer, apache_topic: Topic, place: int) -> Observation:
    """A stored offset comes back with partition and newest offset, in 20 bytes."""
    return _stored(apache, apache_topic, place, 1)


@case("iggy/apache/offset/ack-levels", clause="iggy.apache.offset.ack-levels")
@pytest.mark.parametrize("ack", [0, 1])
def test_ack_levels(apache: ApacheServer, apache_topic: Topic, ack: int) -> Observation:
    """An offset is stored with both levels of ack."""
    return _stored(apache, apache_topic, 1, ack)


def _stored(apache: ApacheServer, topic: Topic, place: int, ack: int) -> Observation:
    steps.store(apache, topic, [3])
    # No text says where the offsets of a partition begin.
    offsets = apache.poll_all(topic).offsets
    if len(offsets) != 3:
        return observed("missing", overdue=True)
    offset = offsets[place]
    # Only polls that commit may leave an offset where it is further on.
    apache.store_offset(topic, offsets[-1], ack=ack)
    answer = apache.store_offset(topic, offset, ack=ack)
    if observe(answer, framed=True).value != "ok":
        return observe(answer, framed=True)
    told = apache.ask_offset(topic)
    found = apache.stored_offset(topic)
    if found is None:
        is_empty = isinstance(told, Replied) and told.is_accepted
        return observed("offset:none" if is_empty else observe(told).value).on(told)
    fields = found.partition_id, found.current_offset, found.stored_offset
    is_right = fields == (0, offsets[-1], offset)
    return observed("offset:right" if is_right else "offset:other", note=f"{fields}").on(told)


@case("iggy/apache/offset/ack", clause="iggy.apache.offset.ack")
@pytest.mark.parametrize("verb", ["store", "delete"])
def test_ack(apache: ApacheServer, apache_topic: Topic, verb: str) -> Observation:
    """A request that stores or deletes an offset without its byte ack is refused."""
    steps.store(apache, apache_topic, [3])
    if verb == "store":
        body = requests.store_offset_body(apache_topic, WHO, 0, 1)
        return _ask(apache, operations.STORE_CONSUMER_OFFSET, body.data[:-1])
    apache.store_offset(apache_topic, 1)
    body = requests.delete_offset_body(apache_topic, WHO, 0)
    return _ask(apache, operations.DELETE_CONSUMER_OFFSET, body.data[:-1])


@case("iggy/apache/offset/ack-unknown", clause="iggy.apache.offset.ack-unknown")
@pytest.mark.parametrize("ack", [2, 255])
def test_ack_unknown(apache: ApacheServer, apache_topic: Topic, ack: int) -> Observation:
    """A byte ack that is neither 0 nor 1 is refused."""
    steps.store(apache, apache_topic, [3])
    right = requests.store_offset_body(apache_topic, WHO, 0, 1)
    body = requests.overwritten(right, "ack", ack)
    return _ask(apache, operations.STORE_CONSUMER_OFFSET, body)


@case("iggy/apache/offset/beyond", clause="iggy.apache.offset.beyond")
@pytest.mark.parametrize(
    ("size", "offset"), [(3, 3), (3, (1 << 64) - 1), (0, 0)], ids=["next", "highest", "empty"]
)
def test_beyond(apache: ApacheServer, apache_topic: Topic, size: int, offset: int) -> Observation:
    """An offset beyond the newest one is not stored."""
    steps.store(apache, apache_topic, [size] * bool(size))
    newest = max(apache.poll_all(apache_topic).offsets, default=-1)
    body = requests.store_offset_body(apache_topic, WHO, 0, max(offset, newest + 1))
    return _ask(apache, operations.STORE_CONSUMER_OFFSET, body)


def _ask(apache: ApacheServer, operation: int, body: Outgoing | bytes) -> Observation:
    client = apache.connect()
    return observe(ask_unserved(client, client.header(operation), body), framed=True)


@case("iggy/apache/offset/partitions", clause="iggy.apache.offset.partitions")
def test_partitions(apache: ApacheServer) -> Observation:
    """Each consumer has an offset of its own in each partition."""
    topic, pairs = apache.new_topic(PARTITIONS), [*product(CONSUMERS, range(PARTITIONS))]
    for number in range(PARTITIONS):
        steps.store(apache, topic, [len(pairs)], partition=number)
    due = {pair: offset for offset, pair in enumerate(pairs)}
    for (who, number), offset in due.items():
        apache.store_offset(topic, offset, consumer=who, partition=number)
    seen = _observe_stored(apache, topic, due)
    if seen.value != "offsets:own":
        return seen
    gone = pairs[0], pairs[-1]
    for who, number in gone:
        body = requests.delete_offset_body(topic, requests.consumer(who), number)
        apache.ask_settled(operations.DELETE_CONSUMER_OFFSET, body)
    return _observe_stored(apache, topic, {each: due[each] for each in pairs if each not in gone})


def _observe_stored(
    apache: ApacheServer, topic: Topic, due: Mapping[tuple[int | str, int], int]
) -> Observation:
    for (who, number), offset in due.items():
        found = apache.stored_offset(topic, consumer=who, partition=number)
        if found is None or found.stored_offset != offset:
            note = f"consumer {who}, partition {number}: {found}"
            return observed("offsets:other" if found else "offset:none", note=note)
    return observed("offsets:own")


@case("iggy/apache/offset/delete", clause="iggy.apache.offset.delete")
def test_delete(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """An offset that was deleted is not stored any more."""
    steps.store(apache, apache_topic, [3])
    apache.store_offset(apache_topic, 1)
    body = requests.delete_offset_body(apache_topic, WHO, 0)
    answer = apache.ask_settled(operations.DELETE_CONSUMER_OFFSET, body)
    if observe(answer, framed=True).value != "ok":
        return observe(answer, framed=True)
    found = apache.stored_offset(apache_topic)
    return observed("offset:none" if found is None else "offset:stored").on(answer)


@case("iggy/apache/offset/never", clause="iggy.apache.offset.never")
def test_never(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """The reply for a consumer without a stored offset has no body."""
    steps.store(apache, apache_topic, [1])
    answer = apache.ask_offset(apache_topic)
    is_empty = isinstance(answer, Replied) and answer.is_accepted and not answer.body
    return observed("offset:none").on(answer) if is_empty else observe(answer)
