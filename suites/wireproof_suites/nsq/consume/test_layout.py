"""The layout of a message delivered on an ext topic, and of one without a header."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.frames import mpub, mpub_ext
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.deliveries import (
    Sent,
    answered_and,
    deliver,
    deliver_all,
    ext_version,
    no_ext_layout,
    read_all,
    timestamp_unit,
)
from wireproof_suites.nsq.steps.message_contents import header_of

HEADER_LENGTHS = [2, 8, 9, 127, 128, 254, 255, 256, 257, 4095, 4096, 4097, 32767, 32768, 65506]

# From 65507 on, 29 bytes of message head and the header pass 65535: a broker that adds them up in
# 16 bits falls over when it reads the message, and again each time a lasting channel reads it.
LONGEST = [65507, 65533]
EPHEMERAL = "#ephemeral"


@case("nsq/consume/header-length", clause="ext.consume.layout")
@pytest.mark.parametrize("length", HEADER_LENGTHS)
def test_header_length(broker: Broker, ext_topic: Topic, length: int) -> Observation:
    """A header of any length is delivered in the documented layout."""
    return deliver(broker, ext_topic, broker.unique_body(), header=header_of(length))


@case("nsq/consume/header-longest", clause="ext.consume.layout", hazard=True)
@pytest.mark.parametrize("length", LONGEST)
def test_longest_header(broker: Broker, fresh_ext_topic: Topic, length: int) -> Observation:
    """A header close to the 65535-byte limit is refused or delivered."""
    topic, body = fresh_ext_topic, broker.unique_body()
    with broker.subscribe(topic, channel=topic.channel() + EPHEMERAL) as consumer:
        answer = broker.publish(topic, body, header_of(length))
        if not isinstance(answer, Response):
            return observe(answer)
        return read_all(consumer, [(header_of(length), body)])


@case("nsq/consume/timestamp", clause="ext.consume.layout")
def test_timestamp(broker: Broker, ext_topic: Topic) -> Observation:
    """The first 8 bytes of a delivered message are its timestamp in nanoseconds since 1970."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body, {"k": "v"})

        return timestamp_unit(consumer.next())


@case("nsq/consume/several", clause="ext.consume.layout", waiting=True)
def test_several(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A client with RDY 1 finishes each message by the id found at its documented position."""
    headers = [{"n": str(number)} for number in range(5)]
    messages: list[Sent] = [(header, broker.unique_body()) for header in headers]
    messages += [({"n": "5"}, b"x"), (b'{"n":"6"}', b"yz")]

    return deliver_all(broker, fresh_ext_topic, messages)


@case("nsq/consume/version", clause="ext.consume.version")
@pytest.mark.parametrize("length", [2, 9, 300])
def test_version(broker: Broker, ext_topic: Topic, length: int) -> Observation:
    """A message with a header is delivered with a non-zero ext version."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body, header_of(length))

        return ext_version(consumer.next())


@case("nsq/consume/no-header", clause="ext.consume.no-header")
def test_no_header(broker: Broker, ext_topic: Topic) -> Observation:
    """On an ext topic, a PUB message has ext version 0, alone or followed by length 0."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body)

        return no_ext_layout(consumer.next())


@case("nsq/consume/no-header-traced", clause="ext.consume.no-header", needs=("trace",))
def test_no_header_but_trace_id(broker: Broker, ext_topic: Topic) -> Observation:
    """On an ext topic, a PUB_TRACE message has ext version 0, alone or followed by length 0."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        broker.publish_accepted(ext_topic, body, trace_id=7)

        return no_ext_layout(consumer.next())


@case("nsq/consume/no-header-batch", clause="ext.consume.no-header", waiting=True)
def test_no_header_in_batch(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """On an ext topic, messages sent by MPUB are delivered as sent, with no JSON header."""
    messages: list[Sent] = [(None, broker.unique_body()) for _ in range(3)]
    with (
        broker.subscribe(fresh_ext_topic) as consumer,
        broker.connect(topic=fresh_ext_topic) as client,
    ):
        answer = client.ask(mpub(fresh_ext_topic, [body for _, body in messages]))

        return answered_and(answer, read_all(consumer, messages))


@case("nsq/consume/batch", clause="ext.consume.batch", waiting=True)
def test_batch(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Each message of an MPUB_EXT batch is delivered with its own header and body."""
    headers = [b'{"n":"0"}', header_of(300), b"{}", b'{"##client_dispatch_tag":"t"}']
    messages = [(header, broker.unique_body()) for header in headers]
    with (
        broker.subscribe(fresh_ext_topic) as consumer,
        broker.connect(topic=fresh_ext_topic) as client,
    ):
        answer = client.ask(mpub_ext(fresh_ext_topic, messages))

        return answered_and(answer, read_all(consumer, list(messages)))
