"""Heartbeats of the nodes that the kit plays: how often they come, and if one is answered."""

from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_kit.observation import Observation
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


def list_unanswered(story: Story) -> list[Sent]:
    """Return the heartbeats behind which no command has come on their connection."""
    last = {
        event.conn: place
        for place, event in enumerate(story.events)
        if isinstance(event, Commanded)
    }
    return [
        event
        for place, event in enumerate(story.events)
        if isinstance(event, Sent)
        and event.data == names.HEARTBEAT
        and last.get(event.conn, -1) < place
    ]


def rest_on_beat(story: Story, seen: Observation) -> Observation:
    """Let an observation rest on the first heartbeat without an answer, or else on the last one.

    A client that looks up nodes all the time writes more of that than of its heartbeats.
    """
    beats = list_unanswered(story)[:1] or story.of(Sent, _is_beat)[-1:]
    return story.rest_on(next(iter(beats), None), seen)


def _is_beat(event: Sent) -> bool:
    return event.data == names.HEARTBEAT
