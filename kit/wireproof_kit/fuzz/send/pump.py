"""Moves bytes on many connections at once, with one poll at a time."""

import select
import time
from collections.abc import Sequence

from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.fuzz.send.conversation import Conversation


def move_bytes(clients: Sequence[CaseConnection], seconds: float) -> bool:
    """Send and receive on the connections that are ready; return True if there was any.

    Wait for at most ``seconds``, and for exactly that long if there are no connections.
    """
    poll = select.poll()
    by_number: dict[int, CaseConnection] = {}
    for client in clients:
        if client.sock is not None:
            number = client.sock.fileno()
            by_number[number] = client
            poll.register(number, client.events)
    is_moved = False
    for number, events in poll.poll(max(0.0, seconds) * 1000):
        client = by_number[number]
        if events & ~select.POLLOUT:
            client.read()
        if client.events & select.POLLOUT:
            client.write()
        is_moved = True
    return is_moved


def turn(active: Sequence[Conversation], ends_at: float) -> None:
    """Wait until one running case has an event or reaches its deadline; then advance all."""
    now = time.monotonic()
    due = min(max(ends_at, now), *(each.deadline for each in active))
    wakes = [each.wake for each in active if each.is_slow]
    move_bytes(
        [client for each in active for client in each.clients()],
        min([due, *wakes]) - now,
    )
    _advance(active)


def glance(active: Sequence[Conversation]) -> None:
    """Advance running cases by the events so far, without waiting."""
    move_bytes([client for each in active for client in each.clients()], 0.0)
    _advance(active)


def _advance(active: Sequence[Conversation]) -> None:
    for each in active:
        each.advance()
        if not each.over and time.monotonic() >= each.deadline:
            each.expire()


def converse(clients: Sequence[Conversation], until: float, ends_at: float) -> None:
    """Run cases until all are over or the monotonic time `until` has come."""
    active = list(clients)
    while active and time.monotonic() < until:
        turn(active, ends_at)
        active = [client for client in active if not client.over]
