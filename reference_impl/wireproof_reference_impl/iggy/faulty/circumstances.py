"""In what circumstances a function of the Iggy core is called: which partition, which message.

The core passes to a function what it needs. What it does not pass stands in the context, is the
partition that was used last, or stands in notes about messages.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

from wireproof_reference_impl.context import Context
from wireproof_reference_impl.iggy.core import messages
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.harm import HARMS
from wireproof_reference_impl.iggy.http.connection import HttpConnection
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.requests import Partitioning, PollMessages
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy.kinds import PARTITION_ID
from wireproof_spec.strict_json import is_array


class _Origin(NamedTuple):
    """How a stored message was sent."""

    path: str
    batch: int
    generated: bool


_USED: list[Partition] = []
"""The partition that was used last, if any was since the last bytes of a client came."""

_POLL: list[PollMessages] = []
"""The poll that is being answered, if any: its response is encoded after it has been done."""

_ORIGINS = WeakKeyDictionary[Partition, dict[int, _Origin]]()
_POLLS = WeakKeyDictionary[Partition, dict[int, int]]()
_REQUESTS = WeakKeyDictionary[Connection, int]()


class Circumstances(Context):
    """What the server is busy with; each property is None where nothing is known."""

    kinds: ClassVar = {
        Connection: "connection",
        HttpConnection: "http",
        Message: "message",
        Partition: "used",
        Partitioning: "partitioning",
        Polled: "polled",
        PollMessages: "request",
        Sent: "sent",
    }
    looked_into = (list,)
    connection: Connection | None = None
    http: object | None = None
    message: Message | None = None
    used: Partition | None = None
    partitioning: Partitioning | None = None
    polled: Polled | None = None
    request: PollMessages | None = None
    sent: Sent | None = None
    sent_together: int | None = None

    def see(self, arguments: Sequence[object]) -> dict[str, object]:
        """Return the arguments of known types by attribute, and how many messages were sent."""
        lists = (items for items in arguments if is_array(items))
        counts = [len(items) for items in lists if items and isinstance(items[0], Sent)]
        together = {"sent_together": counts[0]} if counts else {}
        return super().see(arguments) | together

    @property
    def partition(self) -> int | None:
        """Return the number of the partition that the call is about."""
        if self.polled is not None:
            return self.polled.partition
        if self.partitioning is not None and self.partitioning.kind == PARTITION_ID:
            return int.from_bytes(self.partitioning.value, "little")
        partition = self._partition()
        return None if partition is None else partition.id

    @property
    def path(self) -> str | None:
        """Return over which transport the message was or is being sent: tcp or http."""
        origin = self._origin()
        if origin is not None:
            return origin.path
        if self.http is not None:
            return "http"
        return None if self.connection is None else "tcp"

    @property
    def batch(self) -> int | None:
        """Return how many messages were sent in the same request as the message."""
        origin = self._origin()
        return self.sent_together if origin is None else origin.batch

    @property
    def generated(self) -> bool | None:
        """Return True if the message was sent without an id."""
        origin = self._origin()
        if origin is not None:
            return origin.generated
        return None if self.sent is None else self.sent.id == 0

    @property
    def content(self) -> Message | Sent | None:
        """Return the message of the call, as it is stored or as it was sent."""
        return self._message() or self.sent

    @property
    def number(self) -> int | None:
        """Return how many messages of the partition precede the message."""
        message, partition = self._message(), self._partition()
        if message is not None:
            return message.offset
        if partition is None or self.sent is None:
            return None
        return partition.count

    @property
    def polls(self) -> int | None:
        """Return how many times the message has been polled, this one included."""
        message, partition = self._message(), self._partition()
        if message is None or partition is None:
            return None
        return _POLLS.get(partition, {}).get(message.offset)

    @property
    def poll(self) -> PollMessages | None:
        """Return the poll that is being answered."""
        return self.request or next(iter(_POLL), None)

    @property
    def requests(self) -> int | None:
        """Return how many requests came on the connection so far, this one included."""
        return None if self.connection is None else _REQUESTS.get(self.connection)

    def _partition(self) -> Partition | None:
        return self.used or next(iter(_USED), None)

    def _message(self) -> Message | None:
        if self.polled is not None and self.polled.messages:
            return self.polled.messages[0]
        return self.message

    def _origin(self) -> _Origin | None:
        message, partition = self._message(), self._partition()
        if message is None or partition is None:
            return None
        return _ORIGINS.get(partition, {}).get(message.offset)


CONTEXT = Circumstances()


def _begin(original: Original, *arguments: object, **named: object) -> object:
    _USED.clear()
    _POLL.clear()
    return CONTEXT.run(original, *arguments, **named)


def _count_request(original: Original, connection: Connection, frame: bytes) -> object:
    _POLL.clear()
    _REQUESTS[connection] = _REQUESTS.get(connection, 0) + 1
    return original(connection, frame)


def _note_poll(original: Original, topic: object, request: PollMessages, client: object) -> object:
    _POLL[:] = [request]
    return original(topic, request, client)


def _use(original: Original, partition: Partition, *others: object, **named: object) -> object:
    _USED[:] = [partition]
    return CONTEXT.run(original, partition, *others, **named)


def _note_origin(
    original: Original, partition: Partition, sent: Sequence[Sent], *others: object
) -> object:
    path = CONTEXT.path or "tcp"
    for number, each in enumerate(sent):
        origin = _Origin(path, len(sent), each.id == 0)
        _ORIGINS.setdefault(partition, {})[partition.count + number] = origin
    return _use(original, partition, sent, *others)


def _count_polls(original: Original, partition: Partition, start: int, count: int) -> object:
    polls = _POLLS.setdefault(partition, {})
    for offset in range(start, min(start + count, partition.count)):
        polls[offset] = polls.get(offset, 0) + 1
    return _use(original, partition, start, count)


NOTES: tuple[Override, ...] = (
    around(Connection, "receive", _begin),
    around(Connection, "read", _count_request),
    around(HttpConnection, "receive", _begin),
    around(messages, "_partition", _note_poll),
    around(Partition, "append", _note_origin),
    around(Partition, "read", _count_polls),
    around(Partition, "stored_offset", _use),
    around(Partition, "store_offset", _use),
)
"""The overrides that keep the context and these notes."""

_HARMS = {(harm.owner, harm.name) for harm in HARMS}


def is_note(override: Override) -> bool:
    """Return True if an override only enables a fault, so that no corner may restrict it."""
    return (override.owner, override.name) in _HARMS
