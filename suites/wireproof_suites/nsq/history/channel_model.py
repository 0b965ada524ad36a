"""The model that histories are compared with: what is true of a channel after every move.

A message is owed from its acknowledgement to its publisher until a client finishes it. A message
is loose while no client is known to hold it. A finished or held message may come again: delivery
is at least once.
"""

from dataclasses import dataclass, field

from wireproof_kit.runner.rule_machine import KEPT

OUT_OF_ORDER = "out-of-order"
MISDELIVERED = "misdelivered"
TAGGED_GOT_OTHER = "tagged-got-untagged"


@dataclass(slots=True)
class OwedMessage:
    """A message that is still due: its tag, its holder, and since when no client holds it."""

    tag: str | None
    loose_at: int
    holder: int | None = None


@dataclass(slots=True)
class Member:
    """A client in the model: its desired tag, its RDY count, and since when it is surely ready."""

    tag: str | None
    ready: int
    proven_at: int | None = None


@dataclass(slots=True)
class ChannelModel:
    """A model of one channel: which messages are still due, and which clients may get them.

    Every change moves its clock on.
    """

    ordered: bool = False
    owed: dict[bytes, OwedMessage] = field(default_factory=dict[bytes, OwedMessage])
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    clock: int = 0

    def publish(self, body: bytes, tag: str | None) -> None:
        """Note that a message was published and acknowledged."""
        self.owed[body] = OwedMessage(tag, self._tick())

    def finish(self, body: bytes) -> None:
        """Note that a client has finished a message."""
        self.owed.pop(body, None)

    def loosen(self, body: bytes) -> None:
        """Note that the holder of a message requeued it, or is about to lose it."""
        if body in self.owed:
            self.owed[body].holder = None
            self.owed[body].loose_at = self._tick()

    def join(self, client: int, tag: str | None, ready: int) -> None:
        """Note that a client subscribed."""
        self.members[client] = Member(tag, ready)

    def leave(self, client: int) -> None:
        """Note that a client has left."""
        del self.members[client]
        for body in self.held_by(client):
            self.loosen(body)

    def deliver(self, body: bytes, client: int) -> str:
        """Note a delivery; return ``kept`` if the client may get the message, else why not."""
        owed, member = self.owed.get(body), self.members[client]
        word = KEPT if owed is None else self._judge(body, owed, member)
        if owed is not None:
            owed.holder = client
        if member.proven_at is None:
            member.proven_at = self._tick()
        return word

    def held_by(self, client: int) -> list[bytes]:
        """Return the bodies a client holds, oldest first."""
        return [body for body, owed in self.owed.items() if owed.holder == client]

    def count_due(self) -> int:
        """Return how many messages, held by no client, must come without any further action.

        On real brokers, a message that no client may get blocks the others, so then none is due.
        """
        loose = [owed for owed in self.owed.values() if owed.holder is None]
        if self.ordered:
            first = next(iter(self.owed.values()), None)
            return int(bool(self.members) and first is not None and first.holder is None)
        if not all(self._takers(owed.tag) for owed in loose):
            return 0
        room = sum(m.ready - len(self.held_by(client)) for client, m in self.members.items())
        return min(len(loose), max(0, room))

    def _judge(self, body: bytes, owed: OwedMessage, member: Member) -> str:
        if self.ordered and body != next(iter(self.owed)):
            return OUT_OF_ORDER
        if member.tag is None or member.tag == owed.tag:
            return KEPT  # the text says "try" of the client that desires the tag
        if owed.tag is None:
            return TAGGED_GOT_OTHER
        return MISDELIVERED if self._was_ready_untagged(owed.loose_at) else KEPT

    def _was_ready_untagged(self, since: int) -> bool:
        """Return True if a client without a tag has surely been ready since a moment."""
        return any(
            each.tag is None
            and each.proven_at is not None
            and each.proven_at <= since
            and len(self.held_by(client)) < each.ready
            for client, each in self.members.items()
        )

    def _takers(self, tag: str | None) -> list[Member]:
        """Return the clients a message of this tag may go to."""
        matching = [member for member in self.members.values() if member.tag == tag]
        return matching or [member for member in self.members.values() if member.tag is None]

    def _tick(self) -> int:
        self.clock += 1
        return self.clock
