"""One message in a corner: which partition, path, client, delivery and value it has.

A broker may break a rule in one partition, over one path or for the second client only. The rows
of the tables below are chosen so that every two values of different columns meet in some row.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe_delivery, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import header_bytes
from wireproof_kit.nsq.wire.http import Query
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.steps.deliveries import AS_SENT, NO_EXT_LAYOUTS

ROWS = """
0 http traced   again  first       blank-ends
0 http traced   again  requeued    usual
0 http untraced second next-client blank-ends
0 http untraced third  requeued    large
0 tcp  traced   first  timed-out   usual
1 http traced   first  requeued    blank-ends
1 http untraced second first       usual
1 http untraced third  next-client blank-ends
1 tcp  traced   again  next-client large
1 tcp  untraced third  timed-out   blank-ends
2 http untraced again  timed-out   blank-ends
2 http untraced first  next-client usual
2 http untraced second timed-out   large
2 tcp  traced   first  first       large
2 tcp  traced   second requeued    large
2 tcp  traced   third  first       usual
"""
ORDERED_ROWS = """
0 http untraced again first       usual
0 http untraced again timed-out   large
0 http untraced first requeued    large
0 tcp  traced   again next-client usual
1 http untraced again first       large
1 http untraced again next-client usual
1 tcp  traced   again requeued    usual
1 tcp  untraced first timed-out   large
2 tcp  traced   again timed-out   usual
2 tcp  traced   first next-client large
2 tcp  untraced first first       usual
2 tcp  untraced first requeued    large
"""
TIMEOUT_MS = 1000
LARGE_BYTES = 70_000
TRACE = 0x0102030401020304  # its halves are equal
IDLE = {"second": 1, "third": 2}
HEADER = {"k": "v", "Mixed-Case_1": "V"}


@dataclass(frozen=True, slots=True)
class Corner:
    """Circumstances of one message: partition, path, trace, client and delivery.

    ``client`` says which client of its channel the consumer is, or that another client was there
    before and left. ``delivery`` says whether the message comes again, and why.
    """

    partition: int
    path: str
    traced: bool
    client: str
    delivery: str
    value: str

    @property
    def id(self) -> str:
        """Return the circumstances as the last part of a case id."""
        traced = "traced" if self.traced else "untraced"
        words = (f"p{self.partition}", self.path, traced, self.client, self.delivery, self.value)
        return "+".join(words)


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it was published, and each delivery of it."""

    body: bytes
    header: dict[str, str] | None
    trace_id: int
    deliveries: tuple[Delivery | None, ...]


def read_rows(text: str) -> dict[str, Corner]:
    """Return the circumstances in the rows of a table, by case id."""
    rows = (line.split() for line in text.strip().splitlines())
    corners = [
        Corner(int(partition), path, trace == "traced", client, delivery, value)
        for partition, path, trace, client, delivery, value in rows
    ]
    return {corner.id: corner for corner in corners}


CORNERS = read_rows(ROWS)
ORDERED_CORNERS = read_rows(ORDERED_ROWS)
_ALL = (*CORNERS.values(), *ORDERED_CORNERS.values())
HTTP_NEEDED = {corner.id: ("http",) for corner in _ALL if corner.path == "http"}
TRACE_NEEDED = {corner.id: ("trace",) for corner in _ALL if corner.traced} | HTTP_NEEDED
"""Without a header a message is traced by PUB_TRACE over TCP, and not at all over HTTP."""


def receive(broker: Broker, wide: Topic, corner: Corner, *, command: str = "SUB") -> Received:
    """Publish one message and let a consumer receive it, all in the given circumstances."""
    topic = wide.at_rank(corner.partition)
    header = dict(HEADER) if topic.extend else None
    trace_id = TRACE if corner.traced and (topic.extend or corner.path == "tcp") else 0
    if header is not None and trace_id:
        header[TRACE_ID] = str(trace_id)
    body = _body(broker, corner.value)
    with _consumer(broker, topic, corner.client, command) as consumer:
        _publish(broker, topic, body, header, trace_id=trace_id, path=corner.path)
        deliveries = tuple(_deliveries(broker, consumer, body, corner.delivery, command))
    return Received(body, header, trace_id, deliveries)


def as_published(received: Received) -> Observation:
    """Compare each delivery with what was published.

    The observation is ``delivered:as-sent``, or the first delivery that differs.
    """
    for delivery in received.deliveries:
        without = received.header is None and delivery is not None
        if without and delivery is not None and delivery.layout in NO_EXT_LAYOUTS:
            continue
        seen = observe_delivery(delivery, body=received.body, header=received.header)
        if seen.value != AS_SENT:
            return seen
    return observed(AS_SENT)


@contextmanager
def _consumer(broker: Broker, topic: Topic, client: str, command: str) -> Generator[Consumer]:
    channel, soon = topic.channel(), {"msg_timeout": TIMEOUT_MS}
    with ExitStack() as stack:
        if client == "again":
            broker.subscribe(topic, channel=channel, command=command, identify=soon).close()
        for _ in range(IDLE.get(client, 0)):
            stack.enter_context(broker.subscribe(topic, channel=channel, ready=0))
        yield stack.enter_context(
            broker.subscribe(topic, channel=channel, command=command, identify=soon)
        )


def _deliveries(
    broker: Broker, consumer: Consumer, body: bytes, why: str, command: str
) -> Iterator[Delivery | None]:
    first = consumer.take(body, REDELIVERY)
    yield first
    if first is None:
        return
    if why == "first":
        consumer.finish(first)
        return
    if why == "requeued":
        consumer.requeue(first, 0)
    seconds = consumer.connection.seconds(REDELIVERY) + TIMEOUT_MS / 1000
    if why != "next-client":
        yield consumer.next(body, seconds=seconds)
        return
    consumer.close()
    with broker.subscribe(consumer.topic, channel=consumer.channel, command=command) as other:
        yield other.next(body, seconds=seconds)


def _body(broker: Broker, value: str) -> bytes:
    body = broker.unique_body()
    if value == "large":
        return body + b"x" * LARGE_BYTES
    return b" \t" + body + b" \n" if value == "blank-ends" else body


def _publish(
    broker: Broker,
    topic: Topic,
    body: bytes,
    header: dict[str, str] | None,
    *,
    trace_id: int,
    path: str,
) -> None:
    if path == "tcp":
        broker.publish_accepted(topic, body, header, trace_id=trace_id or None)
        return
    query: Query = {"topic": topic.name, "partition": topic.partition}
    if header is not None:
        query = {**query, "ext": header_bytes(header)}
    where = "/pub" if header is None else "/pub_ext"
    answer = broker.http.at(topic.http_address).request("POST", where, query=query, body=body)
    if answer.status != 200:
        raise ArrangementFailed(f"POST {where} was answered {observe_http(answer).describe()}")
