"""The script of a case, as data: leaders, special answers, and pushed messages with their times.

Without rules the peers act as the published texts say: every lookup server knows every leader,
every node answers and delivers. A rule gives another action for an event.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

from wireproof_kit.clients.part import Role
from wireproof_spec.driver.lines import Fields
from wireproof_spec.nsq.message import Extend

LOOKUP_1, LOOKUP_2 = "lookupd1", "lookupd2"
NODE_1, NODE_2 = "nsqd1", "nsqd2"
FOREVER = 1 << 30

Shape: TypeAlias = Literal["redesigned", "original"]


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer a request in this way; a ``body`` of None is the usual body."""

    status: int = 200
    body: bytes | None = None
    v1: bool | None = None
    """Whether the answer is in the v1 form; None: as the request asks."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer a command with this error; the connection stays open."""

    code: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a command with this response."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Silence:
    """Give no answer."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection instead of an answer."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """Give the usual answer after this number of seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lead:
    """From now on these nodes lead these partitions, also in the answers of lookup servers."""

    leaders: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Forget:
    """From now on no lookup server names these partitions; their nodes go on as before."""

    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Write a mark into the log, to show when a period has ended."""

    name: str = "over"


@dataclass(frozen=True, slots=True)
class Push:
    """Deliver these messages on the connection that is subscribed to their partition."""

    deliveries: "tuple[Delivery, ...]"


@dataclass(frozen=True, slots=True)
class Beat:
    """Send a heartbeat on the connection."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Send these bytes unchanged on the connection."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Down:
    """Take a peer away: its connections are reset, new ones are refused."""

    peer: str


@dataclass(frozen=True, slots=True)
class Up:
    """Bring a peer back."""

    peer: str


@dataclass(frozen=True, slots=True)
class Request:
    """Ask the client's driver for an operation; without one nothing happens."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class After:
    """Act after this number of seconds."""

    seconds: float
    acts: "tuple[Act, ...]"


Act: TypeAlias = (
    Respond
    | Refuse
    | Reply
    | Silence
    | Close
    | Delay
    | Lead
    | Forget
    | Note
    | Push
    | Beat
    | Bytes
    | Down
    | Up
    | Request
    | After
)
INSTEAD = (Respond, Refuse, Reply, Silence, Close, Delay)
"""What stands in place of the usual answer; all else happens after it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """At the events so called, from the first to the last of those that fit, do this.

    Events are: start, connect, listlookup, lookup; the commands by name; PUBLISH and SUBSCRIBE
    for any of their kind; ANSWERED for the driver's answers. Counted are those of the ``peer``
    and ``partition`` named.
    """

    event: str
    acts: tuple[Act, ...]
    _: KW_ONLY
    peer: str | None = None
    partition: int | None = None
    first: int = 1
    last: int = FOREVER


def once(event: str, *acts: Act, peer: str | None = None, at: int = 1) -> Rule:
    """Return a rule for one event."""
    return Rule(event, acts, peer=peer, first=at, last=at)


def always(event: str, *acts: Act, peer: str | None = None, partition: int | None = None) -> Rule:
    """Return a rule for every event so called."""
    return Rule(event, acts, peer=peer, partition=partition)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a node delivers; ``raw`` stands for all of its bytes."""

    body: bytes = b"wireproof"
    _: KW_ONLY
    partition: int = 0
    internal_id: int | None = None
    trace_id: int = 0
    attempts: int = 1
    offset: int | None = None
    size: int | None = None
    extend: Extend | None = None
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """One case's course.

    ``known`` are the leaders that each lookup server knows, where one does not know all;
    ``configured`` are the lookup servers in the client's configuration, ``listed`` those that
    /listlookup names. ``publishes`` is how many messages a driver is asked to publish one after
    the other, with ``every`` so many seconds between; ``message`` is what all of them carry,
    ``messages`` what each carries in turn, ``keys`` their sharding keys. ``settings`` are further
    ones for the client.
    """

    role: Role
    _: KW_ONLY
    leaders: Mapping[int, str] = field(default_factory=lambda: {0: NODE_1})
    known: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])
    partition_num: int | None = None
    extend: bool = False
    ordered: bool = False
    shape: Shape = "redesigned"
    v1: bool | None = None
    configured: tuple[str, ...] = (LOOKUP_1,)
    listed: tuple[str, ...] = (LOOKUP_1, LOOKUP_2)
    rules: tuple[Rule, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    publishes: int = 0
    every: float = 0.02
    keys: tuple[str, ...] = ()
    message: Fields = field(default_factory=dict[str, str])
    messages: tuple[Fields, ...] = ()
    handler: str = "finish"
    consume: Fields = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
