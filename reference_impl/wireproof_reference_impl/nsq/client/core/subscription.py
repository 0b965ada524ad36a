"""The subscription to one partition: subscribe, receive, acknowledge, leave."""

from typing import TYPE_CHECKING

from wireproof_reference_impl.nsq.client.core import commands
from wireproof_reference_impl.nsq.client.core.connection import (
    Answered,
    Complaint,
    Delivered,
    Event,
    Refused,
    State,
    Strange,
)
from wireproof_reference_impl.nsq.client.core.effects import Failure
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.message import BadMessage, Message, read_message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.topology import Place
from wireproof_reference_impl.nsq.client.core.trace_log import tell_consumed
from wireproof_spec.nsq.limits import MAX_RDY_COUNT, MSG_TIMEOUT_MS

if TYPE_CHECKING:
    from wireproof_reference_impl.nsq.client.core.consumer import Consumer


class Subscription:
    """A consumer's subscription to one partition, on a connection of its own."""

    def __init__(self, consumer: "Consumer", place: Place) -> None:
        self.place = place
        self.is_proven = False
        self._consumer = consumer
        self.wants = consumer.wants
        self._extend = consumer.lookups.topology.extend_support
        self._timeout_s = message_timeout(self.wants, {})
        self._in_flight: dict[bytes, float] = {}
        """When each message that a handler has is delivered again, by its id."""
        self._order = OrderCheck()
        self._is_leaving = False
        self._link = Link(consumer.host, consumer.settings, place.address, self)
        self._link.open()

    @property
    def is_idle(self) -> bool:
        """True if no message is in flight and no answer to CLS is awaited."""
        return not self._in_flight and self._link.node.state is not State.CLOSING

    def identity(self) -> commands.Identity:
        """Return what the consumer sends with IDENTIFY."""
        return identity_of(self._consumer, extend=self._extend)

    def handle_ready(self) -> None:
        """Send the subscribe command on the connection that is now ready."""
        self._timeout_s = message_timeout(self.wants, self._link.features)
        topic, channel = self.wants.topic, self.wants.channel
        self._link.send(
            self._link.node.subscribe(
                topic, channel, self.place.partition, ordered=self.wants.ordered
            )
        )

    def handle_event(self, event: Event) -> None:
        """Process an answer, an error or a message from the node."""
        if isinstance(event, Answered):
            self._take_answer(event)
        elif isinstance(event, Refused):
            self._consumer.handle_refusal(self, event)
        elif isinstance(event, Delivered):
            self._take_message(event.data)
        else:
            handle_complaint(self, event)

    def handle_loss(self, reason: str) -> None:
        """Forget the messages in flight on a lost connection: the node delivers them again."""
        self._in_flight.clear()
        self.is_proven = False  # the next connection begins with RDY 1 again
        self._consumer.ready.leave(self)
        if self._is_leaving:
            self._end()
        else:
            self._consumer.look_up()

    def send_ready(self, count: int) -> None:
        """Send RDY with a count that the node accepts."""
        if self._link.node.state is State.SUBSCRIBED:
            self._link.send(commands.ready(clamp_ready(count, self._link.features)))

    def finish(self, id: bytes) -> None:
        """Send FIN for a message, unless its timeout has passed."""
        if self._is_held(id):
            self._link.send(commands.finish(id))
        self._release(id)

    def requeue(self, id: bytes, delay_s: float) -> None:
        """Send REQ for a message, to be delivered again after a delay."""
        if self._is_held(id):
            self._link.send(commands.requeue(id, round(delay_s * 1000)))
        self._release(id)

    def touch(self, id: bytes) -> None:
        """Send TOUCH for a message."""
        if self._is_held(id):
            self._in_flight[id] = self._consumer.host.now + self._timeout_s
            self._link.send(commands.touch(id))

    def leave(self) -> None:
        """End the subscription: no new messages, but those that handlers have are finished."""
        self._is_leaving = True
        self._consumer.ready.leave(self)
        if self._link.is_ready and self._link.node.state is State.SUBSCRIBED:
            self._link.send(self._link.node.close())
            self._consumer.host.after(self._consumer.settings.drain_s, self._end)
        else:
            self._end()

    def close(self) -> None:
        """Close the connection of the subscription at once."""
        self._in_flight.clear()
        self._consumer.ready.leave(self)
        self._link.close()

    def report(self, text: str) -> None:
        """Report a problem with the subscription to the user."""
        self._consumer.report(Failure(text))

    def log(self, text: str) -> None:
        """Write a line to the log."""
        self._consumer.host.log(f"{self.wants.topic} {self.place.partition}: {text}")

    def _take_answer(self, event: Answered) -> None:
        if event.state is State.SUBSCRIBING:
            self._link.succeed()
            self._consumer.ready.join(self)
        self._end_if_idle()

    def _take_message(self, data: bytes) -> None:
        now = self._consumer.host.now
        try:
            message = read_message(data, extend=self._extend, ordered=self.wants.ordered)
        except BadMessage as error:
            self.report(f"a message cannot be read: {error}")
            if error.id:
                # Not finished, since no handler has seen it; given back, since others may be
                # able to read it. The backoff keeps this from turning into a loop.
                self._in_flight[error.id] = now + self._timeout_s
                self._consumer.give_back(self, error.id, attempts=1)
            return
        self._in_flight[message.id] = now + self._timeout_s
        if not self.is_proven:
            self.is_proven = True
            self._consumer.ready.share()
        self._check(message)
        self._consumer.hand(self, message)

    def _check(self, message: Message) -> None:
        if self.wants.trace:
            local, node = self._link.local, self.place.address
            self.log(tell_consumed(self.wants.topic, message, local=local, node=node))
        if self.wants.ordered:
            check_order(self, self._order, message)

    def _is_held(self, id: bytes) -> bool:
        """Return True if a message is in flight here; one whose time is over is the node's."""
        due = self._in_flight.get(id)
        if due is None:
            return False
        if is_late(self._consumer.host.now, due):
            self.log(f"message {id.hex()} was handled too late")
            return False
        return True

    def _release(self, id: bytes) -> None:
        self._in_flight.pop(id, None)
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_leaving and self.is_idle:
            self._end()

    def _end(self) -> None:
        self._link.close()
        self._consumer.drop(self)


