"""Publishes messages and receives them in the circumstances of one row of the table of ways."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from wireproof_kit.covering_array import Row
from wireproof_kit.nsq.broker import ORDERED, Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.channels import EPHEMERAL
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import Header, header_bytes, mpub
from wireproof_kit.nsq.wire.http import Query
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG, TRACE_ID

LAST_RANK = 99
BATCH = 3
MANY = 10
TIMEOUT_MS = LATER_MS = 1000
SIZES = {"beyond-8-bits": 300, "beyond-16-bits": 70_000}
IDLE = {"second-client": 1, "third-client": 2}
TRACE = 0x8102030405060708
TAG = "wptag"
HEADERS = {
    "header": {"k": "v", "Mixed-Case_1": "V"},
    "long-header": {"k": "v" * 5_000},
    "tag": {CLIENT_DISPATCH_TAG: TAG, "k": "v"},
}
FINISHED, NEXT_CLIENT = "finished", "next-client"
KEPT, LOST, REFUSED = "kept", "lost", "unsupported:refused"


def receive_all(broker: Broker, topic: Topic, row: Row) -> Observation:
    """Publish messages as a row says, and one after them, and return whether all are delivered.

    ``kept`` if each is delivered, after a redelivery where the row has one; ``lost`` if one is
    not; ``unsupported:refused`` if the broker refuses the command.
    """
    topic = topic.at_rank(LAST_RANK if row["partition"] == "last" else 0)
    # A broker may refuse a long header, but the messages beside must be accepted.
    header = HEADERS["tag" if row["header"] == "tag" else "header"] if topic.extend else None
    if row["earlier"] == "many-before":
        _fill(broker, topic, header, row)
    count = BATCH if row["command"] == "batch" else 1
    bodies = [_body(broker, row["body"], number) for number in range(count)]
    sentinel = broker.unique_body()
    with _consumer(broker, topic, row) as consumer:
        refusal = _publish(broker, topic, bodies, row)
        if refusal is not None:
            return observed(REFUSED, note=refusal.value)
        broker.publish_accepted(topic, sentinel, header)
        owed = {*bodies, sentinel}
        if row["delivery"] != NEXT_CLIENT:
            return _receive(consumer, owed, sentinel, row["delivery"])
        if _take(consumer) is None:
            return observed(LOST, overdue=True)
        consumer.close()
        with _subscribe(broker, topic, consumer.channel, row) as other:
            return _receive(other, owed, sentinel, FINISHED)


def _receive(consumer: Consumer, owed: set[bytes], sentinel: bytes, first: str) -> Observation:
    """Receive all owed messages; of each but the sentinel, let the first delivery end as given.

    A message is known by its body, or by its id if its body is none of the owed ones: what a
    message contains is judged elsewhere.
    """
    begun: set[bytes] = set()
    done: set[bytes] = set()
    while len(done) < len(owed):
        delivery = _take(consumer)
        if delivery is None:
            return observed(LOST, overdue=True)
        key = delivery.body if delivery.body in owed else delivery.message_id or delivery.raw
        if key in begun or key == sentinel or first == FINISHED:
            consumer.finish(delivery)
            done.add(key)
        elif first in ("requeued", "requeued-later"):
            consumer.requeue(delivery, 0 if first == "requeued" else LATER_MS)
        elif first == "touched":
            consumer.touch(delivery)
        begun.add(key)
    return observed(KEPT)


def _take(consumer: Consumer) -> Delivery | None:
    seconds = consumer.connection.seconds(REDELIVERY) + TIMEOUT_MS / 1000
    return consumer.take(seconds=seconds)


@contextmanager
def _consumer(broker: Broker, topic: Topic, row: Row) -> Generator[Consumer]:
    channel = topic.channel() + (EPHEMERAL if row["channel"] == "ephemeral" else "")
    with ExitStack() as stack:
        if row["client"] == "client-again":
            _subscribe(broker, topic, channel, row).close()
        for _ in range(IDLE.get(row["client"], 0)):
            stack.enter_context(broker.subscribe(topic, channel=channel, ready=0))
        yield stack.enter_context(_subscribe(broker, topic, channel, row))


def _subscribe(broker: Broker, topic: Topic, channel: str, row: Row) -> Consumer:
    wants = {DESIRED_TAG: TAG} if row["header"] == "tag" else {}
    return broker.subscribe(
        topic,
        channel=channel,
        command=ORDERED[1] if topic.ordered else "SUB",
        ready=BATCH + 1,
        identify={"msg_timeout": TIMEOUT_MS, **wants},
    )


def _fill(broker: Broker, topic: Topic, header: Header | None, row: Row) -> None:
    """Let a channel of its own receive messages of the partition."""
    with _subscribe(broker, topic, topic.channel(), row) as consumer:
        for _ in range(MANY):
            broker.publish_accepted(topic, broker.unique_body(), header)
            consumer.next()


def _body(broker: Broker, value: str, number: int) -> bytes:
    if value == "two-bytes":
        return bytes((number, 255))  # the topic has no other message of two bytes
    body = broker.unique_body()
    return (
        b" \t" + body + b" \n" if value == "blank-ends" else body.ljust(SIZES.get(value, 0), b"x")
    )


def _publish(
    broker: Broker, topic: Topic, bodies: Sequence[bytes], row: Row
) -> Observation | None:
    """Publish as a row says; return the answer if the broker refuses."""
    header = HEADERS.get(row["header"])
    trace_id = TRACE if row["trace"] == "traced" else None
    if header is not None and trace_id:
        header = {**header, TRACE_ID: str(trace_id)}
    if row["command"] == "http":
        return _post(broker, topic, bodies[0], header)
    if row["command"] == "alone":
        answer = broker.publish(topic, bodies[0], header, trace_id=trace_id)
    else:
        with broker.connect(topic=topic) as publisher:
            answer = publisher.ask(mpub(topic, bodies))
    return None if isinstance(answer, Response) else observe(answer)


def _post(
    broker: Broker, topic: Topic, body: bytes, header: dict[str, str] | None
) -> Observation | None:
    query: Query = {"topic": topic.name, "partition": topic.partition}
    if header is not None:
        query = {**query, "ext": header_bytes(header)}
    path = "/pub" if header is None else "/pub_ext"
    answer = broker.http.at(topic.http_address).request("POST", path, query=query, body=body)
    return None if answer.status == 200 else observe_http(answer)
