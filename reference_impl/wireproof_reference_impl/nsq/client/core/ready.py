"""How many messages each subscription may have in flight: RDY, and backoff.

A subscription begins with RDY 1 and gets its share of max_in_flight with its first message. The
sum of all RDY is never above max_in_flight: where there are more subscriptions than that, some
wait at 0 and take turns. When a handler fails all go to 0; after a while one of them tries a
single message, and the others follow when the handler succeeds.
"""

from typing import Protocol

from wireproof_reference_impl.nsq.client.core.host import Alarm, Host
from wireproof_reference_impl.nsq.client.core.settings import Subscribing

_ROTATE_S = 1.0


class Counted(Protocol):
    """The interface of a subscription whose RDY count is managed."""

    @property
    def is_proven(self) -> bool:
        """True if the subscription has received a message."""
        ...

    def send_ready(self, count: int) -> None:
        """Send RDY with this count."""
        ...


class Ready:
    """Distributes a consumer's max_in_flight over its subscriptions, as RDY counts."""

    def __init__(self, host: Host, wants: Subscribing) -> None:
        self._host = host
        self._wants = wants
        self._counts: dict[Counted, int] = {}
        self._level = 0
        self._is_paused = False
        self._turn = 0
        self._alarm: Alarm | None = None
        self._rotation: Alarm | None = None

    def join(self, subscription: Counted) -> None:
        """Add a subscription whose SUB was answered OK."""
        self._counts[subscription] = 0
        self.share()
        self._rotate_later()

    def leave(self, subscription: Counted) -> None:
        """Remove a subscription, and give its share to the others."""
        if self._counts.pop(subscription, None) is not None:
            self.share()

    def stop(self) -> None:
        """Cancel all timers."""
        for alarm in (self._alarm, self._rotation):
            if alarm is not None:
                alarm.cancel()

    def share(self) -> None:
        """Send each subscription its new RDY count, first those that get less."""
        due = self._due()
        for less in (True, False):
            for subscription, count in due.items():
                if (count < self._counts[subscription]) is less:
                    self._set(subscription, count)

    def succeed(self) -> None:
        """Note that a handler succeeded, which ends or shortens a pause."""
        if self._level and not self._is_paused:
            self._level -= 1
            self.share() if not self._level else self._pause()

    def fail(self) -> None:
        """Note that a handler failed: pause delivery for a while."""
        if not self._is_paused:
            self._level = min(self._level + 1, self._wants.backoff_most)
            self._pause()

    def _pause(self) -> None:
        self._is_paused = True
        self.share()
        self._alarm = self._host.after(backoff(self._wants, self._level), self._try_one)

    def _try_one(self) -> None:
        self._is_paused = False
        self._turn += 1
        self.share()

    def _due(self) -> dict[Counted, int]:
        if self._is_paused:
            return dict.fromkeys(self._counts, 0)
        turn = list(self._counts)
        start = self._turn % len(turn) if turn else 0
        turn = [*turn[start:], *turn[:start]]
        if self._level:
            return {each: int(place == 0) for place, each in enumerate(turn)}
        share = max(self._wants.max_in_flight // max(len(turn), 1), 1)
        return {
            each: first_or_share(self._wants, each, share)
            if place < self._wants.max_in_flight
            else 0
            for place, each in enumerate(turn)
        }

    def _set(self, subscription: Counted, count: int) -> None:
        if self._counts[subscription] != count:
            self._counts[subscription] = count
            subscription.send_ready(count)

    def _rotate_later(self) -> None:
        if self._rotation is None and len(self._counts) > self._wants.max_in_flight:
            self._rotation = self._host.after(_ROTATE_S, self._rotate)

    def _rotate(self) -> None:
        self._rotation = None
        self._turn += 1
        self.share()
        self._rotate_later()


def first_or_share(wants: Subscribing, subscription: Counted, share: int) -> int:
    """Return a subscription's RDY: 1 before its first message and if ordered, else its share."""
    return share if subscription.is_proven and not wants.ordered else 1


def backoff(wants: Subscribing, level: int) -> float:
    """Return for how many seconds delivery pauses after so many failures in a row."""
    return wants.backoff_s * 2.0**level
