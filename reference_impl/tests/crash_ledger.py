"""What was promised before a broker was killed, and what may follow from it.

An acknowledged message must be delivered until it was finished; one whose answer never came may
be. Whatever is delivered must be exactly what was sent, at the place and with the internal id
that it had before.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from wireproof_spec.decoding import decode
from wireproof_spec.nsq.message import message_schema
from wireproof_spec.wire_error import WireError


class Broken(AssertionError):
    """A promise was not kept; ``str()`` is the sentence."""


class Sent(NamedTuple):
    """What a publisher sent besides the body."""

    header: bytes | None = None
    trace_id: int = 0


class Record(NamedTuple):
    """Where a message stands in its queue."""

    internal_id: int
    offset: int
    size: int


@dataclass(slots=True)
class TopicLedger:
    """Everything known of one topic."""

    name: str
    extend: bool
    sent: dict[bytes, Sent] = field(default_factory=dict[bytes, Sent])
    acknowledged: dict[bytes, None] = field(default_factory=dict[bytes, None])
    places: dict[bytes, Record] = field(default_factory=dict[bytes, Record])
    ids: dict[int, bytes] = field(default_factory=dict[int, bytes])
    offsets: dict[int, bytes] = field(default_factory=dict[int, bytes])

    def stands_at(self, body: bytes, record: Record) -> None:
        """Note where a message stands.

        Raises:
            Broken: it stood elsewhere before, or another stood there.
        """
        known = self.places.setdefault(body, record)
        if known != record:
            raise Broken(f"{self.name}: {_shown(body)} stood at {known}, now at {record}")
        for what, place, number in (
            ("internal id", self.ids, record.internal_id),
            ("offset", self.offsets, record.offset),
        ):
            other = place.setdefault(number, body)
            if other != body:
                both = f"{_shown(other)} and {_shown(body)}"
                raise Broken(f"{self.name}: {what} {number} was given to {both}")

    def delivered(self, data: bytes) -> tuple[bytes, bytes]:
        """Check a delivery with offset and size; return its message id and body.

        Raises:
            Broken: it is malformed, or nobody sent it so.
        """
        try:
            message = decode(message_schema(extend=self.extend, ordered=True), data)
        except WireError as error:
            raise Broken(f"{self.name}: malformed delivery: {error}: {data[:60].hex()}") from error
        sent = self.sent.get(message.body)
        if sent is None:
            raise Broken(f"{self.name}: nobody sent {_shown(message.body)}")
        header = message.extend.data if message.extend is not None else None
        if Sent(header or None, message.trace_id) != sent:
            found = f"{header!r}, {message.trace_id}"
            raise Broken(f"{self.name}: {_shown(message.body)} came with {found}; sent {sent}")
        offset, size = message.disk_queue_offset, message.disk_queue_data_size
        assert offset is not None
        assert size is not None
        self.stands_at(message.body, Record(message.internal_id, offset, size))
        return message.message_id, message.body

    def check_order(self) -> None:
        """Check that records follow each other without overlap, with increasing ids.

        Raises:
            Broken: they do not.
        """
        records = sorted(self.places.values(), key=lambda record: record.offset)
        for one, next_one in pairwise(records):
            if next_one.offset < one.offset + one.size or next_one.internal_id <= one.internal_id:
                raise Broken(f"{self.name}: {next_one} cannot follow {one}")


@dataclass(slots=True)
class ChannelLedger:
    """What a channel owes: everything acknowledged that was sent after it was there."""

    topic: TopicLedger
    name: str
    not_owed: set[bytes] = field(default_factory=set[bytes])

    def owed(self) -> set[bytes]:
        """Return the bodies that must come."""
        return self.topic.acknowledged.keys() - self.not_owed


def _shown(body: bytes) -> str:
    return f"{body[:24]!r} ({len(body)} bytes)"
