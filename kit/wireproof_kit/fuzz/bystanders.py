"""What bystanders of every protocol have in common: waiting, striking off, telling the dead."""

import select
import socket
import time
from collections import Counter
from collections.abc import Sequence

from wireproof_kit.fuzz.door import Trouble
from wireproof_kit.fuzz.oracle import DEAD, DELIVERY
from wireproof_kit.fuzz.talk import CONNECT_S, Talk
from wireproof_kit.http import Address

SHOWN = 40
"""Bytes of a lost message that are told."""


def wait(talks: Sequence[Talk], deadline: float) -> None:
    """Wait until something can be moved on a connection, and move it; at most until then."""
    poll = select.poll()
    for talk in talks:
        if talk.sock is not None and not talk.ended:
            poll.register(talk.sock, talk.events)
    poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    for talk in talks:
        talk.write()
        talk.read()


def strike(missing: "Counter[bytes]", readings: Sequence[bytes]) -> bool:
    """Cross off the first of several readings of a message; tell whether one was there."""
    for reading in readings:
        if reading in missing:
            missing[reading] -= 1
            if not missing[reading]:
                del missing[reading]
            return True
    return False


def undelivered(
    missing: "Counter[bytes]", count: int, *, strange: int, before_content: int = 0
) -> Trouble:
    """Say what of `count` acknowledged messages did not come, and how many came in their place.

    The first is shown, but for the bytes before its content.
    """
    lost = next(iter(missing))
    words = f"{missing.total()} of {count} acknowledged messages were not delivered"
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
    return trouble if is_alive(address) else Trouble(DEAD, refusing(address))


def refusing(address: Address) -> str:
    """Say that a target accepts no connection."""
    return f"{address[0]}:{address[1]} accepts no connection"
