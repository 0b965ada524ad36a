"""Events of a proxy besides those of its protocol."""

from dataclasses import dataclass

from wireproof_kit.clients.events import Event


@dataclass(frozen=True, slots=True)
class Listening(Event):
    """The proxy listens at an address in front of another one; ``conn`` names the front."""

    address: str
    upstream: str


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """Something that the proxy did, or could not do."""

    text: str


@dataclass(frozen=True, slots=True)
class Undecoded(Event):
    """A direction of a connection is not decoded from here on; ``text`` says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Clipped(Event):
    """What follows is longer than the proxy keeps; ``name`` is its command or frame type."""

    name: str
    size: int
    kept: int


def tell_own(event: Event) -> str | None:
    """Return one of these events as text; None for another one, and for the first."""
    if isinstance(event, Noted | Undecoded):
        return f"proxy  -- {event.conn:<11} {event.text}"
    if isinstance(event, Clipped):
        text = f"{event.name} of {event.size} bytes, of which {event.kept} are decoded:"
        return f"proxy  -- {event.conn:<11} {text}"
    return None
