"""The fuzz case that is being tried with a client of NSQ."""

from dataclasses import dataclass

from wireproof_kit.clients.events import Disconnected, Event
from wireproof_kit.fuzz.clients.attempt import Attempt
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.fuzz.acknowledged import ACKNOWLEDGING
from wireproof_kit.nsq.clients.fuzz.states import HTTP_PLACES, PUSH, STATES
from wireproof_spec.nsq import names

_NOP = names.NOP.decode()


@dataclass(slots=True)
class NsqAttempt(Attempt):
    """The fuzz case that is being tried with a client of NSQ.

    ``is_controlled``: the control message, which shows that the client still works, is due.
    ``is_shown``: the client has finished that message, or has published again. ``held_back`` is a
    connection on which the client wants no messages; ``lives``: it answered a heartbeat there.
    """

    is_shown: bool = False
    was_asked_again: bool = False
    held_back: str = ""
    lives: bool = False

    @property
    def control(self) -> bytes:
        """The body of the control message."""
        return b"wireproof control %d" % self.number

    def is_ended_by(self, event: Event) -> bool:
        """Return True if an event on its connection shows what the client makes of the case.

        A client that goes on, or has closed the connection, waits for no more of an answer.
        """
        if isinstance(event, Disconnected):
            return True
        if not isinstance(event, Commanded) or event.name in ACKNOWLEDGING:
            return False
        return (event.name == _NOP) == (self.place == PUSH)

    def describe(self, patience_s: float) -> str:
        """Return what the client did not do in time."""
        within = f"within {patience_s:.0f} s"
        if not self.is_sent and self.place in HTTP_PLACES:
            return f"the client did not ask for /{self.place} {within}"
        if not self.is_sent:
            return f"the client did not come for the case {within}"
        producing = STATES[self.case.state].role == "producer"
        last = "publish again" if producing else "finish a message"
        if self.is_shown:
            last = "look up again"
        return f"after the case the client did not {last} {within}"
