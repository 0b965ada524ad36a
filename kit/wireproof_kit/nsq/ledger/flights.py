"""The messages in flight on a channel: how soon each may come again, and how many a client holds.

A broker cannot have sent a message before its publish and its subscription, nor read a command
before it was sent. So what the kit saw bounds from above how long a message was in flight, or put
off: one that comes again sooner than it may was not held back. How late a message may come no
text says. A message may come twice, at once; so only what comes behind the answer to a command
that was sent later comes again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.ledger.deliveries import Delivery
from wireproof_kit.nsq.ledger.events import Acknowledged, Answered, Ready, Subscription
from wireproof_kit.nsq.ledger.publishes import Content
from wireproof_kit.observation import Difference

_LEAST: Final = 0.75
"""A broker may round a time, but not lose it: the part of it that must pass."""
_US: Final = 1000
_SHORTEST_MS: Final = 1000
"""A time-out that is not known is taken to be this one, where a longer one would accuse."""


@dataclass(eq=False, slots=True)
class _Flight:
    """The latest delivery of a message, for as long as it is the only one that is out."""

    by: Subscription
    attempts: int
    sent_us: int
    """Before when the broker cannot have sent it."""
    read_order: int
    command: str = ""
    """FIN or REQ, once the client has sent it."""
    command_us: int = 0
    command_order: int = 0
    delay_ms: int = 0
    is_read: bool = False
    """True if an answer shows that the broker has read REQ before the time-out ended."""
    touched: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """When TOUCH was sent, in microseconds and steps, until an answer shows that it was read."""
    renewed_us: int | None = None
    """When the latest TOUCH was sent that surely began the time-out anew."""

    @property
    def begun_us(self) -> int:
        """Before when the time-out cannot have begun."""
        return self.sent_us if self.renewed_us is None else self.renewed_us

    def has_surely_not_timed_out(self, now_us: int, part: float = 1.0) -> bool:
        """Return True if less than the time-out, or a part of it, has passed."""
        timeout_ms = self.by.timeout_ms
        return timeout_ms is not None and now_us - self.begun_us < timeout_ms * _US * part


@dataclass(slots=True)
class _Window:
    """What one client may hold, and what it was sent."""

    greatest: int = 0
    total: int = 0
    """The sum of all RDY counts: the original protocol also describes RDY as what is left."""
    delivered: int = 0
    held: dict[bytes, tuple[int, int]] = field(default_factory=dict[bytes, tuple[int, int]])
    """The entry and the earliest time of each message that the client has not given back."""


@dataclass(slots=True)
class Flights:
    """The messages in flight on a channel."""

    _flights: dict[int, _Flight] = field(default_factory=dict[int, _Flight])
    _named: dict[tuple[Subscription, bytes], _Flight] = field(
        default_factory=dict[tuple[Subscription, bytes], _Flight]
    )
    _copied: set[int] = field(default_factory=set[int])
    """Entries of which a copy was seen: more than one delivery may be out."""
    _windows: dict[Subscription, _Window] = field(default_factory=dict[Subscription, _Window])
    _unread: dict[Subscription, list[_Flight]] = field(
        default_factory=dict[Subscription, list[_Flight]]
    )
    """Messages with REQ or TOUCH of which no answer has shown yet that they were read."""
    _answered: dict[Subscription, int] = field(default_factory=dict[Subscription, int])
    """When the latest command was sent that was answered on a connection."""

    def ready(self, event: Ready) -> None:
        """Follow RDY."""
        window = self._windows.setdefault(event.by, _Window())
        window.greatest = max(window.greatest, event.count)
        window.total += event.count

    def command(self, event: Acknowledged) -> None:
        """Follow FIN, REQ or TOUCH."""
        at_us = event.at.step.at_us
        if event.command != "TOUCH" and event.by in self._windows:
            self._windows[event.by].held.pop(event.message_id, None)
        flight = self._named.get((event.by, event.message_id))
        if flight is None or flight.command:
            return
        if event.command != "FIN":
            self._unread.setdefault(event.by, []).append(flight)
        if event.command == "TOUCH":
            flight.touched.append((at_us, event.order))
            return
        flight.command, flight.delay_ms = event.command, event.delay_ms
        flight.command_us, flight.command_order = at_us, event.order

    def answer(self, event: Answered) -> None:
        """Follow an answer: the broker has read what was sent before the command."""
        now_us = event.at.step.at_us
        self._answered[event.by] = event.asked
        for flight in self._unread.pop(event.by, ()):
            for touched_us, order in flight.touched:
                if order < event.asked and flight.has_surely_not_timed_out(now_us):
                    flight.renewed_us = touched_us
            flight.touched = [each for each in flight.touched if each[1] >= event.asked]
            if flight.command and flight.command_order < event.asked:
                flight.is_read |= flight.has_surely_not_timed_out(now_us)
            elif flight.command or flight.touched:
                self._unread.setdefault(event.by, []).append(flight)

    def leave(self, by: Subscription) -> None:
        """Forget the messages that a client holds, because it left or got an error."""
        for number, flight in list(self._flights.items()):
            if flight.by == by:
                del self._flights[number]

    def judge(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        """Yield whether a message comes again too soon, and whether its client holds too many."""
        flight = self._flights.get(id(entry))
        by, now_us = delivery.by, delivery.at.step.at_us
        if (
            flight is not None
            and flight.by.case == by.case
            and delivery.message.attempts > flight.attempts
            and self._comes_again(flight, delivery)
            and not delivery.event.new_leader
        ):
            yield from _judge_time(flight, now_us)
        yield from self._judge_window(delivery, entry)

    def _comes_again(self, flight: _Flight, delivery: Delivery) -> bool:
        """Return True if a delivery is no copy that was sent at once with the one before."""
        return self._answered.get(delivery.by, 0) > flight.read_order

    def _judge_window(self, delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
        by, now_us = delivery.by, delivery.at.step.at_us
        window = self._windows.get(by)
        if window is None or not window.total or delivery.event.new_leader:
            return
        timeout_us = (by.timeout_ms or _SHORTEST_MS) * _US
        others = {
            number
            for number, sent_us in window.held.values()
            if now_us - sent_us < timeout_us and number != id(entry)
        }
        if by.is_ordered:
            clause, most = "smart.order.one-in-flight", 1
        else:
            clause, most = "smart.connection.ready", window.greatest
        if len(others) < most or (not by.is_ordered and window.delivered < window.total):
            yield Finding(clause)
            return
        held = Difference("messages", None, f"at most {most} in flight", str(len(others) + 1))
        yield Finding(clause, "too-many", difference=held)

    def note(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note a delivery."""
        by, message, number = delivery.by, delivery.message, id(entry)
        before = self._flights.pop(number, None)
        sent_us = max(_earliest_us(delivery, entry), _next_us(before, delivery))
        window = self._windows.setdefault(by, _Window())
        window.delivered += 1
        is_copy = before is not None and not (
            message.attempts > before.attempts and self._comes_again(before, delivery)
        )
        if is_copy or number in self._copied:
            self._copied.add(number)
            return
        window.held[message.message_id] = number, sent_us
        flight = _Flight(by, message.attempts, sent_us, delivery.event.order)
        self._flights[number] = self._named[by, message.message_id] = flight


