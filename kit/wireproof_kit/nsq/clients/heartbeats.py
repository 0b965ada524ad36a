"""Heartbeats of the nodes that the kit plays: how often they come, and if one is answered."""

from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_spec.nsq import names

INTERVAL_S = 30.0
"""The interval of a node that was asked for none, as of real nodes."""
_LEAST_MS, _MOST_MS = 1000, 3_600_000


def interval(asked: object) -> float | None:
    """Return the seconds between heartbeats for what IDENTIFY asks; None: the client wants none.

    ``asked`` is the member heartbeat_interval, in milliseconds. As at real nodes, -1 switches
    heartbeats off, and less than a second cannot be had.
    """
    if asked == -1:
        return None
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < _LEAST_MS:
        return INTERVAL_S
    return min(asked, _MOST_MS) / 1000


def is_answered(story: Story, *commands: str, after: float) -> bool:
    """Return True if a client answered a heartbeat that came so many seconds after such a command.

    Any command on the connection is an answer, not only NOP. A heartbeat for which the client
    itself has asked may be answered before: that says nothing of what the client does, or does not
    do, until the case sends its own.
    """
    begins: dict[str, float] = {}
    waiting: set[str] = set()
    for event in story.events:
        if isinstance(event, Sent) and event.data == names.HEARTBEAT:
            if event.conn in begins and event.at - begins[event.conn] >= after:
                waiting.add(event.conn)
        elif isinstance(event, Commanded) and event.conn in waiting:
            return True
        elif isinstance(event, Commanded) and event.name in commands:
            begins.setdefault(event.conn, event.at)
    return False
