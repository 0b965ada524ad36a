"""The states of a connection as a table: `{state: {event: next state}}`.

An event that is missing from a state is not allowed: the command is refused and the connection
closed.
"""

from enum import Enum, auto


class State(Enum):
    """The state of a client's connection to the broker."""

    INIT = auto()
    SUBSCRIBED = auto()
    CLOSING = auto()

    __hash__ = object.__hash__  # quicker than Enum's own


class Event(Enum):
    """What changes the state of a connection; the value is the event's word in error texts."""

    IDENTIFY = "IDENTIFY"
    AUTH = "AUTH"
    SUB = "SUB"
    RDY = "RDY"
    FIN = "FIN"
    REQ = "REQ"
    TOUCH = "TOUCH"
    CLS = "CLS"

    __hash__ = object.__hash__


MOVES: dict[State, dict[Event, State]] = {
    State.INIT: {
        Event.IDENTIFY: State.INIT,
        Event.AUTH: State.INIT,
        Event.SUB: State.SUBSCRIBED,
    },
    State.SUBSCRIBED: {
        Event.RDY: State.SUBSCRIBED,
        Event.FIN: State.SUBSCRIBED,
        Event.REQ: State.SUBSCRIBED,
        Event.TOUCH: State.SUBSCRIBED,
        Event.CLS: State.CLOSING,
    },
    State.CLOSING: {
        Event.RDY: State.CLOSING,
        Event.FIN: State.CLOSING,
        Event.REQ: State.CLOSING,
        Event.TOUCH: State.CLOSING,
    },
}
