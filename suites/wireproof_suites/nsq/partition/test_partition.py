"""SUB and PUB with a partition: whose messages come to whom."""

import itertools
from collections.abc import Sequence

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import Header, mpub, pub, raw, rdy, subscribe
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_kit.wire.outgoing import Outgoing, join_pieces
from wireproof_spec.nsq.names import SUB_ORDERED
from wireproof_suites.nsq.steps.batches import publish_batch
from wireproof_suites.nsq.steps.deliveries import answered_and
from wireproof_suites.nsq.steps.message_contents import CONTENTS
from wireproof_suites.nsq.steps.ordered_delivery import (
    open_consumer,
    publish,
    read_in_order,
    take_of,
)
from wireproof_suites.nsq.steps.partitions import READY, read_again, read_own
from wireproof_suites.nsq.steps.publish_results import followed_by
from wireproof_suites.nsq.steps.subscriptions import receive_all
from wireproof_suites.nsq.steps.tag_dispatch import both
from wireproof_suites.nsq.steps.trace_responses import observe_next_record

SIZES = [1, 2, 255, 4096, 100_000]
CHANNELS = {
    "punctuation": "wp.c_-",
    "64-letters": "w" * 64,
    "ephemeral": "wp_c#ephemeral",
}
IDENTITIES = {"no-identify": None, "no-fields": {}, "negotiated": {"feature_negotiation": True}}
COUNT = 6
# Longer than a broker that lets messages stray late would take its time.
LONG_TIMEOUT_MS = 5000


@case("nsq/partition/subscribe", clause="smart.partition.subscribe")
@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
def test_subscribe(
    broker: Broker, plain_topic: Topic, identity: dict[str, object] | None
) -> Observation:
    """A subscription to a partition is answered OK, and messages arrive."""
    return _subscribe(broker, plain_topic, plain_topic.channel(), identity)


