"""What bystanders of every protocol have in common: waiting, striking off, telling the dead."""

import select
import socket
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import DEAD, DELIVERY
from wireproof_kit.fuzz.send.connection import CONNECT_S, CaseConnection
from wireproof_kit.wire.http import Address

BEHIND_S = 0.5
"""So long what was published before a message may come after it."""
SHOWN = 40
"""Bytes of a lost message that are told."""


def wait(clients: Sequence[CaseConnection], deadline: float) -> None:
    """Wait until something can be moved on a connection, and move it; at most until then."""
    poll = select.poll()
    for client in clients:
        if client.sock is not None and not client.ended:
            poll.register(client.sock, client.events)
    poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    for client in clients:
        client.write()
        client.read()


class Missing:
    """What was acknowledged and has not come, each as often as it was stored.

    A message of which brokers write the head in several ways has several readings, and one
    reading may be of two messages. Whatever leaves the fewest missing is taken.
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
        """Return the first that is missing."""
        return next(iter(self._left))

    @property
    def kinds(self) -> tuple[bytes, ...]:
        """Return all that are missing, each once."""
        return tuple(self._left)

    def forgive(self, one: bytes) -> None:
        """Miss one no more, however often it was stored."""
        del self._left[one]

    def strike(self, readings: Sequence[bytes]) -> bool:
        """Cross one off for a message that came; tell whether any of its readings was missing."""
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
        """Give a reading to this message, if one that has it can be another.

        Of those with the same readings one is asked: what it cannot be, none of them can.
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
    """Say what of `count` acknowledged messages did not come, and how many came in their place.

    The first is shown, but for the bytes before its content.
    """
    lost = missing.first
    words = f"{len(missing)} of {count} acknowledged messages were not delivered"
    also = f"; {strange} others were" if strange else ""
    shown = lost[before_content:][:SHOWN]
    return Trouble(DELIVERY, f"{words}{also}; the first is {shown!r}", lost)


def is_alive(address: Address) -> bool:
    """Tell whether connections are accepted."""
    try:
        socket.create_connection(address, CONNECT_S).close()
    except OSError:
        return False
    return True


def or_dead(trouble: Trouble, address: Address) -> Trouble:
    """Return the trouble with a target, which is death where it accepts no connection."""
    return trouble if is_alive(address) else Trouble(DEAD, describe_refusal(address))


def describe_refusal(address: Address) -> str:
    """Say that a target accepts no connection."""
    return f"{address[0]}:{address[1]} accepts no connection"
