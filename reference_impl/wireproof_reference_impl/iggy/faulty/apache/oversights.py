"""Faults of what a server should do, and of what the deployed server does."""

from weakref import WeakKeyDictionary

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.iggy.apache import admission, messages, offsets, replies, requests
from wireproof_reference_impl.iggy.apache import login as logins
from wireproof_reference_impl.iggy.apache.connection import Connection
from wireproof_reference_impl.iggy.apache.http import messages as http_messages
from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Frame
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted, Unanswered, Unsound
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    Reply,
    boundary,
    condition,
    effect,
    extra,
    instead,
    missing,
    remade,
    replied,
    stored_frames,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.apache.frames import Frame as WireFrame
from wireproof_spec.iggy.apache.header import HEADER_SIZE, ReplyHeader
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.iggy.header_kinds import KIND_WIDTHS, STRING
from wireproof_spec.wire_error import WireError

_NO_CONFIRMATION = bytes(4)
_OFFSET_REPLY_SIZE = 20


@wrong_value("frame.echo-fields", replied)
def reply_client_of_reads_lost(header: ReplyHeader, body: bytes) -> Reply:
    """The client id in the reply to a read is 0."""
    is_read = header.operation == operations.NON_REPLICATED
    return replace(header, client=0) if is_read else header, body


@extra("frame.operation-unknown", instead(requests, "serve"))
def unknown_operation_served(original: Original, node: Node, call: Call) -> object:
    """A request with an operation above 162 is answered as if it were a ping."""
    if call.request.header.operation > operations.DELETE_CONSUMER_OFFSET and call.session:
        return replies.of_read(node, call, b"")
    return original(node, call)


@missing("frame.size-bad", instead(Connection, "refuse_size"))
def bad_size_awaited(original: Original, connection: Connection) -> None:
    """The connection stays open when a frame has a size that none may have."""


@missing("frame.command-foreign", instead(Connection, "drop"))
def foreign_command_served(original: Original, connection: Connection, frame: WireFrame) -> None:
    """A frame with a command of replicas is served as a request."""
    connection.tell(connection.answer(frame, 0))


@boundary("frame.split", instead(Connection, "receive"))
def split_header_ends_connection(
    original: Original, connection: Connection, data: bytes, now_us: int
) -> None:
    """Fewer than 256 bytes at a time end the connection of a client that has logged in."""
    if len(data) < HEADER_SIZE and connection.session():
        connection.closed = True
    original(connection, data, now_us)


_PENDING = WeakKeyDictionary[Connection, int]()


def _begin(original: Original, connection: Connection, data: bytes, now_us: int) -> None:
    _PENDING[connection] = 0
    original(connection, data, now_us)


def _answer_first(
    original: Original, connection: Connection, frame: WireFrame, now_us: int
) -> bytes:
    _PENDING[connection] = _PENDING.get(connection, 0) + 1
    answer: bytes = original(connection, frame, now_us)
    return answer if _PENDING[connection] == 1 else b""


@missing("frame.pipelined")
def pipelined_requests_lost() -> Change:
    """Of requests that come together only the first is answered."""
    return effect(
        around(Connection, "receive", _begin), around(Connection, "answer", _answer_first)
    )


def _is_odd(block: bytes) -> bool:
    """Return True for user headers that the page on encodings does not allow."""
    try:
        headers = decode(USER_HEADERS, block)
    except WireError:
        return True
    keys = {header.key for header in headers}
    widths = {KIND_WIDTHS.get(header.value.kind, len(header.value.value)) for header in headers}
    lengths = {len(header.value.value) for header in headers}
    kinds = {header.key.kind for header in headers}
    return len(keys) < len(headers) or not kinds <= {STRING} or widths != lengths


@condition(
    "headers.key-kinds headers.kind-zero headers.length headers.exact headers.widths "
    "headers.key-twice",
    stored_frames,
)
def odd_headers_lost(frame: Frame) -> Frame:
    """User headers that the page on encodings excludes are lost, and the message is stored."""
    return remade(frame, user_headers=b"") if _is_odd(frame.user_headers) else frame


@boundary("json.sent", instead(http_messages, "make_frame"))
def payload_over_http_cut(
    original: Original, *, payload: bytes, user_headers: bytes, **fields: int
) -> object:
    """The last byte of a payload that is sent over HTTP is lost."""
    return original(payload=payload[:-1], user_headers=user_headers, **fields)


