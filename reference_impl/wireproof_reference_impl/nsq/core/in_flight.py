"""The messages of a channel that clients hold, and how each comes back."""

from collections.abc import Callable
from enum import Enum, auto

from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.subscriber import Subscriber
from wireproof_reference_impl.nsq.core.timers import Timer, Timers


class Held:
    """A message on its way: how often it was sent, who has it, when that ends.

    `astray`: it is to go to a client it is not due to as well.
    """

    __slots__ = (
        "astray",
        "attempts",
        "message",
        "sent_ns",
        "subscriber",
        "timer",
        "touched",
        "why",
    )

    def __init__(self, message: Message) -> None:
        self.message = message
        self.attempts = 0
        self.astray = False
        self.subscriber: Subscriber | None = None
        self.timer: Timer | None = None
        self.sent_ns = 0
        self.touched = False
        self.why: Return | None = None


class NotInFlight(LookupError):
    """No such message is held by this client."""


def requeue_all(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """Return what a leaving client gives back: all it holds.

    Clause: ext.dispatch.leave
    """
    return held


class Return(Enum):
    """Why a message comes back."""

    PUT_BACK = auto()
    TIMED_OUT = auto()
    LEFT = auto()


def comes_back(held: Held, why: Return) -> Held | None:
    """Return what is to be sent again of what was put back or has timed out: just that.

    Clause: smart.history.kept
    """
    return held


def as_asked(delay_ns: int) -> int:
    """Return how long a message that was put back stays away, in nanoseconds.

    Clause: smart.connection.requeue
    """
    return delay_ns


def never_overtaken(held: Held) -> bool:
    """Tell whether later messages of an ordered channel go before one that has come back.

    Clause: smart.history.order
    """
    return False


def always_finished(held: Held, oldest: Callable[[], int]) -> bool:
    """Tell whether FIN ends a message; `oldest` returns the least internal id its client holds.

    Clause: smart.message-id.finish
    """
    return True


def is_held_by(held: Held, subscriber: Subscriber) -> bool:
    """Tell whether a client may say FIN of a message: the one that holds it.

    Clause: smart.message-id.not-held
    """
    return held.subscriber is subscriber


class InFlight:
    """Messages by internal id, each with the client that holds it and a time limit."""

    def __init__(self, timers: Timers, on_timeout: Callable[[Held, int], None]) -> None:
        self._timers = timers
        self._on_timeout = on_timeout
        self._held: dict[int, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def messages(self) -> list[Message]:
        """Return the messages on their way."""
        return [each.message for each in self._held.values()]

    @property
    def oldest_sent_ns(self) -> int | None:
        """Return when the message that is on its way for longest was sent."""
        return min((each.sent_ns for each in self._held.values()), default=None)

    @property
    def is_touched(self) -> bool:
        """Tell whether a client asked for more time for one of the messages."""
        return any(each.touched for each in self._held.values())

    def finish(
        self,
        internal_id: int,
        subscriber: Subscriber,
        *,
        ends: Callable[[Held, Callable[[], int]], bool],
        may: Callable[[Held, Subscriber], bool],
    ) -> None:
        """Be done with a message that a client `may` finish, if FIN `ends` it.

        `ends` is told what returns the lowest internal id its holder has: to look through all it
        has at every FIN would take longer the more a client holds.

        Raises:
            NotInFlight: nobody holds it, or the client may not.
        """
        held = self._held.get(internal_id)
        if held is None or not may(held, subscriber):
            raise NotInFlight(internal_id)
        holder = held.subscriber

        def oldest() -> int:
            return min(n for n, each in self._held.items() if each.subscriber is holder)

        if ends(held, oldest):
            self._end(held)

    def start(self, held: Held, subscriber: Subscriber, now_ns: int) -> None:
        """Give a message to a client until it answers or its time is over."""
        held.subscriber = subscriber
        held.sent_ns = now_ns
        held.touched = False
        subscriber.held += 1
        self._held[held.message.internal_id] = held
        self._limit(held, now_ns + subscriber.message_timeout_ns)

    def touch(
        self, internal_id: int, subscriber: Subscriber, *, now_ns: int, most_ns: int
    ) -> None:
        """Start the time limit anew, up to `most_ns` after the message was sent.

        Raises:
            NotInFlight: the client does not hold it.
        """
        held = self._find(internal_id, subscriber)
        held.touched = True
        self._timers.cancel(held.timer)
        latest = held.sent_ns + most_ns
        self._limit(held, min(now_ns + subscriber.message_timeout_ns, latest))

    def take(self, internal_id: int, subscriber: Subscriber) -> Held:
        """Take a message back from the client that holds it.

        Raises:
            NotInFlight: the client does not hold it.
        """
        held = self._find(internal_id, subscriber)
        self._end(held)
        return held

    def take_all(self, subscriber: Subscriber) -> list[Held]:
        """Take back everything a client holds, oldest first."""
        mine = [each for each in self._held.values() if each.subscriber is subscriber]
        for held in mine:
            self._end(held)
        return mine

    def _find(self, internal_id: int, subscriber: Subscriber) -> Held:
        held = self._held.get(internal_id)
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
        del self._held[held.message.internal_id]
        if held.subscriber is not None:
            held.subscriber.held -= 1
            held.subscriber = None