@case("nsq/partition/subscribe/channel/one-letter", clause="smart.partition.subscribe")
def test_channel_of_one_letter(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A client can subscribe to a channel whose name is one letter."""
    return _subscribe(broker, fresh_plain_topic, "w", {})


@case("nsq/partition/subscribe/channel", clause="smart.partition.names")
@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_channel_of_any_name(
    broker: Broker, fresh_plain_topic: Topic, channel: str
) -> Observation:
    """A client can subscribe to a channel with any legal name."""
    return _subscribe(broker, fresh_plain_topic, channel, {})


@case("nsq/partition/subscribe-blank", clause="smart.partition.subscribe-blank")
def test_blank_at_the_end(broker: Broker, plain_topic: Topic) -> Observation:
    """SUB with a blank at the end of its line is accepted, and messages arrive."""
    channel = plain_topic.channel()
    words = f"SUB {plain_topic.name} {channel} {plain_topic.partition} \n"

    return _subscribe(broker, plain_topic, channel, {}, raw(words.encode(), "SUB"))


@case("nsq/partition/subscribe/several", clause="smart.partition.subscribe")
def test_several_clients(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A second client of a channel receives messages while the first is not ready."""
    topic = fresh_plain_topic
    first = broker.subscribe(topic, ready=0)

    return _subscribe(broker, topic, first.channel, {})


@case("nsq/partition/subscribe-each", clause="smart.partition.subscribe", needs=("partition",))
@pytest.mark.parametrize("partition", [0, 1])
def test_subscribe_to_each(
    broker: Broker, partitioned_topic: Topic, partition: int
) -> Observation:
    """A client can subscribe to each partition of a topic."""
    topic = _both(partitioned_topic)[partition]

    return _subscribe(broker, topic, topic.channel(), {})


@case("nsq/partition/publish", clause="smart.partition.publish")
@pytest.mark.parametrize("size", SIZES)
def test_publish(broker: Broker, fresh_plain_topic: Topic, size: int) -> Observation:
    """A publish to a partition is answered OK and delivered as sent."""
    return _publish(broker, fresh_plain_topic, b"~" * size)


@case("nsq/partition/publish/content", clause="smart.partition.publish")
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_publish_any_content(broker: Broker, plain_topic: Topic, content: bytes) -> Observation:
    """A message published to a partition is delivered unchanged, whatever its bytes."""
    return _publish(broker, plain_topic, content + broker.unique_body())


@case("nsq/partition/pipelined", clause="smart.partition.publish")
def test_pipelined(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """Several publishes in one write are each answered, and all messages are delivered."""
    topic = fresh_plain_topic
    bodies = [broker.unique_body() for _ in range(10)]
    with broker.subscribe(topic, ready=READY) as consumer, broker.connect(topic=topic) as client:
        client.send(join_pieces([pub(topic, body) for body in bodies], "ten PUB in one write"))
        for _ in bodies:
            answer = observe(client.receive())
            if answer.value != "ok":
                return answer
        return receive_all(consumer, bodies)


@case("nsq/partition/own-messages", clause="smart.partition.own-messages", waiting=True)
@pytest.mark.parametrize("named", ["one-name", "two-names"])
def test_own_messages(broker: Broker, partitioned_topic: Topic, named: str) -> Observation:
    """The consumer of a partition receives that partition's messages and no others."""
    topics = _several(partitioned_topic)
    channel = topics[0].channel() if named == "one-name" else None
    consumers = [broker.subscribe(topic, channel=channel, ready=READY) for topic in topics]

    return _read_all(consumers, _by_turns(broker, topics))


@case(
    "nsq/partition/own-messages-ext",
    clause="smart.partition.own-messages",
    needs=("ext",),
    waiting=True,
)
def test_own_messages_with_headers(broker: Broker, partitioned_ext_topic: Topic) -> Observation:
    """Messages with headers are delivered from their own partition only."""
    topics = _several(partitioned_ext_topic)
    consumers = [broker.subscribe(topic, ready=READY) for topic in topics]

    return _read_all(consumers, _by_turns(broker, topics, b'{"k":"v"}'))


@case(
    "nsq/partition/own-messages-batch",
    clause="smart.partition.batch",
    needs=("batch",),
    waiting=True,
)
def test_own_messages_of_batches(broker: Broker, partitioned_topic: Topic) -> Observation:
    """Messages of a batch are delivered from their own partition only."""
    topics = _several(partitioned_topic)
    consumers = [broker.subscribe(topic, ready=READY) for topic in topics]
    bodies = [[broker.unique_body() for _ in range(COUNT)] for _ in consumers]
    for topic, batch in zip(topics, bodies, strict=True):
        with broker.connect(topic=topic) as client:
            client.ask(mpub(topic, batch))

    return _read_all(consumers, bodies)


@case("nsq/partition/own-messages-later", clause="smart.partition.own-messages", waiting=True)
def test_own_messages_later(broker: Broker, partitioned_topic: Topic) -> Observation:
    """Queued messages are delivered from their own partition only."""
    topics = _several(partitioned_topic)
    channels: list[str] = []
    for topic in topics:
        with broker.subscribe(topic, ready=0) as early:
            channels.append(early.channel)
    bodies = _by_turns(broker, topics)
    consumers = [
        broker.subscribe(topic, channel=channel, ready=READY)
        for topic, channel in zip(topics, channels, strict=True)
    ]

    return _read_all(consumers, bodies)


@case("nsq/partition/own-messages-again", clause="smart.partition.own-messages", waiting=True)
@pytest.mark.parametrize("way", ["requeued", "timed-out"])
def test_own_messages_again(broker: Broker, partitioned_topic: Topic, way: str) -> Observation:
    """A redelivered message comes from its own partition only."""
    return _again(broker, partitioned_topic, way=way, timeout_ms=1000)


@case("nsq/partition/own-messages-long", clause="smart.partition.own-messages", waiting=True)
def test_own_messages_for_long(broker: Broker, partitioned_topic: Topic) -> Observation:
    """No message reaches a consumer of another partition even seconds later."""
    return _again(broker, partitioned_topic, way="timed-out", timeout_ms=LONG_TIMEOUT_MS)


@case("nsq/trace/partition", clause="smart.trace.partition", waiting=True)
@pytest.mark.parametrize("partition", [0, 1])
def test_traced(broker: Broker, partitioned_topic: Topic, partition: int) -> Observation:
    """A traced message is delivered only to the consumer of its own partition."""
    own, *others = topics = _several(partitioned_topic)[:: 1 - 2 * partition]
    consumers = [broker.subscribe(topic, ready=READY) for topic in topics]
    traced = [broker.unique_body() for _ in range(COUNT)]
    for number, body in enumerate(traced):
        broker.publish_accepted(own, body, trace_id=number)
    sentinels = [broker.unique_body() for _ in others]
    for other, sentinel in zip(others, sentinels, strict=True):
        broker.publish_accepted(other, sentinel)

    return _read_all(consumers, [traced, *([each] for each in sentinels)])


@case("nsq/trace/partition-long", clause="smart.trace.partition", waiting=True)
def test_traced_for_long(broker: Broker, partitioned_topic: Topic) -> Observation:
    """No traced message reaches a consumer of another partition even seconds later."""
    return _again(
        broker, partitioned_topic, way="timed-out", timeout_ms=LONG_TIMEOUT_MS, traced=True
    )


@case("nsq/trace/partition-position", clause="smart.trace.offset", needs=("partition",))
def test_traced_positions(broker: Broker, partitioned_topic: Topic) -> Observation:
    """In each partition, the offset in PUB_TRACE answers increases from message to message."""
    first, second = _both(partitioned_topic)
    one = broker.publish_accepted(first, b"x" * 100, trace_id=1)
    other = broker.publish_accepted(second, b"x", trace_id=2)
    one_more = broker.publish_accepted(first, b"x", trace_id=3)
    another = broker.publish_accepted(second, b"x", trace_id=4)

    return both(observe_next_record(one, one_more), observe_next_record(other, another))


@case("nsq/order/partition", clause="smart.order.partition", waiting=True)
def test_ordered(broker: Broker, partitioned_ordered_topic: Topic) -> Observation:
    """An ordered client receives its own partition's messages, in publish order."""
    topics = _several(partitioned_ordered_topic)
    consumers = [open_consumer(broker, topic) for topic in topics]

    return _read_all(consumers, _by_turns(broker, topics))


@case("nsq/order/partition-long", clause="smart.order.partition", waiting=True)
def test_ordered_for_long(broker: Broker, partitioned_ordered_topic: Topic) -> Observation:
    """An ordered client receives no message of another partition even seconds later."""
    topics = _several(partitioned_ordered_topic)
    wishes = {"msg_timeout": LONG_TIMEOUT_MS}
    consumers = [open_consumer(broker, topic, identify=wishes) for topic in topics]
    before = _by_turns(broker, topics)
    held = take_of(consumers[0], before[0])
    if held is None:
        return observed("missing", overdue=True)
    foreign = _flat(before[1:])
    back = read_again(consumers[0], before[0][0], foreign, after=LONG_TIMEOUT_MS / 1000)
    if back.value != "own":
        return back

    return _read_all(consumers, _joined(before, _by_turns(broker, topics)), done=1)


@case("nsq/order/partition-held", clause="smart.order.partition", waiting=True)
def test_ordered_while_the_other_holds(
    broker: Broker, partitioned_ordered_topic: Topic
) -> Observation:
    """A message in flight on an ordered topic holds back only its own partition."""
    first, second = _both(partitioned_ordered_topic)
    holder = open_consumer(broker, first)
    reader = open_consumer(broker, second, channel=holder.channel)
    held = publish(broker, first, 3)
    if take_of(holder, held) is None:
        return observed("missing", overdue=True)
    bodies = publish(broker, second, COUNT)

    return read_in_order(reader, bodies)


@case("nsq/order/partition-held/sub", clause="smart.order.partition")
@pytest.mark.parametrize("partition", [0, 1])
def test_ordered_subscription(
    broker: Broker, partitioned_ordered_topic: Topic, partition: int
) -> Observation:
    """A client can make an ordered subscription to each partition of a topic."""
    topic = _both(partitioned_ordered_topic)[partition]
    with broker.subscribe(topic, command=SUB_ORDERED.decode()) as consumer:
        bodies = publish(broker, topic, 3)

        return read_in_order(consumer, bodies)


def _again(
    broker: Broker, topic: Topic, *, way: str, timeout_ms: int, traced: bool = False
) -> Observation:
    """Let a message come again; once it has it could have come to the other ones, too."""
    topics = _several(topic)
    channel = topics[0].channel()
    wishes = {"msg_timeout": timeout_ms}
    consumers = [
        broker.subscribe(each, channel=channel, ready=READY, identify=wishes) for each in topics
    ]
    here = consumers[0]
    before = _by_turns(broker, topics, traced=traced)
    batch = [broker.unique_body(), broker.unique_body()]
    publish_batch(broker, topics[-1], batch)
    before[-1] += batch
    body = broker.unique_body()
    broker.publish_accepted(topics[0], body)
    before[0].append(body)
    held = here.take(body)
    if held is not None and way == "requeued":
        here.requeue(held, 0)
    back = read_again(here, body, _flat(before[1:]), after=timeout_ms / 1000)
    bodies = _joined(before, _by_turns(broker, topics))
    if back.value != "own":
        return both(back, _read_others(consumers, bodies))

    return _read_all(consumers, bodies, done=len(before[0]))


def _both(topic: Topic) -> tuple[Topic, Topic]:
    """Return the first and the last partition of a topic."""
    return topic.at(0), topic.at(topic.places[-1].partition)


def _several(topic: Topic) -> list[Topic]:
    """Return the first, the second and the last partition of a topic, each once."""
    numbers = sorted(place.partition for place in topic.places)
    return [topic.at(number) for number in dict.fromkeys((*numbers[:2], numbers[-1]))]


def _by_turns(
    broker: Broker,
    topics: Sequence[Topic],
    header: Header | None = None,
    *,
    traced: bool = False,
) -> list[list[bytes]]:
    """Publish to the partitions by turns, with trace ids from 0 or none; return their bodies."""
    bodies: list[list[bytes]] = [[] for _ in topics]
    for number, (topic, own) in itertools.product(range(COUNT), zip(topics, bodies, strict=True)):
        own.append(broker.unique_body())
        broker.publish_accepted(topic, own[-1], header, trace_id=number if traced else None)
    return bodies


def _read_all(
    consumers: Sequence[Consumer], bodies: Sequence[list[bytes]], *, done: int = 0
) -> Observation:
    """Read all partitions; ``done`` messages of the first one were finished before.

    The observation is that of the first partition, and the first bad one of the others.
    """
    here = read_own(consumers[0], bodies[0][done:], _flat(bodies[1:]))
    return both(here, _read_others(consumers, bodies))


def _read_others(consumers: Sequence[Consumer], bodies: Sequence[list[bytes]]) -> Observation:
    seen = [
        read_own(consumers[at], bodies[at], _flat([*bodies[:at], *bodies[at + 1 :]]))
        for at in range(1, len(bodies))
    ]
    return first_unlike(seen, "own")


def _joined(before: list[list[bytes]], later: list[list[bytes]]) -> list[list[bytes]]:
    return [one + other for one, other in zip(before, later, strict=True)]


def _flat(bodies: Sequence[list[bytes]]) -> list[bytes]:
    return list(itertools.chain.from_iterable(bodies))


def _subscribe(
    broker: Broker,
    topic: Topic,
    channel: str,
    identity: dict[str, object] | None,
    command: Outgoing | None = None,
) -> Observation:
    body = broker.unique_body()
    with broker.connect(identify=identity, topic=topic) as client:
        answer = client.ask(command or subscribe(topic, channel))
        if not isinstance(answer, Response):
            return observe(answer)
        client.send(rdy(1))
        broker.publish_accepted(topic, body)
        delivery = broker.consumer(client, topic, channel).next()
        return answered_and(answer, observe_delivery(delivery, body=body))


def _publish(broker: Broker, topic: Topic, body: bytes) -> Observation:
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        answer = observe(client.ask(pub(topic, body)), then=client.goes_on(topic))
        if answer.value != "ok,open":
            return answer
        delivery = consumer.next(body if len(body) > 1 else None)
        return followed_by(answer, observe_delivery(delivery, body=body))
