"""Partitions: whose messages come to whom, and commands that name none, or a wrong one."""

from collections.abc import Sequence
from dataclasses import dataclass

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import OWN, Partition, pub, pub_trace
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.outgoing import Outgoing

READY = 50
UNKNOWN_TOPIC = "wp_nobody_made_this"

BAD_NAMES: dict[str, str | bytes] = {
    "illegal-letter": "wp!illegal",
    "tab-inside": "wp\ttab",
    "65-letters": "w" * 65,
    "100-letters": "w" * 100,
    "ephemeral-alone": "#ephemeral",
    "ephemeral-in-the-middle": "w#ephemeral2",
    "unicode": "wp_\u6807",
    "no-utf8": b"wp_\xc3\x28\xff",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake that can be made in PUB and PUB_TRACE alike."""

    topic_name: str | None = None
    partition: Partition = OWN
    size: int | None = None
    words: bytes | None = None

    def pub(self, topic: Topic, body: bytes) -> Outgoing:
        """Return a PUB with this mistake."""
        return pub(
            topic,
            body,
            partition=self.partition,
            size=self.size,
            topic_name=self.topic_name,
            command_line=None if self.words is None else b"PUB" + self.words,
        )

    def pub_trace(self, topic: Topic, body: bytes) -> Outgoing:
        """Return a PUB_TRACE with this mistake."""
        return pub_trace(
            topic,
            77,
            body,
            partition=self.partition,
            size=self.size,
            topic_name=self.topic_name,
            command_line=None if self.words is None else b"PUB_TRACE" + self.words,
        )


FAULTS = {
    "topic-unknown": Fault(topic_name=UNKNOWN_TOPIC),
    "topic-name-illegal": Fault(topic_name="wp!illegal"),
    "topic-missing": Fault(words=b"\n"),
    "partition-letters": Fault(partition="abc"),
    "partition-absent": Fault(partition=1023),
    "size-zero": Fault(size=0),
    "size-negative": Fault(size=-1),
    "size-greatest": Fault(size=2**31 - 1),
}


def answer_to(broker: Broker, topic: Topic, frame: Outgoing, *, end: bool = False) -> Observation:
    """Return the answer to a frame on a new connection; ``end`` half-closes after the frame."""
    with broker.connect(topic=topic) as client:
        client.send(frame)
        if end:
            client.half_close()
        return observe(client.receive())


def then_state(broker: Broker, topic: Topic, frame: Outgoing) -> Observation:
    """Return the answer to a frame on a new connection, and the state of that connection."""
    with broker.connect(topic=topic) as client:
        return observe(client.ask(frame), then=client.goes_on(topic))


def read_own(consumer: Consumer, bodies: Sequence[bytes], others: Sequence[bytes]) -> Observation:
    """Receive until all bodies of a partition have come, of which the last one is a sentinel.

    ``own``, or ``strayed`` when one of the others comes; ``missing``, or ``no-sentinel`` when
    only the last one is.
    """
    left = list(dict.fromkeys(bodies))
    while left:
        delivery = consumer.next()
        if delivery is None:
            return observed("no-sentinel" if left == [bodies[-1]] else "missing", overdue=True)
        if any(body in delivery.raw for body in others):
            return observed("strayed").on(delivery)
        left = [body for body in left if body not in delivery.raw]
    return observed("own")


def read_again(
    consumer: Consumer, body: bytes, others: Sequence[bytes], *, after: float
) -> Observation:
    """Receive until a body is redelivered: ``own``, ``strayed`` for another body, or ``missing``.

    ``after`` are the seconds before patience begins.
    """
    seconds = consumer.connection.seconds(REDELIVERY) + after
    while True:
        delivery = consumer.next(seconds=seconds)
        if delivery is None:
            return observed("missing", overdue=True)
        if any(other in delivery.raw for other in others):
            return observed("strayed").on(delivery)
        if body in delivery.raw:
            return observed("own")
