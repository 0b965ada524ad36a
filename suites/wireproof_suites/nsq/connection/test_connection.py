"""What connections take over from the original protocol: IDENTIFY, heartbeats, RDY, batches."""

import time

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_absence, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.waiting import until
from wireproof_kit.nsq.wire.frames import (
    identify,
    identify_raw,
    line,
    mpub,
    pub,
    raw,
    rdy,
    subscribe,
)
from wireproof_kit.nsq.wire.outgoing import Outgoing
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER, REDELIVERY
from wireproof_spec.nsq.names import MPUB_TRACE
from wireproof_suites.nsq.connection.identify_response import observe_identify
from wireproof_suites.nsq.steps.deliveries import answered_and
from wireproof_suites.nsq.steps.partitions import answer_to, then_state
from wireproof_suites.nsq.steps.publish_results import then_goes_on
from wireproof_suites.nsq.steps.subscriptions import receive_all

WRONG_MAGIC = b"  V9"
UNKNOWN = {"word": b"WP_NOTHING x\n", "begins-with-a-command": b"NOPE\n"}
ODD_LINES = {"lower-case": b"nop\n", "nothing": b"\n"}
# Twice as long unanswered, and the broker ends the connection: a slow machine needs room.
HEARTBEAT_S = 3.0
# Two heartbeats may stay without an answer; some brokers look only at every other one.
UNANSWERED_S = 6.0
# A client that was silent for so many intervals would have been disconnected.
ENOUGH_HEARTBEATS = 4
GLANCE_S = 0.1
# A broker may round the time, but not lose it.
LATER_MS = 1500
EARLIEST_S = 1.2

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
    **{f"{name}-{value}": identify(**{name: value}) for name, value in BEYOND},
}
REFUSED_BY_REAL_BROKERS: dict[str, Outgoing] = {
    "size-greatest": identify_raw(b"", size=2**31 - 1),
    "not-a-number": identify_raw(b'{"wp":NaN}'),
    "two-compressions": identify(feature_negotiation=True, deflate=True, snappy=True),
    **{f"{name}-{value}": identify(**{name: value}) for name, value in BEYOND_REAL_LIMITS},
}

# The field of MPUB, and a value that cannot be.
BAD_FIELDS = {
    "size-zero": ("size", 0),
    "size-minus-one": ("size", -1),
    "size-greatest": ("size", 2**31 - 1),
    "count-zero": ("count", 0),
    "count-minus-one": ("count", -1),
    "count-greatest": ("count", 2**31 - 1),
    "message-zero": ("messages[0].size", 0),
    "message-minus-one": ("messages[0].size", -1),
    "message-greatest": ("messages[0].size", 2**31 - 1),
}

EIGHT = b"8 bytes."
MINUS_ONE = b"\xff" * 4
BEYOND_THE_END = {"one-message-more": ("count", 3), "one-byte-more": ("messages[1].size", 9)}
# Bytes behind the size of MPUB: none of it all, a part of the count, of a size, of a message.
CUTS = {
    "in-the-size": -2,
    "in-the-count": 2,
    "in-a-size": 6,
    "in-a-message": 12,
    "between-messages": 16,
}


