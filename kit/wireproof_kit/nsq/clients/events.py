"""Events of NSQ: what a client sends to its peers, and what they send back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wireproof_kit.clients.events import Event

MADE_BY_CASE = "made by the case"
"""The note at bytes that a script sends as they are: they may belong to no command."""
_DIGITS = 10
"""The digits of the greatest number of 32 bits: there are no more partitions."""


@dataclass(frozen=True, slots=True)
class Requested(Event):
    """The client sent an HTTP request; ``query`` has all values of each name."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    closes: bool = False
    """True if the connection is to be closed after the response."""

    def value(self, name: str) -> str | None:
        """Return the first value of a query parameter, or None."""
        return next(iter(self.query.get(name, ())), None)


@dataclass(frozen=True, slots=True)
class Responded(Event):
    """The kit answered an HTTP request of the client with these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Magic(Event):
    """The client sent the magic at the start of a connection."""


@dataclass(frozen=True, slots=True)
class Commanded(Event):
    """The client sent a command.

    ``words`` follow the command's name. ``message_id`` is that of FIN, REQ and TOUCH. ``body`` is
    the body without its size. ``line`` is the whole line as sent.
    """

    name: str
    words: tuple[str, ...] = ()
    body: bytes = b""
    message_id: bytes = b""
    timeout_ms: int = 0
    line: bytes = field(default=b"", repr=False)

    @property
    def partition(self) -> int | None:
        """The partition in a publish or subscribe command, or None."""
        at = 2 if self.name in SUBSCRIPTIONS else 1
        word = self.words[at] if len(self.words) > at else ""
        return int(word) if word.isdecimal() and len(word) <= _DIGITS else None


@dataclass(frozen=True, slots=True)
class Sent(Event):
    """The kit sent a frame, or bytes that are not a frame (``frame_type`` -1)."""

    data: bytes
    frame_type: int = -1

    @property
    def text(self) -> str:
        """The data of a response or error frame, as text."""
        return self.data.decode("utf-8", "replace")


SUBSCRIPTIONS = frozenset({"SUB", "SUB_ORDER", "SUB_ORDERED", "SUB_ADVANCED"})
PUBLISHES = frozenset({"PUB", "PUB_TRACE", "PUB_EXT", "MPUB", "MPUB_TRACE", "MPUB_EXT"})
ORDERED = frozenset({"SUB_ORDER", "SUB_ORDERED"})
