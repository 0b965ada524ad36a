"""The response to a publish command with a trace id."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int32ub, Int64ub, Literal, Record, field
from wireproof_spec.nsq import names


class TraceResponse(Struct, frozen=True, gc=False):
    """The answer to a traced publish: the message's ids, and its record's offset and size."""

    internal_id: int
    trace_id: int
    disk_queue_offset: int
    disk_queue_data_size: int


TRACE_RESPONSE = Schema(
    "trace response",
    "ext.publish.trace-response",
    TraceResponse,
    Record(
        TraceResponse,
        field("ok", Literal(names.OK)),
        field("internal_id", Int64ub),
        field("trace_id", Int64ub),
        field("disk_queue_offset", Int64ub),
        field("disk_queue_data_size", Int32ub),
    ),
)
"""30 bytes: `OK`, `internal_id`, `trace_id`, `disk_queue_offset`, 4-byte `disk_queue_data_size`.

The texts give no byte order; network order is assumed, as real brokers send it.
"""
