"""Faults of headers, replies, result sections and evictions."""

from weakref import WeakSet

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.apache import replies, requests
from wireproof_reference_impl.iggy.apache.connection import Connection
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    Reply,
    boundary,
    condition,
    effect,
    evicting,
    extra,
    instead,
    missing,
    patched,
    replied,
    reply_bytes,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.header import (
    HEADER_SIZE,
    SIZE_AT,
    EvictionHeader,
    ReplyHeader,
)
from wireproof_spec.iggy.apache.statuses import (
    INVALID_COMMAND,
    INVALID_FORMAT,
    OK,
    TRANSIENT_NOT_COMMITTED,
)

_STATUS_AT, _OPERATION_AT = 216, 208
_GETTING = (operations.GET_STREAM, operations.GET_TOPIC)
_REPLY_TO_PEERS = 9
_COUNT_SIZE = 4


def _denies(data: bytes) -> bool:
    """Return True if a reply denies a read."""
    is_read = data[_OPERATION_AT] == operations.NON_REPLICATED
    return is_read and data[_STATUS_AT : _STATUS_AT + 4] != bytes(4)


@missing("frame.header frame.size", reply_bytes)
def denial_header_cut(data: bytes) -> bytes:
    """The header of a reply that denies a read lacks its last byte."""
    return data[: HEADER_SIZE - 1] if _denies(data) else data


@wrong_value("frame.size", reply_bytes)
def denial_size_of_body(data: bytes) -> bytes:
    """The size of a reply that denies a read counts the body alone, and is 0."""
    return patched(data, SIZE_AT, bytes(4)) if _denies(data) else data


@condition("frame.size", reply_bytes)
def denial_size_off_by_one(data: bytes) -> bytes:
    """The size of a reply that denies a read is one too high."""
    size = len(data) + _denies(data)
    return patched(data, SIZE_AT, size.to_bytes(4, "little"))


@wrong_value("frame.command", replied)
def denial_command_of_peers(header: ReplyHeader, body: bytes) -> Reply:
    """The command byte of a reply that denies a request is 9."""
    return replace(header, command=_REPLY_TO_PEERS) if header.status else header, body


@wrong_value("frame.command", evicting)
def eviction_command_of_reply(header: EvictionHeader) -> EvictionHeader:
    """The command byte of an eviction is that of a reply, 8."""
    return replace(header, command=8)


@wrong_value("frame.echo", replied)
def request_number_off_by_one(header: ReplyHeader, body: bytes) -> Reply:
    """The request number in the reply to a created stream is one too high."""
    is_created = header.operation == operations.CREATE_STREAM
    return replace(header, request=header.request + is_created), body


@missing("frame.echo", replied)
def request_checksum_not_echoed(header: ReplyHeader, body: bytes) -> Reply:
    """A reply does not have the checksum of its request."""
    return replace(header, request_checksum=0), body


@boundary("frame.echo", replied)
def request_number_of_32_bits(header: ReplyHeader, body: bytes) -> Reply:
    """Only the lower 32 bits of a request number stand in its reply."""
    return replace(header, request=header.request % (1 << 32)), body


@extra("frame.zero", replied)
def reply_reserved_set(header: ReplyHeader, body: bytes) -> Reply:
    """The last reserved byte of a reply is 1."""
    return replace(header, reserved=header.reserved[:-1] + b"\1"), body


def _served(original: Original, node: Node, call: Call, wanted: range) -> object:
    if call.session and call.request.header.operation in wanted:
        return replies.of_read(node, call, b"")
    return original(node, call)


@missing("frame.operation-zero", instead(requests, "serve"))
def operation_zero_served(original: Original, node: Node, call: Call) -> object:
    """A request with operation 0 is answered as if it were a ping."""
    return _served(original, node, call, range(1))


@missing("frame.operation-internal", instead(requests, "serve"))
def internal_operations_served(original: Original, node: Node, call: Call) -> object:
    """A request with an internal operation is answered as if it were a ping."""
    return _served(original, node, call, operations.INTERNAL)


@boundary("frame.operation-internal", instead(requests, "serve"))
def operation_127_served(original: Original, node: Node, call: Call) -> object:
    """A request with operation 127 is answered as if it were a ping."""
    return _served(original, node, call, range(127, 128))


_OPEN = WeakSet[Connection]()


def _note_open(original: Original, connection: Connection, node: Node, *, now_us: int) -> None:
    original(connection, node, now_us=now_us)
    _OPEN.add(connection)


def _close_all(original: Original, connection: Connection, data: bytes, now_us: int) -> None:
    was_open = not connection.closed
    original(connection, data, now_us)
    if was_open and connection.closed:
        for each in list(_OPEN):
            each.closed = True


@extra("frame.unharmed")
def bad_size_ends_all_connections() -> Change:
    """A frame of a wrong size ends all connections."""
    return effect(
        around(Connection, "__init__", _note_open), around(Connection, "receive", _close_all)
    )


_ENDED = WeakSet[Node]()


