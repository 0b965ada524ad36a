"""The script of a case, as data: what the driver is asked, and which answers are special.

Without a script's answers the server acts as real servers do: a poll returns messages of its log,
a request to send is accepted.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

from wireproof_kit.clients.part import Role
from wireproof_spec.driver.lines import Fields
from wireproof_spec.iggy.message import Message

Transport: TypeAlias = Literal["tcp", "http"]
TRANSPORTS: tuple[Transport, ...] = ("tcp", "http")
STREAM = TOPIC = PARTITION = 1
"""The one stream, topic and partition of the server."""
LOG_SIZE = 30
"""How many messages the server's log has."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Answer a poll with these messages; ``change`` names what is unusual about the body."""

    messages: tuple[Message, ...]
    change: str = ""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this status and no body; over HTTP with the JSON of an error."""

    status: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Send these bytes in place of the answer, and then close or reset the connection."""

    data: bytes
    reset: bool = False


Reply: TypeAlias = Messages | Refuse | Raw


@dataclass(frozen=True, slots=True)
class Operation:
    """A request to the client's driver."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Script:
    """The course of one case.

    ``polls`` are the answers to the first polls, ``sends`` those to the first requests to send.
    ``stored`` are messages that take the place of those in the log with their offsets.
    ``asks`` are the operations that a driver is asked for, one after the other's answer.
    """

    role: Role
    transport: Transport = "tcp"
    _: KW_ONLY
    polls: tuple[Reply, ...] = ()
    sends: tuple[Reply, ...] = ()
    stored: tuple[Message, ...] = ()
    asks: tuple[Operation, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
