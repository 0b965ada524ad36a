"""What happened in a case with a client, as the observation sees it.

A connection is called after the peer that was connected to and the number of the connection:
``nsqd1.2`` is the second one to ``nsqd1``. Times are seconds since the case began.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wireproof_spec.driver.lines import Answer, Hello
from wireproof_spec.driver.lines import Event as DriverEvent


@dataclass(frozen=True, slots=True)
class Event:
    """Anything that happened; ``conn`` is where, if it was on a connection."""

    at: float
    conn: str

    @property
    def peer(self) -> str:
        """The peer that the client was connected to."""
        return self.conn.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Given(Event):
    """What the client was given with its command line and environment, by name."""

    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Connected(Event):
    """The client opened a connection."""


@dataclass(frozen=True, slots=True)
class Disconnected(Event):
    """A connection was closed by one side."""

    by: Literal["client", "kit"]


@dataclass(frozen=True, slots=True)
class Greeted(Event):
    """The client's driver greeted."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The client's driver answered an operation."""

    op: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Told(Event):
    """The client's driver told something unasked."""

    event: DriverEvent


@dataclass(frozen=True, slots=True)
class Wrote(Event):
    """The client wrote to a stream of its own; of a driver, to stderr only."""

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
class Expired(Event):
    """The kit waited as long as it does, and what it waited for did not come."""


@dataclass(frozen=True, slots=True)
class Marked(Event):
    """A time of the script is over."""

    name: str


@dataclass(frozen=True, slots=True)
class Flooded(Event):
    """The client sent more than the kit keeps of one case."""