@extra("login.trailing", instead(logins, "read_login"))
def login_with_more_denied(original: Original, envelope: object, body: bytes) -> object:
    """A login with bytes behind its body is denied."""
    found = original(envelope, body)
    try:
        original(envelope, body[:-1])
    except Evicted:
        return found
    raise Denied(statuses.INVALID_FORMAT)


@wrong_value("message.id-zero", stored_frames)
def zero_id_becomes_one(frame: Frame) -> Frame:
    """A message with the id 0 is stored with the id 1."""
    return frame if frame.id else remade(frame, number=1)


@missing("offset.ack-unknown", instead(offsets, "read_store"))
def unknown_ack_taken(original: Original, body: bytes) -> object:
    """An offset is stored with any byte ack."""
    return original(body[:-1] + b"\1")


def _of_all(original: Original, partition: Partition, kind: int, _: int, *more: int) -> object:
    return original(partition, kind, 0, *more)


@missing("offset.partitions")
def consumers_share_offset() -> Change:
    """All consumers of a partition share one stored offset."""
    return effect(
        around(Partition, "stored_offset", _of_all), around(Partition, "store_offset", _of_all)
    )


@missing("offset.beyond", instead(Partition, "store_offset"))
def offset_beyond_stored(
    original: Original, partition: Partition, kind: int, consumer: int, offset: int
) -> None:
    """An offset beyond the newest is stored as the newest."""
    original(partition, kind, consumer, min(offset, partition.newest))


@missing("offset.delete", instead(Partition, "delete_offset"))
def offset_not_deleted(original: Original, partition: Partition, kind: int, consumer: int) -> None:
    """A stored offset is still stored when it has been deleted."""


@wrong_value("offset.never", instead(offsets, "never_stored"))
def never_stored_as_zero(original: Original) -> bytes:
    """The reply for a consumer without a stored offset says that 0 is stored."""
    return bytes(_OFFSET_REPLY_SIZE)


@missing("poll.unknown", instead(messages, "poll"))
def unknown_target_polled(original: Original, node: Node, request: PollMessages) -> object:
    """A poll of a stream, topic or partition that does not exist finds no message."""
    try:
        return original(node, request)
    except Denied:
        return Polled(0, 0, [])


@missing("request.dedup", instead(requests, "change"))
def repeated_request_executed(original: Original, node: Node, call: Call) -> object:
    """A metadata operation that is sent again is executed again."""
    registered = node.registered[call.client]
    registered.request = min(registered.request, call.request.header.request - 1)
    return original(node, call)


@missing("request.stamp", instead(requests, "check_stamp"))
def stamp_unchecked(original: Original, call: Call) -> None:
    """A request is served although its request checksum is wrong."""


@missing("request.session-stale", instead(Connection, "session"))
def old_connection_served(original: Original, connection: Connection) -> object:
    """Requests are served on a connection whose client id has logged in on another one."""
    known = connection.node.registered.get(connection.client)
    return known.session if known is not None else original(connection)


@missing("send.told", instead(messages, "refuse"))
def producer_not_told(original: Original, unsound: Unsound) -> Exception:
    """A send of a batch that is not stored is not answered."""
    return Unanswered()


@missing("send.offset-delta", instead(admission, "check_deltas"))
def offset_deltas_unchecked(original: Original, frames: tuple[Frame, ...]) -> None:
    """Batches with wrong offset deltas are confirmed, and their messages are lost."""


@wrong_value("send.partitioning-wrong send.unknown", instead(messages, "send"))
def refused_send_as_ok(original: Original, node: Node, body: bytes, now_us: int) -> object:
    """A send that is not stored is answered as if it were, without a confirmation."""
    try:
        return original(node, body, now_us)
    except Denied:
        return _NO_CONFIRMATION


@extra("reply.no-payload", instead(offsets, "delete"))
def deleted_offset_with_payload(original: Original, node: Node, body: bytes) -> bytes:
    """A byte stands behind the result section of the reply to a deleted offset."""
    payload: bytes = original(node, body)
    return payload + b"!"


@boundary("send.empty-payload", stored_frames)
def empty_payload_filled(frame: Frame) -> Frame:
    """An empty payload is stored as a byte of 0."""
    return frame if frame.payload_length else remade(frame, payload=b"\0")


FAULTS = list_faults(__name__)
