"""In what circumstances a function of the Iggy core is called: which partition, which message.

The core passes to a function what it needs. What it does not pass is found in the arguments of
the calls around it, in the partition that was used last, and in notes about messages.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

from wireproof_reference_impl.calls import Calls, keep_call
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.faulty.harm import HARMS
from wireproof_reference_impl.iggy.http.connection import HttpConnection
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.wire.message import Message, Sent
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.iggy.kinds import PARTITION_ID


class _Origin(NamedTuple):
    """How a stored message was sent."""

    path: str
    batch: int
    generated: bool


_USED: list[Partition] = []
"""The partition that was used last, if any was since the last bytes of a client came."""

_ORIGINS = WeakKeyDictionary[Partition, dict[int, _Origin]]()
_POLLS = WeakKeyDictionary[Partition, dict[int, int]]()
_REQUESTS = WeakKeyDictionary[Connection, int]()


class Circumstances(Calls):
    """The circumstances of a call, as far as its arguments show them; others are None."""

    looked_into = (list,)

    @property
    def partition(self) -> int | None:
        """Return the number of the partition that the call is about."""
        polled, partitioning = self._first(Polled), self._first(Partitioning)
        if polled is not None:
            return polled.partition
        if partitioning is not None and partitioning.kind == PARTITION_ID:
            return int.from_bytes(partitioning.value, "little")
        partition = self._partition()
        return None if partition is None else partition.id

    @property
    def path(self) -> str | None:
        """Return over which transport the message was or is being sent: tcp or http."""
        origin = self._origin()
        if origin is not None:
            return origin.path
        if self._first(HttpConnection) is not None:
            return "http"
        return None if self._first(Connection) is None else "tcp"

    @property
    def batch(self) -> int | None:
        """Return how many messages were sent in the same request as the message."""
        origin = self._origin()
        if origin is not None:
            return origin.batch
        for arguments in self._calls:
            for each in arguments:
                found = cast(list[object], each) if isinstance(each, list) else []
                if found and isinstance(found[0], Sent):
                    return len(found)
        return None

    @property
    def generated(self) -> bool | None:
        """Return True if the message was sent without an id."""
        origin, sent = self._origin(), self._first(Sent)
        if origin is not None:
            return origin.generated
        return None if sent is None else sent.id == 0

    @property
    def content(self) -> Message | Sent | None:
        """Return the message of the call, as it is stored or as it was sent."""
        return self._message() or self._first(Sent)

    @property
    def number(self) -> int | None:
        """Return how many messages of the partition precede the message."""
        message, partition = self._message(), self._partition()
        if message is not None:
            return message.offset
        if partition is None or self._first(Sent) is None:
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
    def requests(self) -> int | None:
        """Return how many requests came on the connection so far, this one included."""
        connection = self._first(Connection)
        return None if connection is None else _REQUESTS.get(connection)

    def _partition(self) -> Partition | None:
        return self._first(Partition) or next(iter(_USED), None)

    def _message(self) -> Message | None:
        polled = self._first(Polled)
        if polled is not None and polled.messages:
            return polled.messages[0]
        return self._first(Message)

    def _origin(self) -> _Origin | None:
        message, partition = self._message(), self._partition()
        if message is None or partition is None:
            return None
        return _ORIGINS.get(partition, {}).get(message.offset)


def _begin(original: Original, *arguments: object, **named: object) -> object:
    _USED.clear()
    return keep_call(original, *arguments, **named)


def _count_request(original: Original, connection: Connection, frame: bytes) -> object:
    _REQUESTS[connection] = _REQUESTS.get(connection, 0) + 1
    return original(connection, frame)


def _use(original: Original, partition: Partition, *others: object, **named: object) -> object:
    _USED[:] = [partition]
    return keep_call(original, partition, *others, **named)


def _note_origin(
    original: Original, partition: Partition, sent: Sequence[Sent], *others: object
) -> object:
    path = Circumstances(()).path or "tcp"
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
    around(Partition, "append", _note_origin),
    around(Partition, "read", _count_polls),
    around(Partition, "stored_offset", _use),
    around(Partition, "store_offset", _use),
)
"""The overrides that keep these notes."""

_HARMS = {(each.owner, each.name) for each in HARMS}


def is_note(override: Override) -> bool:
    """Return True if an override only enables a fault, so that no corner may restrict it."""
    return (override.owner, override.name) in _HARMS
