"""What happens on the channels of a broker, in the order of the transcript."""

from dataclasses import dataclass, field

from wireproof_kit.ledger.entries import Place


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription that the broker accepted, on connection ``conn`` of case ``case``."""

    case: str
    conn: str
    topic: str
    channel: str
    partition: int | None
    command: str
    extended: bool
    tag: str
    is_ordered: bool = False
    """True for an ordered subscription to a topic that is known to be ordered."""
    has_ext: bool | None = None
    """Whether its messages have the ext part; None if no text says that."""
    opening: tuple[Place, ...] = field(default=(), compare=False)
    """Where the client sent IDENTIFY and the subscription, which say how messages are laid out."""
    timeout_ms: int | None = None
    """After how long a message in flight is delivered again; None if that is not known."""

    @property
    def place(self) -> tuple[str, str]:
        """Topic and channel."""
        return self.topic, self.channel


@dataclass(frozen=True, slots=True)
class ChannelEvent:
    """An event on a subscription; ``order`` counts the steps of all cases."""

    by: Subscription
    at: Place
    order: int


@dataclass(frozen=True, slots=True)
class Joined(ChannelEvent):
    """The broker accepted the subscription."""


@dataclass(frozen=True, slots=True)
class Left(ChannelEvent):
    """The connection ended."""


@dataclass(frozen=True, slots=True)
class Delivered(ChannelEvent):
    """The broker delivered a message; ``data`` follows the frame type.

    ``new_leader`` tells how the partition may have got another leader in the case, if at all.
    """

    data: bytes
    new_leader: str = ""
    is_upgraded: bool = False
    """True if the case asked for the upgrade of the topic before."""


@dataclass(frozen=True, slots=True)
class Acknowledged(ChannelEvent):
    """The client sent FIN, REQ or TOUCH (``command``) of a message."""

    command: str
    message_id: bytes
    delay_ms: int = 0
    """For how long REQ puts the message off."""


@dataclass(frozen=True, slots=True)
class Answered(ChannelEvent):
    """The broker answered a command, whose step was the ``asked``-th of all cases."""

    asked: int


@dataclass(frozen=True, slots=True)
class Ready(ChannelEvent):
    """The client sent RDY."""

    count: int


@dataclass(frozen=True, slots=True)
class Objected(ChannelEvent):
    """The broker sent an error on the connection."""

    code: str
