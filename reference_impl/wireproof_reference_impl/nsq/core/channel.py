"""A channel: its clients, its waiting messages, and how the next message is sent."""

from collections import deque
from collections.abc import Sequence

from wireproof_reference_impl.nsq.behaviour import Behaviour, OpenSubscription
from wireproof_reference_impl.nsq.core.backlog import Backlog
from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.delivery.timers import Timer, Timers
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_spec.nsq.limits import MAX_ATTEMPTS


class Channel:
    """One channel of one partition; only it knows which client holds which message."""

    def __init__(
        self,
        name: str,
        backlog: Backlog,
        *,
        attended: dict["Channel", None],
        behaviour: Behaviour,
        timers: Timers,
    ) -> None:
        self.name = name
        self.backlog = backlog
        self.extend = False
        self.ordered = False
        self.subscribers: deque[Subscriber] = deque()
        self.in_flight = InFlight(timers, self.time_out)
        self.timers = timers
        self.next_held: Held | None = None
        self.returned: deque[Held] = deque()
        self._attended = attended
        self._behaviour = behaviour
        self._deferred: dict[int, Held] = {}
        self._pause: Timer | None = None

    @property
    def ignores_ready(self) -> bool:
        """Return True if every client may hold one message, whatever its RDY count."""
        return self.ordered and not self._behaviour.order.ready_needed

    def join(self, subscriber: Subscriber) -> None:
        """Add a client; it receives messages from the next `serve` on."""
        self.subscribers.append(subscriber)
        self._attended[self] = None

    def leave(self, subscriber: Subscriber, now_ns: int) -> None:
        """Remove a client; other clients get its messages in flight, with attempts not raised."""
        if subscriber not in self.subscribers:
            return
        self.subscribers.remove(subscriber)
        if not self.subscribers:
            self._attended.pop(self, None)
        held = self.in_flight.take_all(subscriber)
        given_back = self._behaviour.dispatch.given_back(held, subscriber)
        for each in given_back:
            each.attempts -= 1
        self.give_back(given_back, now_ns)
        self.serve(now_ns)

    def send_away(self) -> None:
        """Close the connections of all clients of the channel."""
        for subscriber in tuple(self.subscribers):
            subscriber.outlet.drop()

    def set_ready(self, subscriber: Subscriber, count: int) -> None:
        """Set how many messages a client may hold.

        Clause: smart.order.rdy
        """
        subscriber.ready = 1 if self.ignores_ready else count

    def requeue(
        self, internal_id: int, subscriber: Subscriber, *, delay_ns: int, now_ns: int
    ) -> None:
        """Requeue a message in flight, to be delivered again after a delay.

        Raises:
            NotInFlight: the client does not hold the message.
        """
        if delay_ns and self.ordered and not self._behaviour.order.requeue_delay:
            return
        self.put_back(self.in_flight.take(internal_id, subscriber), now_ns, delay_ns=delay_ns)

    def put_back(self, held: Held, now_ns: int, *, delay_ns: int) -> None:
        """Queue a message for another delivery after the delay that its client requested.

        Clause: smart.connection.requeue
        """
        self._come_back(held, now_ns, delay_ns=delay_ns)

    def time_out(self, held: Held, now_ns: int) -> None:
        """Queue a message for another delivery because its client did not answer in time."""
        self._come_back(held, now_ns)

    def give_back(self, held: Sequence[Held], now_ns: int) -> None:
        """Queue the messages of a client that left, before all other messages."""
        self.returned.extendleft(reversed(held))

    def list_unfinished(self) -> list[Message]:
        """Return the messages that were taken from the backlog and are not finished."""
        waiting = [*self.returned, *self._deferred.values()]
        if self.next_held is not None:
            waiting.append(self.next_held)
        return self.in_flight.messages() + [each.message for each in waiting]

    def read_confirmed(self) -> tuple[int, int]:
        """Return the offset up to which all messages are finished, and their number."""
        places = [(each.offset, each.number) for each in self.list_unfinished()]
        return min(places, default=(self.backlog.offset, self.backlog.number))

    @property
    def depth(self) -> int:
        """Return how many messages wait to be sent."""
        return self.backlog.depth + len(self.returned) + (self.next_held is not None)

    @property
    def deferred_count(self) -> int:
        """Return how many messages wait for their delay to pass."""
        return len(self._deferred)

    def serve(self, now_ns: int) -> None:
        """Send every message that can be sent now."""
        while self.subscribers:
            if not self.may_send():
                return
            held = self._first()
            if held is None or self._must_wait(held, now_ns):
                return
            chosen = self.choose(held)
            if not chosen:
                return
            self.send(held, chosen, now_ns)

    def may_send(self) -> bool:
        """Return True if another message may be sent: in order, only when none is in flight.

        Clause: smart.order.one-in-flight
        """
        return not self.ordered or not (len(self.in_flight) or self._deferred)

    def choose(self, held: Held) -> Sequence[Subscriber]:
        """Return the clients to send a message to; empty if the message must wait."""
        return self._behaviour.dispatch.choose(held.message, self)

    def _first(self) -> Held | None:
        if self.next_held is None:
            self.next_held = self.take_returned() or self._take_new()
        return self.next_held

    def take_returned(self) -> Held | None:
        """Remove and return the first message that was requeued or timed out, or None.

        Clause: smart.history.order
        """
        return self.returned.popleft() if self.returned else None

    def _take_new(self) -> Held | None:
        window = self.backlog.list_upcoming()
        if not window:
            return None
        place = self.pick(len(window))
        message = window[place]
        del window[place]
        return Held(message)

    def pick(self, waiting: int) -> int:
        """Return the index of the waiting message to send next: in order, the oldest."""
        return 0 if self.ordered else self._behaviour.order.pick(waiting)

    def _must_wait(self, held: Held, now_ns: int) -> bool:
        due_ns = held.message.timestamp_ns + self._behaviour.output.delivery_delay_ns
        if due_ns <= now_ns:
            return False
        self.timers.cancel(self._pause)
        self._pause = self.timers.at(due_ns, self.serve)
        return True

    def send(self, held: Held, chosen: Sequence[Subscriber], now_ns: int) -> None:
        """Send a message to clients; the first of them holds it."""
        self.next_held = None
        first = chosen[0]
        if first in self.subscribers:
            self.subscribers.remove(first)
            self.subscribers.append(first)
        if first.skips(held.message):
            return
        if self.extend and not first.topic_extend and not self._survives_upgrade(first):
            self.returned.appendleft(held)
            return
        for _ in range(self._behaviour.delivery.copies):
            held.attempts = min(held.attempts + 1, MAX_ATTEMPTS)
            for subscriber in chosen:
                subscriber.outlet.push(self.data(held, subscriber))
        self.in_flight.start(held, first, now_ns)

    def _survives_upgrade(self, subscriber: Subscriber) -> bool:
        choice = self._behaviour.upgrade.open_subscription
        if choice is OpenSubscription.CLOSED:
            subscriber.ready = 0
            subscriber.outlet.drop()
            return False
        subscriber.topic_extend = True
        subscriber.extend = choice is OpenSubscription.MOVED
        return True

    def data(self, held: Held, subscriber: Subscriber) -> bytes:
        """Return the data of the message frame in which a client gets a message."""
        rules = self._behaviour.delivery
        message = held.message
        return message_parts.message_data(
            message,
            held.attempts,
            extend=rules.extend(message) if subscriber.extend else b"",
            position=rules.position(message) if subscriber.position else b"",
        )

    def _come_back(self, held: Held, now_ns: int, *, delay_ns: int = 0) -> None:
        delay_ns += self._behaviour.output.redelivery_delay_ns
        if delay_ns:
            self.defer(held, now_ns + delay_ns)
        else:
            self.returned.append(held)
        self.serve(now_ns)

    def defer(self, held: Held, when_ns: int) -> None:
        """Hold a message back until a time; then queue it after the messages already returned."""
        self._deferred[held.message.internal_id] = held
        self.timers.at(when_ns, lambda due_ns: self._make_due(held, due_ns))

    def _make_due(self, held: Held, now_ns: int) -> None:
        del self._deferred[held.message.internal_id]
        self.returned.append(held)
        self.serve(now_ns)
