"""A channel: its clients, what waits for them, and how the next message goes out."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from wireproof_reference_impl.nsq.behaviour import Behaviour, OpenSubscription
from wireproof_reference_impl.nsq.core.backlog import Backlog
from wireproof_reference_impl.nsq.core.in_flight import Held, InFlight, Return
from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.subscriber import Subscriber
from wireproof_reference_impl.nsq.core.timers import LATE_NS, Timer, Timers
from wireproof_spec.nsq.limits import MAX_ATTEMPTS


class Channel:
    """One channel of one partition: the only owner of who holds what."""

    def __init__(
        self,
        name: str,
        backlog: Backlog,
        *,
        siblings: Mapping[str, "Channel"],
        attended: dict["Channel", None],
        namesakes: Callable[[], Sequence["Channel"]],
        behaviour: Behaviour,
        timers: Timers,
    ) -> None:
        self.name = name
        self.backlog = backlog
        self.extend = False
        self.ordered = False
        self.subscribers: deque[Subscriber] = deque()
        self.former_tags: frozenset[str] = frozenset()
        self.in_flight = InFlight(timers, self._come_back)
        self._siblings = siblings
        self._attended = attended
        self._namesakes = namesakes
        self._behaviour = behaviour
        self._timers = timers
        self._next: Held | None = None
        self._again: deque[Held] = deque()
        self._deferred: dict[int, Held] = {}
        self._pause: Timer | None = None

    @property
    def namesakes(self) -> Sequence["Channel"]:
        """Return the channels of the same name at the topic's other partitions of this node."""
        return self._namesakes()

    @property
    def neighbours(self) -> Sequence[Subscriber]:
        """Return the clients of the other channels of the partition."""
        others = (each for each in self._siblings.values() if each is not self)
        return [subscriber for each in others for subscriber in each.subscribers]

    def join(self, subscriber: Subscriber) -> None:
        """Take a client in; it gets messages from the next `serve` on."""
        self.subscribers.append(subscriber)
        self._attended[self] = None

    def leave(self, subscriber: Subscriber, now_ns: int) -> None:
        """Take a client out; what it held goes to others, as if never sent to it."""
        if subscriber not in self.subscribers:
            return
        self.subscribers.remove(subscriber)
        if not self.subscribers:
            self._attended.pop(self, None)
        if subscriber.desired_tag is not None:
            self.former_tags |= {subscriber.desired_tag}
        held = self.in_flight.take_all(subscriber)
        given_back = self._behaviour.dispatch.given_back(held, subscriber)
        for each in given_back:
            each.attempts -= 1
            each.why = Return.LEFT
        delay_ns = self._behaviour.dispatch.given_back_delay_ns
        if delay_ns:
            for each in given_back:
                self._later(each, now_ns + delay_ns)
        else:
            self._again.extendleft(reversed(given_back))
        self.serve(now_ns)

    def send_away(self) -> None:
        """End the connection of every client."""
        for subscriber in tuple(self.subscribers):
            subscriber.outlet.drop()

    def requeue(
        self, internal_id: int, subscriber: Subscriber, *, delay_ns: int, now_ns: int
    ) -> None:
        """Take a message back to send it again after a delay.

        Raises:
            NotInFlight: the client does not hold it.
        """
        if delay_ns and self.ordered and not self._behaviour.order.requeue_delay:
            return
        held = self.in_flight.take(internal_id, subscriber)
        delay_ns = self._behaviour.dispatch.put_back_delay(delay_ns)
        self._come_back(held, now_ns, delay_ns=delay_ns, why=Return.PUT_BACK)

    def unfinished(self) -> list[Message]:
        """Return the messages that left the backlog and are not finished."""
        waiting = [*self._again, *self._deferred.values()]
        if self._next is not None:
            waiting.append(self._next)
        return self.in_flight.messages() + [each.message for each in waiting]

    def confirmed(self) -> tuple[int, int]:
        """Return the offset before which everything is finished, and how many messages."""
        places = [(each.offset, each.number) for each in self.unfinished()]
        return min(places, default=(self.backlog.offset, self.backlog.number))

    def start_anew(self, backlog: Backlog) -> None:
        """Take over another backlog and forget what waits; clients keep what they hold."""
        self.backlog = backlog
        self._next = None
        self._again.clear()

    @property
    def depth(self) -> int:
        """Return how many messages wait to be sent."""
        return self.backlog.depth + len(self._again) + (self._next is not None)

    @property
    def deferred_count(self) -> int:
        """Return how many messages wait for their time."""
        return len(self._deferred)

    def serve(self, now_ns: int) -> None:
        """Send whatever can be sent now."""
        while self.subscribers:
            if self.ordered and not self._behaviour.order.may_send(_Flight(self, now_ns)):
                return
            held = self._first()
            if held is None or self._must_wait(held, now_ns):
                return
            chosen = self._behaviour.dispatch.choose(held.message, self)
            late = self._behaviour.dispatch.late_choose
            if late is not None and not held.astray:
                self._note_astray(held, late(held.message, self), chosen, now_ns=now_ns)
            if not chosen:
                return
            self._next = None
            self._send(held, chosen, now_ns)

    def _first(self) -> Held | None:
        if self._next is None:
            if self._again and not self._is_overtaken(self._again[0]):
                self._next = self._again.popleft()
            elif window := self.backlog.upcoming():
                self._next = Held(self._pick(window))
        return self._next

    def _is_overtaken(self, held: Held) -> bool:
        overtaken = self._behaviour.order.overtaken
        return self.ordered and overtaken(held) and bool(self.backlog.upcoming())

    def _pick(self, window: deque[Message]) -> Message:
        order = self._behaviour.order
        place = order.next_of(len(window)) if self.ordered else order.pick(len(window))
        message = window[place]
        del window[place]
        return message

    def _must_wait(self, held: Held, now_ns: int) -> bool:
        due_ns = held.message.timestamp_ns + self._behaviour.output.delivery_delay_ns
        if due_ns <= now_ns:
            return False
        self._timers.cancel(self._pause)
        self._pause = self._timers.at(due_ns, self.serve)
        return True

    def _send(self, held: Held, chosen: Sequence[Subscriber], now_ns: int) -> None:
        first = chosen[0]
        if first in self.subscribers:
            self.subscribers.remove(first)
            self.subscribers.append(first)
        if first.takes is not None and not first.takes(held.message):
            return
        if self._behaviour.delivery.lost(held.message):
            return
        if self.extend and not first.topic_extend and not self._survives_upgrade(first):
            self._again.appendleft(held)
            return
        for _ in range(self._behaviour.delivery.copies):
            held.attempts = min(held.attempts + 1, MAX_ATTEMPTS)
            for subscriber in chosen:
                subscriber.outlet.push(self._data(held, subscriber))
        self.in_flight.start(held, first, now_ns)
        looks_again_ns = self._behaviour.order.looks_again_ns
        if self.ordered and looks_again_ns:
            self._timers.at(now_ns + looks_again_ns, self.serve)

    def _note_astray(
        self,
        held: Held,
        late: Sequence[Subscriber],
        chosen: Sequence[Subscriber],
        *,
        now_ns: int,
    ) -> None:
        """Remember which clients are to get a message late to which it is not due."""
        astray = [subscriber for subscriber in late if subscriber not in chosen]
        if astray:
            held.astray = True
            self._timers.at(now_ns + LATE_NS, lambda due_ns: self._go_astray(held, astray, due_ns))

    def _go_astray(self, held: Held, astray: Sequence[Subscriber], now_ns: int) -> None:
        ready = [each for each in astray if each in self.subscribers and each.wants]
        if ready and self._next is held:
            self._next = None
            self._send(held, ready, now_ns)
            return
        for subscriber in ready:
            subscriber.outlet.push(self._data(held, subscriber))

    def _survives_upgrade(self, subscriber: Subscriber) -> bool:
        choice = self._behaviour.upgrade.open_subscription
        if choice is OpenSubscription.CLOSED:
            subscriber.ready = 0
            subscriber.outlet.drop()
            return False
        subscriber.topic_extend = True
        subscriber.extend = choice is OpenSubscription.MOVED
        return True

    def _data(self, held: Held, subscriber: Subscriber) -> bytes:
        rules = self._behaviour.delivery
        message = held.message
        head = rules.head(message, rules.attempts(held.attempts, message))
        extend = rules.extend(message) if subscriber.extend else rules.plain_part(message)
        position = rules.position(message) if subscriber.position else b""
        return b"".join((head, extend, position, rules.body(message)))

    def _come_back(
        self, held: Held, now_ns: int, *, delay_ns: int = 0, why: Return = Return.TIMED_OUT
    ) -> None:
        held.why = why
        back = self._behaviour.dispatch.comes_back(held, why)
        if back is None:
            self.serve(now_ns)
            return
        delay_ns += self._behaviour.output.redelivery_delay_ns
        if not delay_ns:
            self._again.append(back)
            self.serve(now_ns)
            return
        self._later(back, now_ns + delay_ns)
        self.serve(now_ns)

    def _later(self, held: Held, when_ns: int) -> None:
        self._deferred[held.message.internal_id] = held
        self._timers.at(when_ns, lambda due_ns: self._due(held, due_ns))

    def _due(self, held: Held, now_ns: int) -> None:
        del self._deferred[held.message.internal_id]
        self._again.append(held)
        self.serve(now_ns)


class _Flight:
    """What a channel has on its way, counted when it is asked for."""

    __slots__ = ("_channel", "_now_ns")

    def __init__(self, channel: Channel, now_ns: int) -> None:
        self._channel = channel
        self._now_ns = now_ns

    @property
    def held(self) -> int:
        return len(self._channel.in_flight)

    @property
    def deferred(self) -> int:
        return self._channel.deferred_count

    @property
    def age_ns(self) -> int:
        sent_ns = self._channel.in_flight.oldest_sent_ns
        return 0 if sent_ns is None else self._now_ns - sent_ns

    @property
    def touched(self) -> bool:
        return self._channel.in_flight.is_touched

    @property
    def idle(self) -> bool:
        return any(not each.held for each in self._channel.subscribers)

    @property
    def elsewhere(self) -> int:
        return sum(len(each.in_flight) for each in self._channel.namesakes)