@case("nsq/connection/heartbeat", clause="smart.connection.heartbeat", waiting=True)
def test_heartbeat(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker sends heartbeats at the interval the client requested."""
    with broker.connect(identify={"heartbeat_interval": 2000}, topic=plain_topic) as client:

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            return client.heartbeats > 0 or client.has_ended or None

        until(read, seconds=HEARTBEAT_S + client.seconds(ANSWER))
        seen = observed("heartbeats") if client.heartbeats else observed("none", overdue=True)

        return then_goes_on(seen, client, plain_topic)


@case("nsq/connection/heartbeat-answered", clause="smart.connection.heartbeat", waiting=True)
def test_answered_heartbeats(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker keeps the connection of a client that answers each heartbeat with NOP."""
    with broker.connect(identify={"heartbeat_interval": 1000}, topic=plain_topic) as client:

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            return client.heartbeats >= ENOUGH_HEARTBEATS or client.has_ended or None

        enough = until(read, seconds=2 * UNANSWERED_S + client.seconds(ANSWER))
        seen = observed("heartbeats") if enough else observed("none", overdue=True)

        return then_goes_on(seen, client, plain_topic)


@case("nsq/connection/heartbeat-unanswered", clause="smart.connection.heartbeat", waiting=True)
def test_unanswered_heartbeat(broker: Broker, plain_topic: Topic) -> Observation:
    """The broker closes the connection of a client that answers no heartbeat."""
    with broker.connect(identify={"heartbeat_interval": 1000}, topic=plain_topic) as client:
        client.answers_heartbeats = False

        def read() -> bool | None:
            client.receive_within(GLANCE_S)
            return client.has_ended or None

        until(read, seconds=UNANSWERED_S + client.seconds(ANSWER))
        if client.has_ended:
            return observed("closed")
        return observed("open" if client.heartbeats else "none", overdue=True)


@case("nsq/connection/wrong-magic", clause="smart.connection.wrong-magic")
def test_wrong_magic(broker: Broker) -> Observation:
    """The broker answers a wrong protocol magic with an error or closes the connection."""
    with broker.connect(identify=None, magic=False) as client:
        return observe(client.ask(raw(WRONG_MAGIC, "magic") + identify()))


@case("nsq/connection/unknown-command", clause="smart.connection.unknown-command")
@pytest.mark.parametrize("command", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_command(broker: Broker, plain_topic: Topic, command: bytes) -> Observation:
    """The broker answers an unknown command with an error or closes the connection."""
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(raw(command, "no command")))


@case("nsq/connection/unknown-command", clause="smart.connection.odd-command")
@pytest.mark.parametrize("command", ODD_LINES.values(), ids=ODD_LINES)
def test_odd_line(broker: Broker, plain_topic: Topic, command: bytes) -> Observation:
    """The broker answers a lower-case command or an empty line with an error, or closes."""
    with broker.connect(topic=plain_topic) as client:
        return observe(client.ask(raw(command, "no command")))


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
    """IDENTIFY is accepted with a field set to a limit that real brokers have."""
    return _identify_with(broker, plain_topic, name, value)


@case("nsq/connection/identify/longest-tag", clause="smart.connection.identify-limits")
def test_longest_tag(broker: Broker, plain_topic: Topic) -> Observation:
    """IDENTIFY is accepted with a desired tag of 100 bytes, the longest legal tag."""
    return _identify_with(broker, plain_topic, "desired_tag", LONGEST_TAG)


@case("nsq/connection/identify-compressed", clause="smart.connection.identify")
@pytest.mark.parametrize("name", ["deflate", "snappy"])
def test_one_compression(broker: Broker, name: str) -> Observation:
    """IDENTIFY that requests one compression is answered, whether or not it is supported."""
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
    """IDENTIFY with an impossible size, body or field value is refused."""
    with broker.connect(identify=None, topic=plain_topic) as client:
        return observe(client.ask(frame), then=client.goes_on(plain_topic))


@case("nsq/connection/identify-refused", clause="smart.connection.identify-refused-limits")
@pytest.mark.parametrize("frame", REFUSED_BY_REAL_BROKERS.values(), ids=REFUSED_BY_REAL_BROKERS)
def test_identify_beyond_real_limits(
    broker: Broker, plain_topic: Topic, frame: Outgoing
) -> Observation:
    """IDENTIFY with a value beyond the limits of real brokers is refused."""
    with broker.connect(identify=None, topic=plain_topic) as client:
        return observe(client.ask(frame), then=client.goes_on(plain_topic))


@case("nsq/connection/batch-refused", clause="smart.connection.batch-refused")
@pytest.mark.parametrize(("field", "value"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_batch_refused(broker: Broker, plain_topic: Topic, field: str, value: int) -> Observation:
    """MPUB with an impossible size, count or message size is refused."""
    frame = mpub(plain_topic, [broker.unique_body(), broker.unique_body()])
    data = value.to_bytes(4, "big", signed=True)

    return then_state(broker, plain_topic, frame.replace(field, data))


@case("nsq/connection/batch-cut", clause="smart.connection.batch-refused")
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_batch_cut(broker: Broker, plain_topic: Topic, cut: int) -> Observation:
    """A batch cut off by the end of the connection publishes nothing."""
    frame = mpub(plain_topic, [EIGHT, EIGHT])
    start = frame.part("count").offset

    return answer_to(broker, plain_topic, frame.cut(start + cut), end=True)


@case("nsq/connection/batch-beyond", clause="smart.connection.batch-refused")
@pytest.mark.parametrize(("field", "value"), BEYOND_THE_END.values(), ids=BEYOND_THE_END)
def test_batch_beyond_its_end(
    broker: Broker, plain_topic: Topic, field: str, value: int
) -> Observation:
    """A batch that declares more data than arrives is refused when the client stops sending."""
    frame = mpub(plain_topic, [EIGHT, EIGHT]).replace(field, value.to_bytes(4, "big"))

    return answer_to(broker, plain_topic, frame, end=True)


@case("nsq/connection/batch-too-short", clause="smart.connection.batch-refused")
@pytest.mark.parametrize("size", [1, 3])
def test_batch_too_short(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A batch too short to contain its message count is refused."""
    frame = mpub(plain_topic, [EIGHT], size=size)
    cut = frame.cut(frame.part("count").offset + size)

    return answer_to(broker, plain_topic, cut, end=True)


@case("nsq/connection/batch-of-none", clause="smart.connection.batch-of-none")
def test_batch_of_none(broker: Broker, plain_topic: Topic) -> Observation:
    """A batch with a message count of 0 is refused."""
    return then_state(broker, plain_topic, mpub(plain_topic, []))


@case("nsq/connection/batch-of-one", clause="smart.connection.batch-taken")
def test_batch_of_one(broker: Broker, plain_topic: Topic) -> Observation:
    """A batch with a single one-byte message is accepted."""
    return then_state(broker, plain_topic, mpub(plain_topic, [b"x"]))


@case(
    "nsq/connection/batch-traced",
    clause="smart.trace.batch-refused",
    needs=("trace",),
)
@pytest.mark.parametrize("size", [1, 7])
def test_traced_batch_refused(broker: Broker, plain_topic: Topic, size: int) -> Observation:
    """A traced batch with a message too short for its trace id is refused."""
    command = line(MPUB_TRACE, plain_topic.name, plain_topic.partition)
    frame = mpub(plain_topic, [b"x" * size]).replace("command line", command.data)

    return then_state(broker, plain_topic, frame)


@case("nsq/connection/batch-unpublished", clause="smart.connection.batch-refused", waiting=True)
def test_batch_unpublished(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A refused batch publishes no message, not even those before the faulty one."""
    topic, body, sentinel = fresh_plain_topic, broker.unique_body(), broker.unique_body()
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        client.ask(mpub(topic, [body, b"x"]).replace("messages[1].size", MINUS_ONE))
        broker.publish_accepted(topic, sentinel)

        return observe_absence(consumer.until(sentinel), of=body)


@case("nsq/connection/requeue-later", clause="smart.connection.requeue", waiting=True)
def test_put_back_for_later(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A message requeued with a delay is not redelivered before the delay has passed."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        broker.publish_accepted(topic, broker.unique_body())
        held = consumer.take()
        # What was sent twice right away comes before the answer to a publish here.
        consumer.connection.ask(pub(topic, broker.unique_body()))
        while consumer.take(seconds=0):
            pass
        begin = time.monotonic()
        if held is not None:
            consumer.requeue(held, LATER_MS)
        again = held and _next_of(consumer, held)
        passed = time.monotonic() - begin
    if again is None:
        return observed("ended") if consumer.ended else observed("missing", overdue=True)
    return observed("later" if passed >= EARLIEST_S else "early")


@case("nsq/connection/ready", clause="smart.connection.ready", waiting=True)
def test_ready(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """A client with RDY 1 and one message in flight receives no second message."""
    topic = fresh_plain_topic
    with broker.subscribe(topic) as consumer:
        bodies = [broker.unique_body(), broker.unique_body()]
        for body in bodies:
            broker.publish_accepted(topic, body)
        held = consumer.take()
        if held is None:
            return observed("missing", overdue=True)
        other = broker.subscribe(topic, channel=consumer.channel)
        left = next(body for body in bodies if body != held.body)

        came = other.next(left)
    return observed("to-the-other") if came else observed("not-to-the-other", overdue=True)


@case("nsq/connection/ready-again", clause="smart.connection.ready-again", waiting=True)
def test_ready_again(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """After each FIN, a client with RDY 1 receives the next message."""
    topic = fresh_plain_topic
    with broker.subscribe(topic, ready=2) as consumer:
        for _ in range(3):
            bodies = [broker.unique_body(), broker.unique_body()]
            for body in bodies:
                broker.publish_accepted(topic, body)
            seen = receive_all(consumer, bodies)
            if seen.value != "delivered:all":
                return seen
    return observed("all")


def _identify_with(broker: Broker, topic: Topic, name: str, value: object) -> Observation:
    with broker.connect(identify=None, topic=topic) as client:
        return observe(client.ask(identify(**{name: value})), then=client.goes_on(topic))


def _next_of(consumer: Consumer, held: Delivery) -> Delivery | None:
    """Wait until the held message comes again, and finish other messages."""
    seconds = LATER_MS / 1000 + consumer.connection.seconds(REDELIVERY)
    while delivery := consumer.next(seconds=seconds):
        if delivery.message_id == held.message_id:
            return delivery
    return None
