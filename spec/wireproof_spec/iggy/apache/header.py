"""The three headers of 256 bytes: of requests, of replies, and of evictions.

Every byte of a header is in its value, reserved bytes too: a server does not look at those of a
request, and must send zeros itself.
"""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Int8ub, Int32ul, Int64ul, Int128ul, Record, field

HEADER_SIZE = 256
SIZE_AT = 48
COMMAND_AT = 60
REPLY_RESERVED_AT = 220
"""Where the last reserved bytes of a reply's header begin."""

REQUEST_COMMAND = 5
REPLY_COMMAND = 8
EVICTION_COMMAND = 13
HIGHEST_COMMAND = 29
"""The commands between are for replicas only."""


class _Front(Struct, frozen=True, gc=False):
    """The 128 bytes with which every header begins."""

    checksum: int = 0
    checksum_body: int = 0
    cluster: int = 0
    size: int = HEADER_SIZE
    view: int = 0
    release: int = 0
    command: int = 0
    replica: int = 0
    reserved_front: bytes = bytes(66)


class RequestHeader(_Front, frozen=True, gc=False):
    """The header of a request; `size` counts it and the body. `code` belongs to operation 2."""

    command: int = REQUEST_COMMAND
    client: int = 0
    request_checksum: int = 0
    timestamp: int = 0
    request: int = 0
    operation: int = 0
    padding: bytes = bytes(7)
    session: int = 0
    user_id: int = 0
    code: int = 0
    reserved: bytes = bytes(56)


class ReplyHeader(_Front, frozen=True, gc=False):
    """The header of a reply; with a `status` other than 0 the body is empty."""

    command: int = REPLY_COMMAND
    request_checksum: int = 0
    context: int = 0
    client: int = 0
    op: int = 0
    commit: int = 0
    timestamp: int = 0
    request: int = 0
    operation: int = 0
    padding: bytes = bytes(7)
    status: int = 0
    reserved: bytes = bytes(36)


class EvictionHeader(_Front, frozen=True, gc=False):
    """An eviction, which has no body; the versions are 0 unless the reason is 14."""

    command: int = EVICTION_COMMAND
    client: int = 0
    server_protocol_version: int = 0
    server_protocol_version_min: int = 0
    reserved: bytes = bytes(103)
    reason: int = 0


_FRONT = (
    field("checksum", Int128ul),
    field("checksum_body", Int128ul),
    field("cluster", Int128ul),
    field("size", Int32ul),
    field("view", Int32ul),
    field("release", Int32ul),
    field("command", Int8ub),
    field("replica", Int8ub),
    field("reserved_front", Bytes(66)),
)

REQUEST_HEADER = Schema(
    "apache request header",
    "iggy.apache.frame.header",
    RequestHeader,
    Record(
        RequestHeader,
        *_FRONT,
        field("client", Int128ul),
        field("request_checksum", Int128ul),
        field("timestamp", Int64ul),
        field("request", Int64ul),
        field("operation", Int8ub),
        field("padding", Bytes(7)),
        field("session", Int64ul),
        field("user_id", Int32ul),
        field("code", Int32ul),
        field("reserved", Bytes(56)),
    ),
)
"""128 common bytes (`size` at 48, `command` at 60); `client` at 128, `operation` at 176, `session`
at 184, `code` at 196."""

REPLY_HEADER = Schema(
    "apache reply header",
    "iggy.apache.frame.header",
    ReplyHeader,
    Record(
        ReplyHeader,
        *_FRONT,
        field("request_checksum", Int128ul),
        field("context", Int128ul),
        field("client", Int128ul),
        field("op", Int64ul),
        field("commit", Int64ul),
        field("timestamp", Int64ul),
        field("request", Int64ul),
        field("operation", Int8ub),
        field("padding", Bytes(7)),
        field("status", Int32ul),
        field("reserved", Bytes(36)),
    ),
)
"""128 common bytes; `client` at 160, `request` at 200, `operation` at 208, `status` at 216."""

EVICTION_HEADER = Schema(
    "apache eviction header",
    "iggy.apache.evict.shape",
    EvictionHeader,
    Record(
        EvictionHeader,
        *_FRONT,
        field("client", Int128ul),
        field("server_protocol_version", Int32ul),
        field("server_protocol_version_min", Int32ul),
        field("reserved", Bytes(103)),
        field("reason", Int8ub),
    ),
)
"""128 common bytes; `client` at 128, the accepted window at 144 and 148, `reason` at 255."""
