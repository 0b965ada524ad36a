"""Events of a proxy besides those of its protocol."""

from dataclasses import dataclass

from wireproof_kit.clients.events import Event


@dataclass(frozen=True, slots=True)
class Listening(Event):
    """The proxy listens at ``address`` and relays to ``upstream``; ``conn`` names the listener."""

    address: str
    upstream: str


@dataclass(frozen=True, slots=True)
class Unreached(Event):
    """A service cannot be reached; ``conn`` names the proxy's listener for it."""

    text: str


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """A note about something that the proxy did, or could not do."""

    text: str


@dataclass(frozen=True, slots=True)
class Undecoded(Event):
    """One direction of a connection can no longer be decoded; ``text`` says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Clipped(Event):
    """A command or frame called ``name`` is longer than the proxy keeps.

    It has ``size`` bytes, of which ``kept`` follow.
    """

    name: str
    size: int
    kept: int


def tell_own(event: Event) -> str | None:
    """Return one of these events as text; None for all others."""
    if isinstance(event, Noted | Undecoded):
        return f"proxy  -- {event.conn:<11} {event.text}"
    if isinstance(event, Clipped):
        text = f"{event.name} of {event.size} bytes, of which {event.kept} are decoded:"
        return f"proxy  -- {event.conn:<11} {text}"
    return None
