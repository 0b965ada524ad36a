"""Publishes messages and receives them in the circumstances of one row of the table of ways."""

import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from wireproof_kit.covering_array import Row
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.topics.channels import EPHEMERAL
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG
from wireproof_suites.nsq.ways.publishers import BATCH, Header, names_no_partition, publish
from wireproof_suites.nsq.ways.reception import GLANCE_S, LOST, TAG, Reception, subscribe

LAST_RANK = 99
MANY = 10
SIZES = {"beyond-8-bits": 300, "beyond-16-bits": 70_000}
IDLE = {"second-client": 1, "third-client": 2}
HEADERS = {
    "header": {"k": "v", "Mixed-Case_1": "V"},
    "long-header": {"k": "v" * 5_000},
    "tag": {CLIENT_DISPATCH_TAG: TAG, "k": "v"},
}
COUNTS = {"batch": BATCH, "lines": BATCH, "at-once": 2 * BATCH}
USUAL_COUNT = 2
"""Two messages with one trace id are in flight at once."""
REFUSED, ELSEWHERE = "unsupported:refused", "unsupported:other-partition"


def receive_all(broker: Broker, topic: Topic, row: Row) -> Observation:
    """Publish messages as a row says, and one after them, and return whether all are delivered.

    ``kept`` if each is delivered, after a redelivery where the row has one; ``lost`` if one is
    not; ``unsupported:refused`` if the broker refuses the command; ``unsupported:other-partition``
    if the command has no partition, by the texts, and the broker takes another one.
    """
    topic = topic.at_rank(LAST_RANK if row["partition"] == "last" else 0)
    # A broker may refuse a long header, but the messages beside must be accepted.
    header = HEADERS["tag" if row["header"] == "tag" else "header"] if topic.extend else None
    if row["earlier"] == "many-before":
        _fill(broker, topic, header, row)
    count = COUNTS.get(row["command"], USUAL_COUNT)
    bodies = [_body(broker, row, number) for number in range(count)]
    sentinel = broker.unique_body()
    with _consumer(broker, topic, row) as consumer, _elsewhere(broker, topic, row) as others:
        refusal = publish(broker, topic, bodies, row, HEADERS.get(row["header"]))
        if refusal is not None:
            return observed(REFUSED, note=refusal.value)
        broker.publish_accepted(topic, sentinel, header)
        owed = {*bodies, sentinel}
        seen = Reception(broker, consumer, row, owed, sentinel, header).run()
        if seen == LOST and any(_gets(other, bodies) for other in others):
            return observed(ELSEWHERE)
        return seen


@contextmanager
def _consumer(broker: Broker, topic: Topic, row: Row) -> Generator[Consumer]:
    channel = topic.channel() + (EPHEMERAL if row["channel"] == "ephemeral" else "")
    with ExitStack() as stack:
        if row["channel"] == "third-channel":
            for _ in range(2):
                # They hold the same messages, each in flight on its own channel.
                stack.enter_context(subscribe(broker, topic, topic.channel(), row))
        if row["client"] == "client-again":
            subscribe(broker, topic, channel, row).close()
        for _ in range(IDLE.get(row["client"], 0)):
            stack.enter_context(broker.subscribe(topic, channel=channel, ready=0))
        yield stack.enter_context(subscribe(broker, topic, channel, row))


@contextmanager
def _elsewhere(broker: Broker, topic: Topic, row: Row) -> Generator[list[Consumer]]:
    """Subscribe to the other partitions if no text lets the publish name its partition."""
    with ExitStack() as stack:
        places = topic.places if names_no_partition(row) else ()
        yield [
            stack.enter_context(subscribe(broker, topic.at(place.partition), topic.channel(), row))
            for place in places
            if place.partition != topic.partition
        ]


def _gets(consumer: Consumer, bodies: Sequence[bytes]) -> bool:
    """Return True if one of the bodies has come to a consumer."""
    deadline = time.monotonic() + consumer.connection.seconds(REDELIVERY)
    while time.monotonic() < deadline:
        delivery = consumer.take(seconds=GLANCE_S)
        if delivery is None:
            return False
        if delivery.body in bodies:
            return True
    return False


def _fill(broker: Broker, topic: Topic, header: Header | None, row: Row) -> None:
    """Let a channel of its own receive messages of the partition."""
    with subscribe(broker, topic, topic.channel(), row) as consumer:
        for _ in range(MANY):
            broker.publish_accepted(topic, broker.unique_body(), header)
            consumer.next()


def _body(broker: Broker, row: Row, number: int) -> bytes:
    value = row["body"]
    if value == "two-bytes":
        return bytes((number, 255))  # the topic has no other message of two bytes
    body = broker.unique_body()
    if value == "blank-ends":
        # A line of a request ends with its line feed.
        return b" \t" + body + (b" \t" if row["command"] == "lines" else b" \n")
    return body.ljust(SIZES.get(value, 0), b"x")
