"""IDENTIFY: its answer, and the limits of its fields."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import (
    identify,
    identify_raw,
    rdy,
    subscribe,
)
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_suites.nsq.connection.identify_response import observe_identify
from wireproof_suites.nsq.steps.deliveries import answered_and

WITHIN: list[tuple[str, object]] = [
    ("heartbeat_interval", -1),
    ("heartbeat_interval", 1000),
    ("output_buffer_size", -1),
    ("output_buffer_size", 64),
    ("output_buffer_timeout", -1),
    ("output_buffer_timeout", 1),
    ("sample_rate", 0),
    ("sample_rate", 99),
    ("msg_timeout", 1000),
]
# The original protocol leaves these limits to the configuration of the broker, or has none.
WITHIN_REAL_LIMITS: list[tuple[str, object]] = [
    ("heartbeat_interval", 0),
    ("heartbeat_interval", 60_000),
    ("output_buffer_timeout", 1000),
    ("msg_timeout", 0),
    ("msg_timeout", 900_000),
]
BEYOND: list[tuple[str, object]] = [
    ("heartbeat_interval", -2),
    ("heartbeat_interval", 999),
    ("output_buffer_size", -2),
    ("output_buffer_size", 63),
    ("output_buffer_timeout", -2),
    ("sample_rate", -1),
    ("sample_rate", 100),
]
BEYOND_REAL_LIMITS: list[tuple[str, object]] = [
    ("heartbeat_interval", 60_001),
    ("heartbeat_interval", "1000"),
    ("output_buffer_timeout", 10**9),
    ("msg_timeout", -1),
    ("msg_timeout", 999),
    ("msg_timeout", 900_001),
    ("feature_negotiation", "true"),
]
GRANTED = ("ok", "json")
LONGEST_TAG = "t" * 100
ASKED = {
    "msg_timeout": 2000,
    "sample_rate": 10,
    "output_buffer_size": 128,
    "output_buffer_timeout": 100,
}
TAG = "t"
# What older brokers do not tell of, and what holds where it is told.
WHERE_TOLD = {"desired_tag": TAG, "tls_v1": False, "deflate": False, "snappy": False}
ODD: dict[str, Outgoing] = {
    "half-a-character": identify_raw(b'{"feature_negotiation":true,"desired_tag":"\\ud800"}'),
    "not-utf-8": identify_raw(b'{"feature_negotiation":true,"user_agent":"\xff"}'),
}

REFUSED: dict[str, Outgoing] = {
    "size-zero": identify_raw(b"", size=0),
    "size-minus-one": identify_raw(b"", size=-1),
    "not-json": identify_raw(b"{"),
    "array": identify_raw(b"[]"),
    "text": identify_raw(b'"a"'),
    "more-behind": identify_raw(b"{}{}"),
}
REFUSED_OUT_OF_RANGE: dict[str, Outgoing] = {
    f"{name}-{value}": identify(**{name: value}) for name, value in BEYOND
}
REFUSED_BY_REAL_BROKERS: dict[str, Outgoing] = {
    "size-greatest": identify_raw(b"", size=2**31 - 1),
    "not-a-number": identify_raw(b'{"wp":NaN}'),
    "two-compressions": identify(feature_negotiation=True, deflate=True, snappy=True),
    **{f"{name}-{value}": identify(**{name: value}) for name, value in BEYOND_REAL_LIMITS},
}


@case("nsq/connection/identify", clause="smart.connection.identify")
@pytest.mark.parametrize(("name", "value"), WITHIN)
def test_field_at_its_limit(
    broker: Broker, plain_topic: Topic, name: str, value: object
) -> Observation:
    """IDENTIFY is accepted with a field set to the smallest or largest legal value."""
    return _identify_with(broker, plain_topic, name, value)


@case("nsq/connection/identify", clause="smart.connection.identify-limits")
@pytest.mark.parametrize(("name", "value"), WITHIN_REAL_LIMITS)
def test_field_at_a_real_limit(
    broker: Broker, plain_topic: Topic, name: str, value: object
) -> Observation:
    """IDENTIFY is accepted with a field set to the greatest or least value real brokers accept."""
    return _identify_with(broker, plain_topic, name, value)


@case("nsq/connection/identify/longest-tag", clause="smart.connection.identify-limits")
def test_longest_tag(broker: Broker, plain_topic: Topic) -> Observation:
    """IDENTIFY is accepted with a desired tag of 100 bytes, the longest legal tag."""
    return _identify_with(broker, plain_topic, "desired_tag", LONGEST_TAG)


@case("nsq/connection/identify-compressed", clause="smart.connection.identify")
@pytest.mark.parametrize("name", ["deflate", "snappy"])
def test_one_compression(broker: Broker, name: str) -> Observation:
    """IDENTIFY that requests a compression is answered, whether or not the broker supports it."""
    with broker.connect(identify=None) as client:
        return observe(client.ask(identify(feature_negotiation=True, **{name: True})))


@case("nsq/connection/identify-odd", clause="smart.connection.identify-odd")
@pytest.mark.parametrize("frame", ODD.values(), ids=ODD)
def test_odd_identify(broker: Broker, plain_topic: Topic, frame: Outgoing) -> Observation:
    """IDENTIFY with unusual content is answered with success or an error."""
    with broker.connect(identify=None, topic=plain_topic) as client:
        return observe(client.ask(frame), then=client.goes_on(plain_topic))


@case("nsq/connection/identify-again", clause="smart.connection.identify-odd")
def test_identify_again(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A second IDENTIFY is answered; if it is accepted, the client still receives messages."""
    topic, channel, body = fresh_plain_topic, fresh_plain_topic.channel(), broker.unique_body()
    with broker.connect(identify={"heartbeat_interval": 5000}, topic=topic) as client:
        again = observe(client.ask(identify(msg_timeout=2000, user_agent="wp")))
        if again.value not in GRANTED:
            return again
        answer = client.ask(subscribe(topic, channel))
        client.send(rdy(1))
        broker.publish_accepted(topic, body)
        delivery = broker.consumer(client, topic, channel).next()

        return answered_and(answer, observe_delivery(delivery, body=body))


