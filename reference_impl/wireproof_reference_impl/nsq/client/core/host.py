"""What the parts of the core share: the effects, the time, alarms, and who owns what comes in."""

import heapq
import itertools
from collections.abc import Callable
from random import Random
from typing import Protocol

from wireproof_reference_impl.nsq.client.core.effects import (
    Address,
    Connect,
    Disconnect,
    Effect,
    Fetch,
    Fetched,
    Log,
    Write,
)


class Owner(Protocol):
    """The interface of the object that a connection belongs to."""

    def connected(self, local: str) -> None:
        """Note that the connection is open; `local` is the client's own IP address."""
        ...

    def received(self, data: bytes) -> None:
        """Process bytes received on the connection."""
        ...

    def lost(self, reason: str) -> None:
        """Note that the connection could not be opened, or was closed by the other side."""
        ...


class Alarm:
    """A call scheduled for a later time, which can be cancelled."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Cancel the call."""
        self.call = None


class Host:
    """What the client's core uses instead of I/O: it collects effects, and knows the time.

    The time is what the shell last said it is.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 0.0
        self._effects: list[Effect] = []
        self._numbers = itertools.count(1)
        self._owners: dict[int, Owner] = {}
        self._fetches: dict[int, Callable[[Fetched | None], None]] = {}
        self._alarms: list[tuple[float, int, Alarm]] = []

    def do(self, effect: Effect) -> None:
        """Add an effect for the shell to carry out."""
        self._effects.append(effect)

    def log(self, text: str) -> None:
        """Add the effect that writes a line to the log."""
        self.do(Log(text))

    def take_effects(self) -> list[Effect]:
        """Return the effects for the shell, in order, and forget them."""
        effects, self._effects = self._effects, []
        return effects

    def connect(self, address: Address, owner: Owner, *, within_s: float) -> int:
        """Open a TCP connection for an owner and return its number."""
        number = next(self._numbers)
        self._owners[number] = owner
        self.do(Connect(number, address, within_s))
        return number

    def write(self, connection: int, data: bytes) -> None:
        """Send bytes on a connection, if it is open."""
        if data:
            self.do(Write(connection, data))

    def disconnect(self, connection: int) -> None:
        """Close a connection; its owner gets no more calls for it."""
        if self._owners.pop(connection, None) is not None:
            self.do(Disconnect(connection))

    def fetch(
        self,
        address: Address,
        target: str,
        call: Callable[[Fetched | None], None],
        *,
        accept: str,
        within_s: float,
    ) -> None:
        """Send GET to an HTTP server; call with the answer, or with None if there is none."""
        number = next(self._numbers)
        self._fetches[number] = call
        self.do(Fetch(number, address, target, accept, within_s))

    def after(self, seconds: float, call: Callable[[], None]) -> Alarm:
        """Schedule a call after this number of seconds, and return it as an alarm."""
        alarm = Alarm(call)
        heapq.heappush(self._alarms, (self.now + seconds, next(self._numbers), alarm))
        return alarm

    def next_due(self) -> float | None:
        """Return the time of the next scheduled call, or None."""
        while self._alarms and self._alarms[0][2].call is None:
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    def run_alarms(self) -> None:
        """Make the scheduled calls that are due."""
        while (due := self.next_due()) is not None and due <= self.now:
            call = heapq.heappop(self._alarms)[2].call
            if call is not None:
                call()

    def owner_of(self, connection: int) -> Owner | None:
        """Return the owner of a connection; None if it was closed meanwhile."""
        return self._owners.get(connection)

    def forget(self, connection: int) -> Owner | None:
        """Remove a connection that is lost, and return its owner."""
        return self._owners.pop(connection, None)

    def settle_fetch(self, request: int, answer: Fetched | None) -> None:
        """Pass the answer to an HTTP request, None if it failed, to the caller that waits."""
        call = self._fetches.pop(request, None)
        if call is not None:
            call(answer)
