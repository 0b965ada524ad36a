"""What happened in a case with a client, as the observation sees it.

A connection is called after the peer that was connected to and the number of the connection:
``nsqd1.2`` is the second one to ``nsqd1``. Times are seconds since the case began.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wireproof_spec.driver.lines import Answer, Hello
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.wire_error import WireError


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events in a client case; ``at`` is in seconds, ``conn`` names its connection."""

    at: float
    conn: str

    @property
    def peer(self) -> str:
        """The name of the server to which the client was connected."""
        return self.conn.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Given(Event):
    """The values given to the client with its command line and environment, by name."""

    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Connected(Event):
    """The client opened a connection."""


@dataclass(frozen=True, slots=True)
class Disconnected(Event):
    """A connection was closed by one side."""

    by: Literal["client", "kit", "broker"]


@dataclass(frozen=True, slots=True)
class Greeted(Event):
    """The client's driver sent its greeting."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The client's driver answered an operation."""

    op: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Told(Event):
    """The client's driver reported an event of its client, such as a message received."""

    event: DriverEvent


@dataclass(frozen=True, slots=True)
class Wrote(Event):
    """The client wrote to stdout or stderr; for a driver, only to stderr."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BadLine(Event):
    """The client's driver broke the driver protocol."""

    fault: str


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """The client's process ended by itself; ``code`` is negative for a signal."""

    code: int


@dataclass(frozen=True, slots=True)
class Measured(Event):
    """Seconds of processor time that the client used, and that it and the kit waited for.

    They count from the client's first connection, or its driver's first line, if there is one.
    """

    used: float
    waited: float
    kit_waited: float


@dataclass(frozen=True, slots=True)
class Expired(Event):
    """The kit's time limit passed before the awaited event; ``limit`` is its length as text."""

    limit: str = ""


@dataclass(frozen=True, slots=True)
class Marked(Event):
    """A period of the script has ended; ``name`` is that of the mark."""

    name: str


@dataclass(frozen=True, slots=True)
class Flooded(Event):
    """The client sent more bytes than the kit keeps for one case."""


@dataclass(frozen=True, slots=True)
class Malformed(Event):
    """The client sent bytes that the protocol does not allow."""

    error: WireError