def _judge_time(flight: _Flight, now_us: int) -> Iterator[Finding]:
    """Judge whether a message that comes again was in flight, or put off, for long enough."""
    timeout_ms = flight.by.timeout_ms
    if flight.command == "REQ" and flight.delay_ms:
        is_due = not flight.is_read and not flight.has_surely_not_timed_out(now_us, _LEAST)
        passed_us, due_ms = now_us - flight.command_us, flight.delay_ms
        clause, word = "smart.connection.requeue", "early"
    elif not flight.command and timeout_ms is not None:
        is_due, due_ms = False, timeout_ms
        passed_us, word = now_us - flight.begun_us, "too-early"
        is_touched = flight.renewed_us is not None
        clause = "smart.message-id.touch" if is_touched else "smart.connection.timeout-negotiated"
    else:
        return
    if is_due or passed_us >= due_ms * _US * _LEAST:
        yield Finding(clause)
        return
    told = Difference("time-out", None, f"{due_ms} ms", f"{passed_us // _US} ms at most")
    yield Finding(clause, word, difference=told)


def _earliest_us(delivery: Delivery, entry: Entry[Content]) -> int:
    """Return when both the subscription and the publish were sent; it is not delivered before."""
    places = (*delivery.by.opening[-1:], entry.at)
    return max((place.step.at_us for place in places if place.case == delivery.by.case), default=0)


def _next_us(before: _Flight | None, delivery: Delivery) -> int:
    """Return before when a message cannot have been sent again, as its delivery before tells."""
    if before is None or before.by.case != delivery.by.case:
        return 0
    timeout_ms = before.by.timeout_ms or 0
    due_us = before.begun_us + int(timeout_ms * _US * _LEAST)
    if before.command == "REQ":
        due_us = before.command_us if before.is_read else min(due_us, before.command_us)
    return min(due_us, delivery.at.step.at_us)
