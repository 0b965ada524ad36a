"""Events of Iggy: what a client asks the server for, and what the server sends back."""

from dataclasses import dataclass

from wireproof_kit.clients.events import Event
from wireproof_spec.iggy.apache.frames import Request
from wireproof_spec.iggy.bodies.command_shapes import Payload
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.generation import ServedGeneration


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """The client sent a request; ``command`` is its name over TCP, even for one over HTTP.

    A request that TCP does not have is named as sent: ``GET /metrics``. ``members`` are the names
    that a message has in JSON in addition to the published ones. ``request`` is a request of
    generation apache over TCP as it came; its ``payload`` has the shapes of the earlier ones.
    """

    command: str
    generation: ServedGeneration
    payload: Payload | None = None
    members: tuple[str, ...] = ()
    closes: bool = False
    request: Request | None = None

    @property
    def poll(self) -> PollMessages | None:
        """The payload if the request is a poll, else None."""
        return self.payload if isinstance(self.payload, PollMessages) else None

    @property
    def sending(self) -> SendMessages | None:
        """The payload if the request sends messages, else None."""
        return self.payload if isinstance(self.payload, SendMessages) else None


@dataclass(frozen=True, slots=True)
class Responded(Event):
    """The kit answered the client with these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Replied(Responded):
    """The kit answered with a frame of generation apache, or with what stands in its place."""