@case("nsq/connection/identify-negotiated", clause="smart.connection.identify-told")
def test_negotiated(broker: Broker, plain_topic: Topic) -> Observation:
    """With feature negotiation, the answer to IDENTIFY repeats the requested values."""
    with broker.connect(identify=None, topic=plain_topic) as client:
        frame = identify(feature_negotiation=True, desired_tag=TAG, **ASKED)

        return observe_identify(client.ask(frame), ASKED, where_told=WHERE_TOLD)


@case("nsq/connection/identify-refused", clause="smart.connection.identify-refused")
@pytest.mark.parametrize("frame", REFUSED.values(), ids=REFUSED)
def test_identify_refused(broker: Broker, plain_topic: Topic, frame: Outgoing) -> Observation:
    """IDENTIFY is refused if its size is 0 or its body no object; a size of -1 may be awaited."""
    return _ask(broker, plain_topic, frame)


@case("nsq/connection/identify-refused", clause="smart.connection.identify-refused-range")
@pytest.mark.parametrize("frame", REFUSED_OUT_OF_RANGE.values(), ids=REFUSED_OUT_OF_RANGE)
def test_identify_out_of_range(broker: Broker, plain_topic: Topic, frame: Outgoing) -> Observation:
    """IDENTIFY with a value outside the range of the original protocol is refused."""
    return _ask(broker, plain_topic, frame)


@case("nsq/connection/identify-refused", clause="smart.connection.identify-refused-limits")
@pytest.mark.parametrize("frame", REFUSED_BY_REAL_BROKERS.values(), ids=REFUSED_BY_REAL_BROKERS)
def test_identify_beyond_real_limits(
    broker: Broker, plain_topic: Topic, frame: Outgoing
) -> Observation:
    """IDENTIFY with a value beyond the limits of real brokers is refused."""
    return _ask(broker, plain_topic, frame)


def _identify_with(broker: Broker, topic: Topic, name: str, value: object) -> Observation:
    return _ask(broker, topic, identify(**{name: value}))


def _ask(broker: Broker, topic: Topic, frame: Outgoing) -> Observation:
    with broker.connect(identify=None, topic=topic) as client:
        return observe(client.ask(frame), then=client.goes_on(topic))
