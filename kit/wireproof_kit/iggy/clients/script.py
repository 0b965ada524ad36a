"""The script of a case, as data: what the driver is asked, and which answers are special.

Without a script's answers the server acts as real servers do: a poll returns messages of its log,
a request to send is accepted.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

from wireproof_kit.clients.part import Role
from wireproof_kit.clients.pieces import Pieces
from wireproof_spec.driver.lines import Fields
from wireproof_spec.iggy.apache.batch import Batch
from wireproof_spec.iggy.message import Message

Transport: TypeAlias = Literal["tcp", "http"]
TRANSPORTS: tuple[Transport, ...] = ("tcp", "http")
STREAM = TOPIC = PARTITION = 1
"""The number of the only stream, topic and partition of the server."""
LOG_SIZE = 30
"""How many messages the server stores in its log."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Script step: answer a poll with these messages; ``change`` names a change of the body."""

    messages: tuple[Message, ...]
    change: str = ""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Script step: answer with this error status and no body, or over HTTP an error's JSON."""

    status: int


@dataclass(frozen=True, slots=True)
class Raw:
    """Script step: send these bytes instead of the answer, then close or reset the connection."""

    data: bytes
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Batches:
    """Script step: answer a poll of generation apache with these batches.

    ``change`` names a change of the body, ``count`` is that of the head instead of the right one.
    """

    batches: tuple[Batch, ...]
    change: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """Script step: answer with an eviction, with the highest and lowest version in ``window``."""

    reason: int
    window: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Reject:
    """Script step: answer a result-framed request with a result section that rejects it."""

    result: int


@dataclass(frozen=True, slots=True)
class Odd:
    """Script step: answer as usual, or with ``reply``, with fields of the header replaced."""

    fields: Mapping[str, int | bytes]
    reply: "Reply | None" = None


@dataclass(frozen=True, slots=True)
class Late:
    """Script step: answer so many seconds later, as usual or with ``reply``."""

    seconds: float
    reply: "Reply | None" = None


@dataclass(frozen=True, slots=True)
class Body:
    """Script step: answer with this status and body; with ``is_login``, as to a login."""

    data: bytes
    status: int = 0
    is_login: bool = False


@dataclass(frozen=True, slots=True)
class Silence:
    """Script step: do not answer."""


Reply: TypeAlias = Messages | Refuse | Raw | Batches | Evict | Reject | Odd | Late | Body | Silence
"""Generation apache alone has those behind the first three."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A request to the driver of the client under test."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Script:
    """What the server that the kit plays does in one case, and what the client's driver is asked.

    ``polls`` are the answers to the first polls, ``sends`` those to the first requests to send.
    ``stored`` are messages that replace those in the log with their offsets. ``asks`` are the
    operations that a driver is asked for, each after the answer to the one before. The server
    writes all that it sends in ``pieces``. ``generation`` is that of the client, if it is known.
    ``logins`` and ``creations`` are answers as ``polls``, ``sessions`` the first sessions that the
    server gives, all in generation apache alone.
    """

    role: Role
    transport: Transport = "tcp"
    _: KW_ONLY
    polls: tuple[Reply, ...] = ()
    sends: tuple[Reply, ...] = ()
    stored: tuple[Message, ...] = ()
    asks: tuple[Operation, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Pieces | None = None
    generation: str | None = None
    logins: tuple[Reply, ...] = ()
    creations: tuple[Reply, ...] = ()
    sessions: tuple[int, ...] = ()
