"""The messages of a channel that clients hold, and how they come back."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.delivery.timers import Timer, Timers
from wireproof_reference_impl.nsq.wire.message import Message


class Held:
    """A message that a client holds or held: its attempts, its client, and its time limit."""

    __slots__ = ("attempts", "message", "sent_ns", "subscriber", "timer")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.attempts = 0
        self.subscriber: Subscriber | None = None
        self.timer: Timer | None = None
        self.sent_ns = 0


class NotInFlight(LookupError):
    """Raised if a client does not hold the message that it finishes, requeues or touches."""


def requeue_all(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """Return the messages of a leaving client to requeue: all that it holds.

    Clause: ext.dispatch.leave
    """
    return held


class InFlight:
    """Messages in flight by internal id, each with its client and a time limit."""

    def __init__(self, timers: Timers, on_timeout: Callable[[Held, int], None]) -> None:
        self._timers = timers
        self._on_timeout = on_timeout
        self.held: dict[int, Held] = {}

    def __len__(self) -> int:
        return len(self.held)

    def messages(self) -> list[Message]:
        """Return the messages in flight."""
        return [each.message for each in self.held.values()]

    def finish(self, internal_id: int, subscriber: Subscriber) -> None:
        """Finish a message.

        Clause: smart.message-id.finish, smart.message-id.not-held

        Raises:
            NotInFlight: the client does not hold the message.
        """
        self._end(self._find(internal_id, subscriber))

    def start(self, held: Held, subscriber: Subscriber, now_ns: int) -> None:
        """Add a message in flight; it ends with the client's answer or the time limit."""
        held.subscriber = subscriber
        held.sent_ns = now_ns
        subscriber.held += 1
        self.held[held.message.internal_id] = held
        self._limit(held, now_ns + subscriber.message_timeout_ns)

    def touch(
        self, internal_id: int, subscriber: Subscriber, *, now_ns: int, most_ns: int
    ) -> None:
        """Restart the time limit of a message, up to `most_ns` after the message was sent.

        Raises:
            NotInFlight: the client does not hold the message.
        """
        held = self._find(internal_id, subscriber)
        self._timers.cancel(held.timer)
        latest = held.sent_ns + most_ns
        self._limit(held, min(now_ns + subscriber.message_timeout_ns, latest))

    def take(self, internal_id: int, subscriber: Subscriber) -> Held:
        """Remove a message in flight from its client and return it.

        Raises:
            NotInFlight: the client does not hold the message.
        """
        held = self._find(internal_id, subscriber)
        self._end(held)
        return held

    def take_all(self, subscriber: Subscriber) -> list[Held]:
        """Remove and return all messages in flight to a client, oldest first."""
        mine = [each for each in self.held.values() if each.subscriber is subscriber]
        for held in mine:
            self._end(held)
        return mine

    def _find(self, internal_id: int, subscriber: Subscriber) -> Held:
        held = self.held.get(internal_id)
        if held is None or held.subscriber is not subscriber:
            raise NotInFlight(internal_id)
        return held

    def _limit(self, held: Held, when_ns: int) -> None:
        held.timer = self._timers.at(when_ns, lambda now_ns: self._expire(held, now_ns))

    def _expire(self, held: Held, now_ns: int) -> None:
        self._end(held)
        self._on_timeout(held, now_ns)

    def _end(self, held: Held) -> None:
        self._timers.cancel(held.timer)
        del self.held[held.message.internal_id]
        if held.subscriber is not None:
            held.subscriber.held -= 1
            held.subscriber = None
