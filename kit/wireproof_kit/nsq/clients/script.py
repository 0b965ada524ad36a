"""The script of a case, as data: leaders, special answers, and pushed messages with their times.

Without rules the peers act as the published texts say: every lookup server knows every leader,
every node answers and delivers. A rule gives another action for an event.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

from wireproof_kit.clients.part import Role
from wireproof_kit.clients.pieces import Pieces
from wireproof_spec.driver.lines import Fields
from wireproof_spec.nsq.message import Extend

LOOKUP_1, LOOKUP_2 = "lookupd1", "lookupd2"
NODE_1, NODE_2 = "nsqd1", "nsqd2"
FOREVER = 1 << 30

Shape: TypeAlias = Literal["redesigned", "original"]


@dataclass(frozen=True, slots=True)
class Respond:
    """Script step: answer an HTTP request with this status, by default with the usual body."""

    status: int = 200
    body: bytes | None = None
    v1: bool | None = None
    """Whether the response has no envelope; None: as the request asks."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Script step: answer a command with this error; the connection stays open."""

    code: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Script step: answer a command with this response."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Silence:
    """Script step: send no answer to the request or command."""


@dataclass(frozen=True, slots=True)
class Close:
    """Script step: close the connection instead of an answer."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """Script step: send the usual answer after this number of seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lead:
    """Script step: from now on, these nodes lead these partitions, also in lookups.

    A partition that None leads is unavailable: no lookup names it, and every node refuses it.
    """

    leaders: Mapping[int, str | None]


@dataclass(frozen=True, slots=True)
class Note:
    """Script step: write a mark into the transcript, to show that a period has ended."""

    name: str = "over"


@dataclass(frozen=True, slots=True)
class Push:
    """Script step: deliver these messages on the connection subscribed to their partition."""

    deliveries: "tuple[Delivery, ...]"


@dataclass(frozen=True, slots=True)
class Expire:
    """Script step: every message in flight times out: the nodes deliver it again."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Script step: send a heartbeat on the connection."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Script step: send these bytes unchanged on the connection."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Down:
    """Script step: take a server down; its connections are reset, new ones are refused."""

    peer: str


@dataclass(frozen=True, slots=True)
class Up:
    """Script step: start a server again after `Down`."""

    peer: str


@dataclass(frozen=True, slots=True)
class Request:
    """Script step: ask the client's driver for an operation; without a driver, do nothing."""

    op: str
    fields: Fields = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class After:
    """Script step: perform these steps after this number of seconds."""

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
    | Note
    | Push
    | Expire
    | Beat
    | Bytes
    | Down
    | Up
    | Request
    | After
)
INSTEAD = (Respond, Refuse, Reply, Silence, Close, Delay)
"""Steps that replace the usual answer; all others happen after it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The steps ``acts`` to perform at an event, from its ``first`` to its ``last`` occurrence.

    ``event`` is start, connect, listlookup, lookup; the name of a command; PUBLISH and SUBSCRIBE
    for any command of that kind; ANSWERED for the driver's answers. Only events of the ``peer``
    and ``partition`` given are counted.
    """

    event: str
    acts: tuple[Act, ...]
    _: KW_ONLY
    peer: str | None = None
    partition: int | None = None
    first: int = 1
    last: int = FOREVER


def once(event: str, *acts: Act, peer: str | None = None, at: int = 1) -> Rule:
    """Return a rule for one occurrence of an event, number ``at``."""
    return Rule(event, acts, peer=peer, first=at, last=at)


def always(event: str, *acts: Act, peer: str | None = None, partition: int | None = None) -> Rule:
    """Return a rule for every occurrence of an event."""
    return Rule(event, acts, peer=peer, partition=partition)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a node delivers; ``raw``, if given, replaces all of its bytes."""

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
    """What the servers that the kit plays do in one case, and what the client's driver is asked.

    ``known`` are the leaders that each lookup server knows, where one does not know all;
    ``configured`` are the lookup servers in the client's configuration, ``listed`` those in
    /listlookup. With ``unknown``, each node and the meta of a lookup answer have one member more
    than the texts name. ``publishes`` is how many messages a driver is asked to publish one after
    the other, with ``every`` seconds between, the first ``at_once`` of them together. ``message``
    are the fields of all of them, ``messages`` those of each in turn, ``keys`` their sharding ids.
    ``settings`` are further settings of the client. Nodes write all that they send in ``pieces``,
    lookup servers in ``http_pieces``. If ``is_about_address`` is true, a lookup names the address
    at which to connect to a node in its own fields alone; otherwise, with ``names_alike``, in
    every field that has an address.
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
    unknown: bool = False
    configured: tuple[str, ...] = (LOOKUP_1,)
    listed: tuple[str, ...] = (LOOKUP_1, LOOKUP_2)
    rules: tuple[Rule, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    publishes: int = 0
    every: float = 0.02
    at_once: int = 1
    keys: tuple[str, ...] = ()
    message: Fields = field(default_factory=dict[str, str])
    messages: tuple[Fields, ...] = ()
    handler: str = "finish"
    consume: Fields = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Pieces | None = None
    http_pieces: Pieces | None = None
    is_about_address: bool = False
    names_alike: bool = False