@extra("frame.unharmed", instead(requests, "serve"))
def unreadable_body_ends_service(original: Original, node: Node, call: Call) -> object:
    """After a request to delete a stream that has no body, each login and change is rejected."""
    header = call.request.header
    if header.operation == operations.DELETE_STREAM and not call.request.body and call.session:
        _ENDED.add(node)
    if node not in _ENDED or header.operation == operations.NON_REPLICATED:
        return original(node, call)
    return replies.of_metadata(node, call, replies.rejection(TRANSIENT_NOT_COMMITTED))


@extra("evict.shape", instead(replies, "write_eviction"))
def eviction_with_body(original: Original, header: EvictionHeader) -> bytes:
    """An eviction has a body of one byte."""
    data: bytes = original(replace(header, size=HEADER_SIZE + 1))
    return data + b"!"


@wrong_value("evict.reason login.credentials login.malformed login.legacy", evicting)
def eviction_without_reason(header: EvictionHeader) -> EvictionHeader:
    """The reason of an eviction is 0."""
    return replace(header, reason=0)


@extra("evict.reason", evicting)
def eviction_reserved_set(header: EvictionHeader) -> EvictionHeader:
    """A reserved byte of an eviction is 1."""
    return replace(header, reserved=b"\1" + header.reserved[1:])


@missing("evict.client", evicting)
def eviction_without_client(header: EvictionHeader) -> EvictionHeader:
    """The client id of an eviction is 0."""
    return replace(header, client=0)


@extra("reply.denied-empty", replied)
def denial_with_body(header: ReplyHeader, body: bytes) -> Reply:
    """A reply whose status is not 0 has a body."""
    return header, b"denied" if header.status else body


@condition("reply.denied-empty", replied)
def denied_read_with_body(header: ReplyHeader, body: bytes) -> Reply:
    """A reply to a read whose status is not 0 has a body."""
    is_read = header.operation == operations.NON_REPLICATED
    return header, b"denied" if header.status and is_read else body


@missing("reply.result", instead(replies, "result"))
def result_section_missing(original: Original, payload: bytes) -> bytes:
    """The reply to an operation without payload has no result section."""
    return original(payload) if payload else b""


@condition("reply.result", instead(requests, "write"))
def offset_result_missing(original: Original, node: Node, call: Call) -> object:
    """The reply to an operation that stores or deletes an offset has no result section."""
    is_send = call.request.header.operation == operations.SEND_MESSAGES
    answer: bytes = original(node, call)
    return answer if is_send else patched(answer[:HEADER_SIZE], SIZE_AT, b"\0\1\0\0")


@wrong_value("reply.result-rejected", instead(replies, "rejection"))
def rejection_with_index_one(original: Original, code: int) -> bytes:
    """The entry of a rejection has index 1."""
    return patched(original(code), _COUNT_SIZE, b"\1")


@extra("reply.result-rejected", instead(replies, "rejection"))
def rejection_with_payload(original: Original, code: int) -> bytes:
    """Bytes stand behind the entry of a rejection."""
    data: bytes = original(code)
    return data + b"rejected"


@missing("reply.result-rejected", instead(replies, "rejection"))
def rejection_as_done(original: Original, code: int) -> bytes:
    """A rejected operation is answered as if it were done."""
    return bytes(_COUNT_SIZE)


@extra("reply.reads-bare", instead(requests, "read"))
def read_with_result_section(original: Original, node: Node, call: Call) -> bytes:
    """The reply to a request for one stream or topic has a result section."""
    body: bytes = original(node, call)
    code = call.request.header.code
    return bytes(_COUNT_SIZE) + body if code in _GETTING else body


@boundary("request.gaps", instead(requests, "change"))
def gap_in_numbers_denied(original: Original, node: Node, call: Call) -> object:
    """A metadata operation is denied if its number is not the next one."""
    last = node.registered[call.client].request
    if last and call.request.header.request > last + 1:
        return replies.of_denied(node, call, INVALID_FORMAT)
    return original(node, call)


_SENT: dict[int, int] = {}
"""The request number of the last partition operation, by client id."""


@extra("request.untracked", instead(requests, "write"))
def partition_operations_tracked(original: Original, node: Node, call: Call) -> object:
    """A partition operation with the number of the one before is denied."""
    header = call.request.header
    if _SENT.get(call.client) == header.request:
        return replies.of_denied(node, call, INVALID_FORMAT)
    _SENT[call.client] = header.request
    return original(node, call)


@wrong_value("request.unstamped", instead(requests, "check_stamp"))
def right_stamp_denied(original: Original, call: Call) -> None:
    """A request with a right request checksum is denied."""
    stamp = call.request.header.request_checksum
    if stamp and stamp == xxh3_64(call.request.body):
        raise Denied(INVALID_FORMAT)
    original(call)


@condition("reply.codes", replied)
def unknown_code_as_ok(header: ReplyHeader, body: bytes) -> Reply:
    """A read of an unknown code is answered with status 0 and a body."""
    if header.status == INVALID_COMMAND and header.operation == operations.NON_REPLICATED:
        return replace(header, status=OK), b"\0"
    return header, body


FAULTS = list_faults(__name__)
