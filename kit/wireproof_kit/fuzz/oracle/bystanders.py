"""What the bystanders of all protocols share: waiting, missing messages, dead targets."""

import select
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import DEAD, DELIVERY
from wireproof_kit.fuzz.send.connection import CONNECT_S, CaseConnection
from wireproof_kit.wire.address import Address, connect

BEHIND_S = 0.5
"""Seconds by which an earlier message may arrive after a later one."""
NOBODY_S = 0.05
"""The longest wait for connections that have all ended. A death that was waited out in full took
as long as a late answer, each time that it was repeated."""
SHOWN = 40
"""How many bytes of a lost message a report shows."""


def wait(clients: Sequence[CaseConnection], deadline: float) -> None:
    """Wait until a connection is ready or the deadline has come; then send and receive on all.

    If all connections have ended, nothing can come: the wait is a short one.
    """
    poll = select.poll()
    sockets = [(each.sock, each.events) for each in clients if each.sock and not each.ended]
    for sock, events in sockets:
        poll.register(sock, events)
    left_s = max(0.0, deadline - time.monotonic())
    poll.poll((left_s if sockets else min(left_s, NOBODY_S)) * 1000)
    for client in clients:
        client.write()
        client.read()


class Missing:
    """The acknowledged messages that have not been delivered, with their number of copies.

    Brokers encode some messages in several ways, so a delivered message may match several stored
    ones. Deliveries are assigned so that the fewest messages stay missing.
    """

    def __init__(self, stored: Iterable[bytes]) -> None:
        self._left = Counter(stored)
        self._taken: dict[bytes, Counter[tuple[bytes, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._left)

    def __len__(self) -> int:
        return self._left.total()

    @property
    def first(self) -> bytes:
        """The message that was stored first among the missing ones."""
        return next(iter(self._left))

    @property
    def kinds(self) -> tuple[bytes, ...]:
        """All missing messages, without duplicates."""
        return tuple(self._left)

    def forgive(self, one: bytes) -> None:
        """Stop expecting a message, however many copies were stored."""
        del self._left[one]

    def strike(self, readings: Sequence[bytes]) -> bool:
        """Remove a delivered message, stored in one of these forms.

        Return True if it was missing.
        """
        return self._strike(tuple(readings), set())

    def _strike(self, readings: tuple[bytes, ...], tried: set[bytes]) -> bool:
        for reading in readings:
            if reading in self._left:
                self._take(reading, readings)
                return True
        return any(self._exchange(reading, readings, tried) for reading in readings)

    def _take(self, reading: bytes, readings: tuple[bytes, ...]) -> None:
        self._left[reading] -= 1
        if not self._left[reading]:
            del self._left[reading]
        self._taken.setdefault(reading, Counter())[readings] += 1

    def _exchange(self, reading: bytes, readings: tuple[bytes, ...], tried: set[bytes]) -> bool:
        """Assign a reading to this delivery if the delivery that has it can take another one.

        Of deliveries with the same readings only one is tried: if it cannot change, none can.
        Trying each of thousands took longer than the patience of the watch.
        """
        if reading in tried:
            return False
        tried.add(reading)
        taken = self._taken.get(reading)
        for theirs in tuple(taken or ()):
            if taken is not None and self._strike(theirs, tried):
                taken[theirs] -= 1
                if not taken[theirs]:
                    del taken[theirs]
                taken[readings] += 1
                return True
        return False


def describe_undelivered(
    missing: Missing, count: int, *, strange: int, before_content: int = 0
) -> Trouble:
    """Return the trouble of messages that were acknowledged and not delivered.

    The text has the numbers of missing and of unexpected messages, and the first missing one
    without its first `before_content` bytes.
    """
    lost = missing.first
    words = f"{len(missing)} of {count} acknowledged messages were not delivered"
    also = f"; {strange} others were" if strange else ""
    shown = lost[before_content:][:SHOWN]
    return Trouble(DELIVERY, f"{words}{also}; the first is {shown!r}", lost)


def describe_ended(who: str, client: CaseConnection) -> str:
    """Return how the target ended the connection of a client of the kit, when, and after what."""
    lasted_s = time.monotonic() - client.opened_s
    last = f"{client.last[-SHOWN:]!r} came last" if client.last else "nothing had come"
    ended = f"the connection of {who} was ended ({client.ended})"
    return f"{ended} {lasted_s:.1f} s after it was opened; {last} on it"


def is_alive(address: Address) -> bool:
    """Return True if the target accepts connections."""
    try:
        connect(address, CONNECT_S).close()
    except OSError:
        return False
    return True


def or_dead(trouble: Trouble, address: Address) -> Trouble:
    """Return the trouble, or "the target is dead" instead if it accepts no connection."""
    return trouble if is_alive(address) else Trouble(DEAD, describe_refusal(address))


def describe_refusal(address: Address) -> str:
    """Return the text for a target that accepts no connection."""
    return f"{address[0]}:{address[1]} accepts no connection"
