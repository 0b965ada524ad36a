"""The errors of PUB_EXT: those of PUB for the same fault, and its own."""

from dataclasses import dataclass

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import OWN, Partition, pub, pub_ext
from wireproof_kit.observation import Observation, compared, uncompared
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID

HEADER = {"k": "v"}
BAD_SIZES = {"zero": 0, "negative": -1, "one": 1, "two": 2}


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake that PUB and PUB_EXT can have alike; ``cut`` bytes are missing at the end."""

    topic_name: str | None = None
    partition: Partition = OWN
    size: int | None = None
    words: bytes | None = None
    cut: int = 0

    def pub(self, topic: Topic, body: bytes) -> Outgoing:
        """Return a PUB with this mistake."""
        frame = pub(
            topic,
            body,
            partition=self.partition,
            size=self.size,
            topic_name=self.topic_name,
            command_line=None if self.words is None else b"PUB" + self.words,
        )
        return self._cut(frame)

    def pub_ext(self, topic: Topic, body: bytes) -> Outgoing:
        """Return a PUB_EXT with this mistake."""
        frame = pub_ext(
            topic,
            HEADER,
            body,
            partition=self.partition,
            size=self.size,
            topic_name=self.topic_name,
            command_line=None if self.words is None else b"PUB_EXT" + self.words,
        )
        return self._cut(frame)

    def _cut(self, frame: Outgoing) -> Outgoing:
        return frame.cut(-self.cut) if self.cut else frame


FAULTS = {
    "topic-unknown": Fault(topic_name="wp_nobody_made_this"),
    "topic-name-illegal": Fault(topic_name="wp!illegal"),
    "topic-name-empty": Fault(topic_name=""),
    "topic-name-65-letters": Fault(topic_name="w" * 65),
    "topic-missing": Fault(words=b"\n"),
    "partition-missing": Fault(partition=None),
    "partition-letters": Fault(partition="abc"),
    "partition-fraction": Fault(partition="1.0"),
    "partition-empty": Fault(partition=""),
    "partition-20-digits": Fault(partition="9" * 20),
    "partition-negative": Fault(partition=-2),
    "partition-absent": Fault(partition=1023),
    "size-zero": Fault(size=0),
    "size-negative": Fault(size=-1),
    "size-least": Fault(size=-(2**31)),
    "size-greatest": Fault(size=2**31 - 1),
    "body-cut": Fault(cut=1),
}


@case("nsq/publish/same-error", clause="ext.publish.error-same-as-pub")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_error_of_both_commands(broker: Broker, ext_topic: Topic, fault: Fault) -> Observation:
    """PUB and PUB_EXT refuse the same invalid input with the same error code."""
    end = fault.cut > 0
    plain = answer_to(broker, ext_topic, fault.pub(ext_topic, broker.unique_body()), end=end)
    if missing := uncompared(plain, "the answer to PUB"):
        return missing
    extended = answer_to(
        broker, ext_topic, fault.pub_ext(ext_topic, broker.unique_body()), end=end
    )

    if extended.overdue:
        return extended
    same = plain.value == extended.value
    value = f"same:{plain.value}" if same else f"differ:{plain.value}/{extended.value}"
    return compared(value, extended, plain)


@case("nsq/publish/error-code/bad-topic", clause="ext.publish.error-bad-topic")
def test_code_for_a_bad_topic_name(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT answers an illegal topic name with the error code that PUB uses."""
    frame = pub_ext(ext_topic, HEADER, broker.unique_body(), topic_name="wp!illegal")

    return answer_to(broker, ext_topic, frame)


@case("nsq/publish/error-code/bad-size", clause="ext.publish.error-same-as-pub")
@pytest.mark.parametrize("size", BAD_SIZES.values(), ids=BAD_SIZES)
def test_code_for_a_bad_size(broker: Broker, ext_topic: Topic, size: int) -> Observation:
    """PUB_EXT answers an impossible size with the error code that PUB uses for it."""
    frame = pub_ext(ext_topic, HEADER, broker.unique_body(), size=size)

    return answer_to(broker, ext_topic, frame)


@case("nsq/publish/error-code/header", clause="ext.publish.error-same-as-pub")
def test_code_for_a_bad_header(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT answers a non-JSON header with a PUB error code or a real broker's own code."""
    return answer_to(broker, ext_topic, pub_ext(ext_topic, b"{", broker.unique_body()))


@case("nsq/publish/error-code/trace-id", clause="ext.publish.error-same-as-pub")
def test_code_for_a_bad_trace_id(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT refuses a non-numeric trace id, if at all, with a PUB error or INVALID_TRACE_ID."""
    return answer_to(
        broker, ext_topic, pub_ext(ext_topic, {TRACE_ID: "abc"}, broker.unique_body())
    )


@case("nsq/publish/error-code/plain-topic", clause="ext.publish.error-same-as-pub")
def test_code_on_a_plain_topic(broker: Broker, plain_topic: Topic) -> Observation:
    """PUB_EXT, if refused on a plain topic, gets an error code of PUB or of deployed brokers."""
    return answer_to(broker, plain_topic, pub_ext(plain_topic, HEADER, broker.unique_body()))


@case("nsq/publish/plain-topic", clause="ext.publish.plain-topic")
@pytest.mark.parametrize(
    "header",
    [HEADER, {CLIENT_DISPATCH_TAG: "t"}, {TRACE_ID: "77"}],
    ids=["own-name", "tag", "trace-id"],
)
def test_header_on_a_plain_topic(
    broker: Broker, plain_topic: Topic, header: dict[str, str]
) -> Observation:
    """PUB_EXT with a header to a topic without the extend feature is refused."""
    with broker.connect(topic=plain_topic) as client:
        answer = client.ask(pub_ext(plain_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(plain_topic))


@case("nsq/publish/plain-topic-unpublished", clause="ext.publish.plain-topic")
def test_message_refused_on_a_plain_topic(broker: Broker, plain_topic: Topic) -> Observation:
    """A PUB_EXT refused on a plain topic is not delivered without its header."""
    refused, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(plain_topic) as consumer, broker.connect(topic=plain_topic) as client:
        client.ask(pub_ext(plain_topic, HEADER, refused))
        broker.publish_accepted(plain_topic, sentinel)

        return observe_absence(consumer.until(sentinel), of=refused)


def answer_to(broker: Broker, topic: Topic, frame: Outgoing, *, end: bool = False) -> Observation:
    """Return the answer to a frame on a new connection; ``end`` half-closes after the frame."""
    with broker.connect(topic=topic) as client:
        client.send(frame)
        if end:
            client.half_close()
        return observe(client.receive())
