"""Receives the messages of a row, after their first delivery has ended as the row says."""

import time
from dataclasses import dataclass

from wireproof_kit.covering_array import Row
from wireproof_kit.nsq.broker import ORDERED, Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import DESIRED_TAG
from wireproof_suites.nsq.ways.publishers import Header, pub

READY = 2
"""Fewer than the messages of a row, so that a broker which sends more shows."""
TAG = "wptag"
TIMEOUT_MS = LATER_MS = 1000
LONG_TIMEOUT_MS = 3000
"""Where time-outs end: a broker may look for them every half a second."""
TOUCHED_AT_S = 1.8
"""Late in the time-out, so that one that was not renewed shows."""
GLANCE_S = 0.1
TIMED_OUT, TOUCHED, TOUCHED_AGAIN = "timed-out", "touched", "touched-again"
REQUEUED, REQUEUED_LATER = "requeued", "requeued-later"
NEXT_CLIENT, OTHER_CLIENT = "next-client", "other-client"
TIMED = (TIMED_OUT, TOUCHED, TOUCHED_AGAIN)
KEPT, LOST = observed("kept"), observed("lost", overdue=True)


@dataclass(slots=True)
class Reception:
    """The messages that a consumer is owed; ``sentinel`` was published last."""

    broker: Broker
    consumer: Consumer
    row: Row
    owed: set[bytes]
    sentinel: bytes
    header: Header | None
    """The header of messages that the kit adds."""

    def run(self) -> Observation:
        """Return ``kept`` if all messages are delivered, and ``lost`` if one is not."""
        delivery = self.row["delivery"]
        if delivery in (NEXT_CLIENT, OTHER_CLIENT):
            return self._pass_on()
        is_begun = True
        if delivery in (TOUCHED, TOUCHED_AGAIN):
            is_begun = self._touch()
        elif delivery in (TIMED_OUT, REQUEUED_LATER):
            is_begun = self._put_off()
        if not is_begun:
            return LOST
        return self._receive(self.consumer, is_requeued=delivery == REQUEUED)

    def _receive(self, consumer: Consumer, *, is_requeued: bool = False) -> Observation:
        """Receive all owed messages; requeue all but the sentinel once, if that is wanted.

        A message is known by its body, or by its id if its body is none of the owed ones: what a
        message contains is judged elsewhere.
        """
        begun: set[bytes] = set()
        done: set[bytes] = set()
        while len(done) < len(self.owed):
            delivery = _take(consumer)
            if delivery is None:
                return LOST
            is_owed = delivery.body in self.owed
            key = delivery.body if is_owed else delivery.message_id or delivery.raw
            if key in begun or key == self.sentinel or not is_requeued:
                consumer.finish(delivery)
                done.add(key)
            else:
                consumer.requeue(delivery, 0)
            begun.add(key)
        return KEPT

    def _pass_on(self) -> Observation:
        """Let another client receive what one client holds that leaves, or requeues it."""
        consumer = self.consumer
        held = self._hold()
        if not held:
            return LOST
        is_left = self.row["delivery"] == NEXT_CLIENT
        if is_left:
            consumer.close()
        else:
            consumer.ready(0)
        channel = consumer.channel
        with subscribe(self.broker, consumer.topic, channel, self.row) as other:
            for delivery in () if is_left else held:
                consumer.requeue(delivery, 0)
            return self._receive(other)

    def _put_off(self) -> bool:
        """Requeue messages with a delay, or let them time out; return True if one came.

        Copies that the broker sent at once come before the answer to a command.
        """
        held = self._hold()
        self._ask()
        for delivery in held if self.row["delivery"] == REQUEUED_LATER else ():
            self.consumer.requeue(delivery, LATER_MS)
        return bool(held)

    def _touch(self) -> bool:
        """Touch a message late in its time-out, on its first delivery or its second one.

        The answer to a command shows that the broker has read TOUCH. What comes meanwhile is left
        to time out. Return True if a message came.
        """
        consumer = self.consumer
        held = _take(consumer)
        if held is not None and self.row["delivery"] == TOUCHED_AGAIN:
            self._ask()
            consumer.requeue(held, 0)
            held = _take(consumer)
        deadline = time.monotonic() + TOUCHED_AT_S
        while (left := deadline - time.monotonic()) > 0 and not consumer.ended:
            consumer.take(seconds=left)
        if held is not None:
            consumer.touch(held)
        self._ask()
        return held is not None

    def _hold(self) -> list[Delivery]:
        """Receive as many messages as the client may hold; none if none comes."""
        most = 1 if self.consumer.topic.ordered else min(READY, len(self.owed))
        first = _take(self.consumer)
        held = [] if first is None else [first]
        while held and len(held) < most:
            delivery = self.consumer.take(seconds=GLANCE_S)
            if delivery is None:
                break
            held.append(delivery)
        return held

    def _ask(self) -> None:
        """Publish one more message on the connection of the consumer, and await the answer."""
        body = self.broker.unique_body()
        self.owed.add(body)
        self.consumer.connection.ask(pub(self.consumer.topic, body, self.header))


def subscribe(broker: Broker, topic: Topic, channel: str, row: Row) -> Consumer:
    """Subscribe a client as a row says."""
    wants = {DESIRED_TAG: TAG} if row["header"] == "tag" else {}
    timeout_ms = LONG_TIMEOUT_MS if row["delivery"] in TIMED else TIMEOUT_MS
    return broker.subscribe(
        topic,
        channel=channel,
        command=ORDERED[1] if topic.ordered else "SUB",
        ready=READY,
        identify={"msg_timeout": timeout_ms, **wants},
    )


def _take(consumer: Consumer) -> Delivery | None:
    seconds = consumer.connection.seconds(REDELIVERY) + LONG_TIMEOUT_MS / 1000
    return consumer.take(seconds=seconds)
