"""The bodies of the six publish commands, each with its size before it.

Sizes are signed on the wire; a negative one is rejected. An empty message body has a legal shape:
whether the message is legal is the broker's policy.
"""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Int16ub, Int32sb, Int64ub, Record, Rest, field
from wireproof_spec.grammar.lengths import Count, Declared, Many, Sized


class PubBody(Struct, frozen=True, gc=False):
    """The body of PUB: a message."""

    body: bytes


class PubTraceBody(Struct, frozen=True, gc=False):
    """The body of PUB_TRACE: a trace id and a message."""

    trace_id: int
    body: bytes


class PubExtBody(Struct, frozen=True, gc=False):
    """The body of PUB_EXT: a JSON header, as sent, and a message."""

    json_header: bytes
    body: bytes


class MpubBody(Struct, frozen=True, gc=False):
    """The body of MPUB: a batch of messages."""

    messages: tuple[PubBody, ...]


class MpubTraceBody(Struct, frozen=True, gc=False):
    """The body of MPUB_TRACE: a batch of messages with trace ids."""

    messages: tuple[PubTraceBody, ...]


class MpubExtBody(Struct, frozen=True, gc=False):
    """The body of MPUB_EXT: a batch of messages with JSON headers."""

    messages: tuple[PubExtBody, ...]


_PUB = Sized(Int32sb, Record(PubBody, field("body", Rest)))

_PUB_TRACE = Sized(Int32sb, Record(PubTraceBody, field("trace_id", Int64ub), field("body", Rest)))

_PUB_EXT = Sized(
    Int32sb,
    Record(
        PubExtBody,
        field("header_length", Declared(Int16ub, of="json_header")),
        field("json_header", Bytes(this.header_length)),
        field("body", Rest),
    ),
)


def _batch(value_type: type, message: Sized) -> Sized:
    count = Count(Int32sb, of="messages")
    messages = Many(message, count=this.count)
    return Sized(Int32sb, Record(value_type, field("count", count), field("messages", messages)))


PUB_BODY = Schema("PUB body", "smart.partition.publish", PubBody, _PUB)
"""`size`, `body`."""
PUB_TRACE_BODY = Schema("PUB_TRACE body", "smart.trace.layout", PubTraceBody, _PUB_TRACE)
"""`size`, 8-byte `trace_id`, `body`."""
PUB_EXT_BODY = Schema("PUB_EXT body", "ext.publish.accept", PubExtBody, _PUB_EXT)
"""`size`, 2-byte `header_length`, `json_header`, `body`."""

MPUB_BODY = Schema("MPUB body", "smart.connection.batch", MpubBody, _batch(MpubBody, _PUB))
"""`size`, 4-byte `count`, so many times `size`, `body`."""
MPUB_TRACE_BODY = Schema(
    "MPUB_TRACE body", "smart.trace.batch", MpubTraceBody, _batch(MpubTraceBody, _PUB_TRACE)
)
"""`size`, 4-byte `count`, so many times what PUB_TRACE sends."""
MPUB_EXT_BODY = Schema(
    "MPUB_EXT body", "ext.publish.mpub-ext", MpubExtBody, _batch(MpubExtBody, _PUB_EXT)
)
"""`size`, 4-byte `count`, so many times what PUB_EXT sends."""
