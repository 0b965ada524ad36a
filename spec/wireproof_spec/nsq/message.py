"""A message as delivered to a subscriber and, inside a record, as stored on disk."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import (
    Bytes,
    Field,
    Int8ub,
    Int16ub,
    Int32ub,
    Int64sb,
    Int64ub,
    Record,
    Rest,
    Shape,
    When,
    field,
)
from wireproof_spec.grammar.lengths import Declared


class Extend(Struct, frozen=True, gc=False):
    """The ext part of a message on an ext topic: a version, and data such as a JSON header.

    `data` is None if there is only version 0, without a length.
    """

    version: int
    data: bytes | None


class Message(Struct, frozen=True, gc=False):
    """A delivered message; `extend` only on ext topics, queue offset and size only in order.

    `attempts` is the plain counter, without the indicator bits that it carries on disk.
    """

    timestamp_ns: int
    attempts: int
    internal_id: int
    trace_id: int
    extend: Extend | None
    disk_queue_offset: int | None
    disk_queue_data_size: int | None
    body: bytes

    @property
    def message_id(self) -> bytes:
        """The 16 bytes by which a client acknowledges the message: internal id, then trace id."""
        return self.internal_id.to_bytes(8, "big") + self.trace_id.to_bytes(8, "big")


def extend_layout(*, length_always: bool) -> Record:
    """Return the layout of a message's ext part.

    Layout: 1-byte `version`, 2-byte `length`, then `data` of that length. The published drawing
    always has version and length; deployed brokers write version 0 without a length.
    """
    length: Shape = Declared(Int16ub, of="data")
    data: Shape = Bytes(this.length)
    if not length_always:
        length, data = When(this.version, length), When(this.version, data)
    return Record(Extend, field("version", Int8ub), field("length", length), field("data", data))


def message_layout(*between: Field, attempts: Shape = Int16ub) -> Record:
    """Return the layout of a message with the given parts between its id and its body."""
    return Record(
        Message,
        field("timestamp_ns", Int64sb),
        field("attempts", attempts),
        field("internal_id", Int64ub),
        field("trace_id", Int64ub),
        *between,
        field("body", Rest),
    )


def message_schema(
    *, extend: bool, ordered: bool, length_always: bool = False, offset_first: bool = False
) -> Schema[Message]:
    """Return the schema of a message frame's data for one kind of subscription.

    `extend`: the topic has the extend feature. `ordered`: subscribed with SUB_ORDERED or
    SUB_ADVANCED; offset and size follow the extend part, or precede it if `offset_first`: the
    text does not say which. `length_always`: see `extend_layout`.
    """
    return _SCHEMAS[extend, ordered, length_always, offset_first]


def _schema(
    *, extend: bool, ordered: bool, length_always: bool, offset_first: bool
) -> Schema[Message]:
    between: list[Field] = []
    if extend:
        between.append(field("extend", extend_layout(length_always=length_always)))
    if ordered:
        place = [field("disk_queue_offset", Int64ub), field("disk_queue_data_size", Int32ub)]
        between = [*place, *between] if offset_first else [*between, *place]
    name = " ".join(["message", *["ext"] * extend, *["ordered"] * ordered])
    clause = _clause(extend=extend, ordered=ordered)
    return Schema(name, clause, Message, message_layout(*between))


def _clause(*, extend: bool, ordered: bool) -> str:
    if ordered:
        return "smart.order.ext-place" if extend else "smart.order.layout"
    return "ext.consume.layout" if extend else "ext.consume.plain-topic"


_BOTH = (False, True)
_SCHEMAS = {
    (extend, ordered, always, first): _schema(
        extend=extend, ordered=ordered, length_always=always, offset_first=first
    )
    for extend in _BOTH
    for ordered in _BOTH
    for always in _BOTH
    for first in _BOTH
}