def identity_of(consumer: "Consumer", *, extend: bool) -> commands.Identity:
    """Return what a consumer sends with IDENTIFY; `extend`: the topic has headers."""
    return commands.Identity(
        consumer.settings.heartbeat_interval_ms,
        msg_timeout_ms=consumer.wants.msg_timeout_ms,
        extend_support=extend,
        desired_tag=consumer.wants.tag if extend else "",
    )


def message_timeout(wants: Subscribing, features: dict[str, object]) -> float:
    """Return the seconds that a handler has for a message, by the node's answer or settings."""
    told = features.get("msg_timeout")
    if isinstance(told, int) and told > 0:
        return told / 1000
    return (wants.msg_timeout_ms or MSG_TIMEOUT_MS) / 1000


def clamp_ready(count: int, features: dict[str, object]) -> int:
    """Return a RDY count reduced to the greatest that the node accepts."""
    most = features.get("max_rdy_count")
    return min(count, most if isinstance(most, int) else MAX_RDY_COUNT)


def handle_complaint(subscription: Subscription, event: Complaint | Strange) -> None:
    """Log an error about a message, or an unknown frame: neither ends the connection."""
    subscription.log(event.text)


def check_order(subscription: Subscription, order: OrderCheck, message: Message) -> None:
    """Report a message that is out of order, and log one that was attempted often."""
    fault = order.find_fault(message)
    if fault:
        subscription.report(f"out of order: {fault}")
    if message.attempts > subscription.wants.logged_attempts:
        subscription.log(f"internal id {message.internal_id}: {message.attempts} attempts")


def is_late(now: float, due: float) -> bool:
    """Return True if the timeout of a message has passed."""
    return now >= due
