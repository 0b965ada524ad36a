"""A subscription that reads deliveries one by one and skips messages of other cases."""

from dataclasses import replace

from wireproof_kit.nsq.observe.delivery import Delivery, Layout, read_delivery
from wireproof_kit.nsq.topics.bodies import Bodies, is_sentinel_of_kit
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Answer, Closed, Nonsense, Pushed, Silent
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.runner.patience import PUSH, Wait
from wireproof_kit.wire.connection import Closing
from wireproof_kit.wire.waiting import Deadline

UNTIL_LIMIT = 1000


class Consumer(Closing):
    """A consumer of one channel; ``answer`` is the last response that was not a message."""

    def __init__(
        self, connection: Connection, topic: Topic, *, channel: str, layout: Layout, bodies: Bodies
    ) -> None:
        self.connection = connection
        self.topic = topic
        self.channel = channel
        self.layout = layout
        self.answer: Answer | None = None
        self._bodies = bodies

    def next(
        self, own: bytes | None = None, wait: Wait = PUSH, *, seconds: float | None = None
    ) -> Delivery | None:
        """Return the next message, already finished; None when none arrives within patience.

        On a shared topic, messages of other cases are finished and skipped; with ``own``, every
        message with another body is. ``seconds`` replaces the time limit of ``wait``.
        """
        delivery = self.take(own, wait, seconds=seconds)
        if delivery is not None:
            self.finish(delivery)
        return delivery

    def take(
        self, own: bytes | None = None, wait: Wait = PUSH, *, seconds: float | None = None
    ) -> Delivery | None:
        """Return the next message without finishing it, so that it stays in flight."""
        budget = self.connection.seconds(wait) if seconds is None else seconds
        deadline = Deadline(budget)
        while True:
            left = deadline.rest()
            answer = self.connection.receive_within(left)
            if not isinstance(answer, Pushed):
                self.answer = answer
                if isinstance(answer, Closed | Silent | Nonsense) or not left:
                    return None
                continue
            delivery = replace(self._read(answer.data, own), step=answer.step)
            if self._is_wanted(delivery, own):
                return delivery
            self.finish(delivery)

    def until(self, sentinel: bytes, wait: Wait = PUSH) -> list[Delivery] | None:
        """Return all messages before the sentinel, each finished.

        None if the sentinel never arrives. Each message renews the patience for the next one.
        """
        before: list[Delivery] = []
        while len(before) < UNTIL_LIMIT:
            delivery = self.next(wait=wait)
            if delivery is None:
                return None
            if sentinel in (delivery.body, delivery.raw[-len(sentinel) :]):
                return before
            before.append(delivery)
        return None

    def finish(self, delivery: Delivery) -> None:
        """Send FIN for a message; do nothing when it is too short to have an id."""
        if delivery.message_id is not None:
            self.connection.send(frames.fin(delivery.message_id))

    def requeue(self, delivery: Delivery, timeout_ms: int) -> None:
        """Send REQ for a message; do nothing when it is too short to have an id."""
        if delivery.message_id is not None:
            self.connection.send(frames.req(delivery.message_id, timeout_ms))

    def touch(self, delivery: Delivery) -> None:
        """Send TOUCH for a message; do nothing when it is too short to have an id."""
        if delivery.message_id is not None:
            self.connection.send(frames.touch(delivery.message_id))

    def ready(self, count: int) -> None:
        """Send RDY, which allows ``count`` messages in flight."""
        self.connection.send(frames.rdy(count))

    def close(self) -> None:
        """Close the connection; messages in flight return to the channel."""
        self.connection.close()

    @property
    def ended(self) -> bool:
        """Return True if the target closed the connection."""
        return isinstance(self.answer, Closed | Nonsense)

    def _read(self, data: bytes, own: bytes | None) -> Delivery:
        owed = frozenset((own,)) if own is not None else self._bodies.list_known()
        return read_delivery(data, self.layout, owed)

    def _is_wanted(self, delivery: Delivery, own: bytes | None) -> bool:
        if is_sentinel_of_kit(delivery.raw):
            return False
        if own is not None:
            return own == delivery.body or own in delivery.raw
        if not self.topic.shared:
            return True
        return self._bodies.is_own(delivery.body, delivery.raw)
