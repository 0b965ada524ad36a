"""The messages that the clients of a channel hold, and those that they surely finished."""

from collections import Counter
from dataclasses import dataclass, field

from wireproof_kit.ledger.entries import Entry
from wireproof_kit.nsq.ledger.deliveries import Delivery
from wireproof_kit.nsq.ledger.events import Acknowledged, Answered, Subscription
from wireproof_kit.nsq.ledger.publishes import Content


@dataclass(eq=False, slots=True)
class Held:
    """The latest delivery of a message on one subscription."""

    entry: int
    """The identity of the entry that it delivers."""
    message_id: bytes
    attempts: int
    sent_us: int
    """Before when the broker cannot have sent it."""
    command: str = ""
    """FIN or REQ, once the client has sent it."""
    order: int = 0
    """When the command was sent, as the count of the steps of all cases."""
    is_read: bool = False
    """True if a later answer on the connection shows that the broker has read the command."""
    has_copy: bool = False
    """True if it came with the same attempts behind a REQ that was perhaps not read yet."""

    @property
    def is_counted(self) -> bool:
        """True if the next delivery has one attempt more.

        A real broker sometimes sends a message twice at once, so one copy may come behind REQ.
        """
        return self.command == "REQ" and (self.is_read or self.has_copy)


@dataclass(frozen=True, slots=True)
class _Finished:
    message_id: bytes
    by: Subscription
    order: int
    """When an answer showed that the broker has read FIN."""


@dataclass(slots=True)
class Holding:
    """Who holds which message of a channel.

    FIN finishes a message for certain if the broker read it soon, and sent the message once. It
    may have sent a copy to another client, or on the same connection, before it read FIN or REQ.
    """

    _latest: dict[tuple[int, Subscription], Held] = field(
        default_factory=dict[tuple[int, Subscription], Held]
    )
    _named: dict[tuple[Subscription, bytes], Held] = field(
        default_factory=dict[tuple[Subscription, bytes], Held]
    )
    _commanded: dict[Subscription, list[Held]] = field(
        default_factory=dict[Subscription, list[Held]]
    )
    _answered: dict[Subscription, int] = field(default_factory=dict[Subscription, int])
    """When the latest command was sent that was answered on a connection."""
    _out: Counter[int] = field(default_factory=Counter[int])
    """How often each entry was delivered and was not surely given back."""
    _finished: dict[int, _Finished] = field(default_factory=dict[int, _Finished])

    def find(self, delivery: Delivery, entry: Entry[Content]) -> Held | None:
        """Return the delivery of a message before this one on the same subscription."""
        return self._latest.get((id(entry), delivery.by))

    def command(self, event: Acknowledged) -> None:
        """Follow FIN or REQ; whether FIN behind REQ finishes anything is not known."""
        held = self._named.get((event.by, event.message_id))
        is_returned = held is not None and held.command == "REQ" and event.command == "FIN"
        if held is None or event.command == "TOUCH" or is_returned:
            return
        held.command, held.order, held.is_read = event.command, event.order, False
        commanded = self._commanded.setdefault(event.by, [])
        if held not in commanded:
            commanded.append(held)

    def answer(self, event: Answered) -> None:
        """Follow an answer: the broker has read what was sent before the command."""
        self._answered[event.by] = event.asked
        for held in self._commanded.get(event.by, ()):
            if held.is_read or held.order >= event.asked:
                continue
            held.is_read = True
            if self._out[held.entry] > 1:
                continue
            if held.command == "REQ":
                self._out[held.entry] = 0
            elif _is_soon(held, event):
                self._finished[held.entry] = _Finished(held.message_id, event.by, event.order)

    def object(self, by: Subscription) -> None:
        """Follow an error on a connection, which may be the answer to any FIN or REQ before."""
        for held in self._commanded.pop(by, ()):
            held.is_read = False
            finished = self._finished.get(held.entry)
            if finished is not None and finished.by == by:
                del self._finished[held.entry]

    def is_finished(self, delivery: Delivery, entry: Entry[Content]) -> bool:
        """Return True if the broker sent a message after it read FIN of it.

        A client that is on another connection must have been answered since then. A new leader
        may not know what was finished.
        """
        finished = self._finished.get(id(entry))
        if (
            finished is None
            or finished.message_id != delivery.message.message_id
            or delivery.event.new_leader
        ):
            return False
        by = delivery.by
        is_later = by.case == finished.by.case and self._answered.get(by, 0) > finished.order
        return by == finished.by or is_later

    def note(self, delivery: Delivery, entry: Entry[Content]) -> None:
        """Note a delivery."""
        by, message = delivery.by, delivery.message
        self._out[id(entry)] += 1
        if not self.is_finished(delivery, entry):
            self._finished.pop(id(entry), None)
        before = self.find(delivery, entry)
        if (
            before is not None
            and before.command == "REQ"
            and not before.is_read
            and before.attempts == message.attempts
        ):
            before.has_copy = True
            return
        held = Held(id(entry), message.message_id, message.attempts, _earliest_us(by, entry))
        self._latest[id(entry), by] = self._named[by, message.message_id] = held


def _earliest_us(by: Subscription, entry: Entry[Content]) -> int:
    """Return when both the subscription and the publish were sent; it is not delivered before."""
    places = (*by.opening[-1:], entry.at)
    return max((place.step.at_us for place in places if place.case == by.case), default=0)


def _is_soon(held: Held, event: Answered) -> bool:
    """Return True if FIN was read in the first half of the time-out, whenever it was sent."""
    timeout_ms = event.by.timeout_ms
    passed_us = event.at.step.at_us - held.sent_us
    return timeout_ms is not None and passed_us * 2 < timeout_ms * 1000
