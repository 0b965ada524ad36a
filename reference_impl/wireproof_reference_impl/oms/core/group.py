"""A group of consumers of one destination: each message goes to one of them, until it is done."""

from collections.abc import Iterable

from msgspec import Struct

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import timing
from wireproof_reference_impl.oms.core.due_queue import DueQueue
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.ready_queue import Arrival, ReadyQueue
from wireproof_spec.oms import names

AT_MOST_ONCE = 1


class Delivery(Struct, frozen=True):
    """A message that was delivered to a consumer group; `count` is its number of deliveries."""

    arrival: Arrival
    count: int

    @property
    def message(self) -> Message:
        """Return the delivered message."""
        return self.arrival.message


class Group:
    """A consumer group: the messages it must still get, and those delivered but not settled."""

    def __init__(self, behaviour: Behaviour, *, partitions: int) -> None:
        self._behaviour = behaviour
        self._ready = [
            ReadyQueue(orders_by_priority=behaviour.orders_by_priority) for _ in range(partitions)
        ]
        self._counts: dict[int, int] = {}
        self._in_flight: dict[int, Delivery] = {}
        self._deadlines = DueQueue[Delivery]()
        self._returning = DueQueue[Arrival]()

    @property
    def next_due(self) -> int | None:
        """Return when the next message comes back to be delivered again, or None."""
        times = (self._deadlines.next_due, self._returning.next_due)
        return min((time for time in times if time is not None), default=None)

    def offer(self, arrivals: Iterable[Arrival]) -> None:
        """Add messages that have arrived to the queues of their partitions."""
        for arrival in arrivals:
            self._ready[arrival.message.partition].add(arrival)

    def take(self, now: int) -> Delivery | None:
        """Return the next message to deliver, or None; undelivered expired ones are dropped.

        A message that may come at most once is settled by being given out.
        """
        while (queue := self._first_queue()) is not None:
            arrival = queue.take()
            if self._is_discarded(arrival, now):
                continue
            delivery = Delivery(arrival, self._count(arrival))
            if arrival.message.sent.header.get(names.QOS) != AT_MOST_ONCE:
                self._in_flight[arrival.number] = delivery
                self._deadlines.add(now + self._behaviour.return_within_ms, delivery)
            return delivery
        return None

    def settle(self, delivery: Delivery) -> bool:
        """Note that a delivered message is processed; return False if the delivery is not open."""
        if self._in_flight.get(delivery.arrival.number) != delivery:
            return False
        del self._in_flight[delivery.arrival.number]
        return True

    def reject(self, delivery: Delivery, now: int) -> bool:
        """Let a message be delivered again; return False if this delivery is not open any more."""
        if not self.settle(delivery):
            return False
        self._returning.add(now + self._behaviour.redelivery_delay_ms, delivery.arrival)
        return True

    def take_back(self, now: int) -> None:
        """Queue again what was rejected, and what was neither settled nor rejected in time."""
        for delivery in self._deadlines.take_due(now):
            if self.settle(delivery):
                self._returning.add(now, delivery.arrival)
        self.offer(self._returning.take_due(now))

    def _first_queue(self) -> ReadyQueue | None:
        """Return the partition whose first message comes before those of all others."""
        filled = [(first, queue) for queue in self._ready if (first := queue.first) is not None]
        return min(filled, key=lambda each: each[0])[1] if filled else None

    def _is_discarded(self, arrival: Arrival, now: int) -> bool:
        was_delivered = arrival.number in self._counts
        if was_delivered and self._behaviour.redelivers_expired:
            return False
        return timing.is_over(arrival.message.discarded, now)

    def _count(self, arrival: Arrival) -> int:
        self._counts[arrival.number] = count = self._counts.get(arrival.number, 0) + 1
        return count
