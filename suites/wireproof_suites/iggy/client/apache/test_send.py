"""What a producer of generation apache sends, and what its user is told."""

import pytest

from wireproof_kit.clients.observe import any_of, shown
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.probes import ONE, polls, sends
from wireproof_kit.iggy.clients.script import Raw
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import BALANCED, OFFSET, PARTITION_ID, STRATEGIES, TIMESTAMP
from wireproof_suites.iggy.client.apache.apache_case import (
    LONG,
    MANY,
    client_case,
    make_script,
    observe_law,
)
from wireproof_suites.iggy.client.apache.test_poll import FINITE
from wireproof_suites.iggy.client.seen import answered, is_malformed, observe_place
from wireproof_suites.iggy.client.test_poll import places_of
from wireproof_suites.iggy.client.test_send import MESSAGES as EARLIER
from wireproof_suites.iggy.client.test_send import (
    compare_sent,
    observe_outcome,
    sent_of,
)

MESSAGES: dict[str, list[SentMessage]] = {
    **EARLIER,
    "kinds": [SentMessage(0, tuple(each), b"kinds") for each in FINITE.values()],
}
ROWS = ("one", "several", "headers", "id")
PARTITIONINGS: dict[str, Partitioning] = {
    "balanced": make_balanced(),
    "partition-id": partition_id(0),
    "messages-key": messages_key(b"wireproof-key"),
}
UNANSWERED = {"closed": Raw(b""), "reset": Raw(b"", reset=True)}
STRATEGY_VALUES = {
    "offset": 7,
    "timestamp": 1_692_643_870_990_111,
    "first": 0,
    "last": 0,
    "next": 0,
}
each_row = pytest.mark.parametrize("row", ROWS)


def _observe(client: Client, clause: str, row: str, only: str = "") -> Observation:
    asks = [ask_send(MESSAGES[row]), ask_send([ONE])]
    return observe_law(client, clause, "producer", asks, only=only)


@client_case("send/fields", "fields", "producer", "tcp")
@each_row
def test_fields(client: Client, row: str) -> Observation:
    """A producer sends zero for the fields of a batch that the server stamps."""
    return _observe(client, "fields", row)


@client_case("send/frame-checksum", "checksums", "producer", "tcp")
@each_row
def test_frame_checksum(client: Client, row: str) -> Observation:
    """A producer sends the right checksum of every message."""
    return _observe(client, "checksums", row, "checksum:frame")


@client_case("send/batch-checksum", "checksums", "producer", "tcp")
@each_row
def test_batch_checksum(client: Client, row: str) -> Observation:
    """A producer sends the right checksum of every batch."""
    return _observe(client, "checksums", row, "checksum:batch")


@client_case("send/deltas", "deltas", "producer", "tcp")
@each_row
def test_deltas(client: Client, row: str) -> Observation:
    """The offset delta of every message that a producer sends is its index in the batch."""
    return _observe(client, "deltas", row)


@client_case("send/counts", "counts", "producer", "tcp")
@each_row
def test_counts(client: Client, row: str) -> Observation:
    """The length and the counts of what a producer sends are those of its messages."""
    return _observe(client, "counts", row)


@client_case("send/reserved-batch", "reserved-batch", "producer", "tcp")
@each_row
def test_reserved_batch(client: Client, row: str) -> Observation:
    """The reserved bytes of the batches and messages that a producer sends are zero."""
    return _observe(client, "reserved-batch", row)


@client_case("send/origin", "origin", "producer", "tcp")
@each_row
def test_origin(client: Client, row: str) -> Observation:
    """A producer sends the time of its batches, in microseconds since 1970."""
    return _observe(client, "origin", row)


@client_case("send/ids", "ids", "producer", "tcp")
@each_row
def test_ids(client: Client, row: str) -> Observation:
    """A producer gives each message without an id one of its own."""
    return _observe(client, "ids", row)


@client_case("send/layout", "sent", "producer", "driver", "tcp")
@pytest.mark.parametrize("row", MESSAGES)
def test_layout(client: Client, row: str) -> Observation:
    """A producer sends the payloads, the user headers and the ids that its user gave."""
    given = MESSAGES[row]
    script = make_script("producer", asks=[ask_send(given)])
    story = client.play(script, any_of(answered(1, SEND), is_malformed))
    return compare_sent(story, given)


@client_case("send/place", "place", "producer", "tcp")
def test_send_place(client: Client) -> Observation:
    """A producer sends messages to the stream and the topic that its user named."""
    script = make_script("producer", asks=[ask_send([ONE]), ask_send([ONE])])
    story = client.play(script, any_of(lambda s: len(sends(s)) > 1, is_malformed))
    return observe_place(story, sent_of(story))


@client_case("poll/place", "place", "consumer", "tcp")
def test_poll_place(client: Client) -> Observation:
    """A consumer polls the stream and the topic that its user named."""
    script = make_script("consumer", asks=[ask_poll(), ask_poll(10)])
    story = client.play(script, any_of(lambda s: len(polls(s)) > 1, is_malformed))
    return observe_place(story, places_of(story))


@client_case("send/partitioning", "partitioning", "producer", "driver", "tcp")
@pytest.mark.parametrize("kind", PARTITIONINGS)
def test_partitioning(client: Client, kind: str) -> Observation:
    """A producer sends the partitioning that its user chose, or the partition chosen by it."""
    due = PARTITIONINGS[kind]
    script = make_script("producer", asks=[ask_send([ONE], due)])
    story = client.play(script, any_of(answered(1, SEND), is_malformed))
    found = [each.partitioning for each in sent_of(story)]
    allowed = [due, *([] if due.kind == PARTITION_ID else [partition_id(0)])]
    right = all(each in allowed or each.kind == due.kind == BALANCED for each in found)
    return shown(story, "as-given" if right else "other", seen=bool(found), note=f"{found}")


@client_case("poll/strategy", "strategy", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", STRATEGY_VALUES)
def test_strategy(client: Client, name: str) -> Observation:
    """A consumer polls with the strategy that its user chose, and with its value."""
    value = STRATEGY_VALUES[name]
    script = make_script("consumer", asks=[ask_poll(value, strategy=name)])
    story = client.play(script, any_of(answered(1), is_malformed))
    found = [(each.poll.strategy, each.poll.value) for each in polls(story) if each.poll]
    right = [
        STRATEGIES[kind] == name and (kind not in (OFFSET, TIMESTAMP) or sent == value)
        for kind, sent in found
    ]
    value_seen = "as-given" if any(right) else "other"
    return shown(story, value_seen, seen=bool(found), note=f"{found}")


@client_case("send/unanswered", "unanswered", "producer", "driver", "tcp")
@pytest.mark.parametrize("end", UNANSWERED)
def test_unanswered(client: Client, end: str) -> Observation:
    """A producer does not report success for messages that the server has not answered."""
    script = make_script("producer", sends=(UNANSWERED[end],) * MANY, asks=[ask_send([ONE])])
    return observe_outcome(client.play(script, answered(1, SEND), within=LONG), SEND)
