"""Permitted alternatives of generation `apache`: what text or deployed server do instead.

Each also chooses the generation, so that its name alone starts such a server.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache import (
    admission,
    groups,
    login,
    messages,
    offsets,
    replies,
    requests,
)
from wireproof_reference_impl.iggy.apache.connection import Connection
from wireproof_reference_impl.iggy.apache.groups import OfConsumer
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame, Head
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted, Unanswered, Unsound
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.apache.topics import Group
from wireproof_reference_impl.iggy.generations import APACHE_SETTINGS
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.apache.envelope import Envelope, LoginBody
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.iggy.header_kinds import KIND_WIDTHS, STRING
from wireproof_spec.iggy.kinds import AUTO_COMMIT
from wireproof_spec.wire_error import WireError

_RESULT_SIZE = 4
_VIEW, _CONTEXT = 7, 1 << 100
_GROUP_READS = frozenset(
    {
        operations.GET_CONSUMER_GROUP,
        operations.GET_CONSUMER_GROUPS,
        operations.SYNC_CONSUMER_GROUP,
    }
)
_FIRST_SESSION = 1_000_000_000


def _alternative(name: str, text: str, *overrides: Override) -> Preset:
    return alternative(name, text, APACHE_SETTINGS, overrides=overrides)


def _stay_silent(original: Original, unsound: Unsound) -> Exception:
    return Unanswered()


def _accept(original: Original, frames: Sequence[Frame]) -> None:
    return None


def _without_result(original: Original, node: Node, session: int) -> bytes:
    body: bytes = original(node, session)
    return body[_RESULT_SIZE:]


def _echo_all(original: Original, header: ReplyHeader, body: bytes = b"") -> object:
    call = _CALL[-1]
    asked = call.request.header
    echoed = replace(
        header, client=asked.client, timestamp=asked.timestamp, operation=asked.operation
    )
    return original(echoed, body)


_CALL: list[Call] = []
"""The call that is being served."""


def _note_call(original: Original, node: Node, call: Call) -> object:
    _CALL[:] = [call]
    return original(node, call)


def _zero_release(original: Original, call: Call) -> object:
    return replace(original(call), release=0)


def _with_view(original: Original, call: Call) -> object:
    return replace(original(call), view=_VIEW, context=_CONTEXT)


def _evict_unknown(original: Original) -> Exception:
    return Evicted(evictions.INVALID_REQUEST_OPERATION)


def _check_headers(original: Original, frame: Frame) -> None:
    original(frame)
    try:
        headers = decode(USER_HEADERS, frame.user_headers)
    except WireError as error:
        raise Unsound(str(error)) from None
    if any(header.key.kind != STRING for header in headers):
        raise Unsound("a key of user headers is no string")


def _refuse_poll(original: Original, envelope: Envelope) -> bytes:
    raise Denied(statuses.INVALID_COMMAND)


def _end_at_damage(original: Original, partition: Partition, start: int, count: int) -> object:
    try:
        return original(partition, start, count)
    except Denied:
        return []


def _compare_session(original: Original, node: Node, call: Call) -> object:
    asked = call.request.header
    is_login = asked.operation == operations.REGISTER
    if not is_login and asked.session and call.session and asked.session != call.session:
        return replies.of_denied(node, call, statuses.UNAUTHENTICATED)
    return original(node, call)


def _undescribed(original: Original, node: Node, call: Call) -> object:
    if call.request.header.code in _GROUP_READS:
        raise Denied(statuses.FEATURE_UNAVAILABLE)
    return original(node, call)


def _deny_rejection(original: Original, code: int) -> bytes:
    if code >= statuses.CONSUMER_GROUP_ID_NOT_FOUND:
        raise Denied(code)
    rejection: bytes = original(code)
    return rejection


def _deny_stranger(original: Original, node: Node, request: OfConsumer, **how: bool) -> object:
    resolved = original(node, request, **how)
    if resolved is None:
        raise Denied(statuses.CONSUMER_GROUP_MEMBER_NOT_FOUND)
    return resolved


def _in_ranges(original: Original, group: Group, client: int, partitions: int) -> Sequence[int]:
    dealt: Sequence[int] = original(group, client, partitions)
    before = [original(group, each, partitions) for each in group.members]
    start = sum(map(len, before[: group.members.index(client)])) if dealt else 0
    return range(start, start + len(dealt))


def _rest_one_each(
    original: Original, partition: Partition, start: int, count: int
) -> list[Batch]:
    batches: list[Batch] = original(partition, start, count)
    if not batches or not batches[0].frames[0].delta:
        return batches
    rest = [replace(batches[0], frames=(frame,)) for frame in batches[0].frames]
    return [*rest, *batches[1:]]


def _high_positions(original: Original, node: Node) -> object:
    node.op = max(node.op, _FIRST_SESSION)
    return original(node)


def _zero_in_no_request(original: Original, header: RequestHeader) -> None:
    original(header)
    if any(header.reserved) or any(header.reserved_front) or any(header.padding):
        raise Unanswered


def _tell_size(original: Original, connection: Connection) -> None:
    header = EvictionHeader(client=connection.client, reason=evictions.INVALID_REQUEST_BODY)
    connection.tell(replies.write_eviction(header))
    original(connection)


def _end_at_foreign(original: Original, connection: Connection, frame: object) -> None:
    connection.closed = True


def _evict_bad_header(original: Original) -> Exception:
    return Evicted(evictions.INVALID_REQUEST_BODY)


def _any_login(original: Original, call: Call) -> None:
    return None


def _whole_login(original: Original, envelope: Envelope, body: bytes) -> object:
    login_body = original(envelope, body)
    schema = envelope.login if isinstance(login_body, LoginBody) else envelope.token_login
    try:
        decode(schema, body)
    except WireError:
        raise Evicted(evictions.MALFORMED_LOGIN) from None
    return login_body


def _check_widths(original: Original, frame: Frame) -> None:
    original(frame)
    try:
        headers = decode(USER_HEADERS, frame.user_headers)
    except WireError:
        return
    for header in headers:
        width = KIND_WIDTHS.get(header.value.kind, len(header.value.value))
        if width != len(header.value.value):
            raise Unsound("a header value has not the width of its kind")
    if len({each.key for each in headers}) < len(headers):
        raise Unsound("a key of user headers comes twice")


def _check_payload(original: Original, frame: Frame) -> None:
    original(frame)
    if not frame.payload_length:
        raise Unsound("a payload is empty")


def _check_server_fields(original: Original, head: Head) -> None:
    original(head)
    if head.partition_id or head.base_offset or head.base_timestamp:
        raise Unsound("a field of the server is not zero")


def _never_stored(original: Original) -> bytes:
    raise Denied(statuses.CONSUMER_OFFSET_NOT_FOUND)


def _one_each(original: Original, partition: Partition, start: int, count: int) -> list[Batch]:
    batches: list[Batch] = original(partition, start, count)
    return [replace(batch, frames=(frame,)) for batch in batches for frame in batch.frames]


def _always_commit(original: Original, node: Node, request: PollMessages) -> object:
    return original(node, replace(request, auto_commit=AUTO_COMMIT))


def _poll_one(original: Original, node: Node, request: PollMessages) -> object:
    return original(node, replace(request, count=min(request.count, 1)))


ALTERNATIVES: tuple[Preset, ...] = (
    _alternative(
        "silent-refusals",
        "The producer of a batch that is not stored gets no answer",
        around(messages, "refuse", _stay_silent),
    ),
    _alternative(
        "unchecked-offset-deltas",
        "Offset deltas of a batch are stored as they are",
        around(admission, "check_deltas", _accept),
    ),
    _alternative(
        "login-reply-bare",
        "The body of the reply to a login begins with the user id",
        around(login, "logged_in", _without_result),
    ),
    _alternative(
        "replies-echo-all",
        "Each reply has the client id, the timestamp and the operation of its request",
        around(requests, "serve", _note_call),
        around(replies, "write", _echo_all),
    ),
    _alternative(
        "replies-of-release-zero",
        "The release of a reply is 0, whatever that of its request is",
        around(replies, "echo", _zero_release),
    ),
    _alternative(
        "replies-of-another-view",
        "Replies have a view and a context that are not 0",
        around(replies, "echo", _with_view),
    ),
    _alternative(
        "unknown-operations-evicted",
        "A request with an unknown operation is answered with eviction 4",
        around(requests, "unknown_operation", _evict_unknown),
    ),
    _alternative(
        "user-headers-checked",
        "Batches with user headers that the page on encodings excludes are refused",
        around(admission, "check_frame_reserved", _check_headers),
    ),
    _alternative(
        "unreadable-polls-refused",
        "A poll that cannot be read is refused with status 3",
        around(messages, "unreadable_poll", _refuse_poll),
    ),
    _alternative(
        "damage-ends-polls",
        "A poll that meets a damaged batch finds nothing",
        around(Partition, "select", _end_at_damage),
    ),
    _alternative(
        "sessions-compared",
        "A request with another session than its connection has is refused with status 40",
        around(requests, "serve", _compare_session),
    ),
    _alternative(
        "sessions-from-a-billion",
        "Sessions and log positions are numbers beyond a billion",
        around(Node, "commit", _high_positions),
    ),
    _alternative(
        "rest-in-single-records",
        "A poll that begins within a batch returns each message of its rest in a batch of its own",
        around(Partition, "select", _rest_one_each),
    ),
    _alternative(
        "reserved-bytes-of-requests-checked",
        "A request with a reserved byte that is not zero gets no answer",
        around(requests, "check_header", _zero_in_no_request),
    ),
    _alternative(
        "bad-sizes-evicted",
        "A frame of a wrong size is answered with an eviction before its connection ends",
        around(Connection, "refuse_size", _tell_size),
    ),
    _alternative(
        "foreign-commands-end-connections",
        "A frame whose command is for replicas only ends the connection",
        around(Connection, "drop", _end_at_foreign),
    ),
    _alternative(
        "bad-headers-evicted",
        "A request without client id, session or request number is answered with eviction 5",
        around(requests, "bad_header", _evict_bad_header),
    ),
    _alternative(
        "second-login-answered",
        "A second login on a connection is answered, and has a session of its own",
        around(requests, "check_first_login", _any_login),
    ),
    _alternative(
        "login-with-more-refused",
        "A login with bytes behind its body is answered with eviction 15",
        around(login, "read_login", _whole_login),
    ),
    _alternative(
        "user-header-widths-checked",
        "A batch with a header value of another width than its kind, or a key twice, is refused",
        around(admission, "check_frame_reserved", _check_widths),
    ),
    _alternative(
        "empty-payloads-refused",
        "A batch with an empty payload is refused",
        around(admission, "check_frame_reserved", _check_payload),
    ),
    _alternative(
        "server-fields-refused",
        "A batch in which the producer has set a field of the server is refused",
        around(admission, "check_reserved", _check_server_fields),
    ),
    _alternative(
        "never-stored-denied",
        "A request for an offset that was never stored is refused with status 3021",
        around(offsets, "never_stored", _never_stored),
    ),
    _alternative(
        "single-records",
        "A poll returns each message in a record of its own",
        around(Partition, "select", _one_each),
    ),
    _alternative(
        "polls-always-commit",
        "A poll stores the offset of its last message, whether it asks for it or not",
        around(messages, "poll", _always_commit),
    ),
    _alternative(
        "short-polls",
        "A poll returns one message, however many it asks for",
        around(messages, "poll", _poll_one),
    ),
    _alternative(
        "groups-undescribed",
        "Requests that ask about consumer groups are refused with status 5",
        around(requests, "read", _undescribed),
    ),
    _alternative(
        "group-rejections-denied",
        "A request about a consumer group that cannot be done is refused with a status",
        around(replies, "rejection", _deny_rejection),
    ),
    _alternative(
        "group-strangers-denied",
        "A request in the name of a group is refused with status 5006 from a client that is no"
        " member, or of another partition",
        around(groups, "resolve", _deny_stranger),
    ),
    _alternative(
        "group-partitions-in-ranges",
        "The members of a consumer group have neighbouring partitions",
        around(Group, "share", _in_ranges),
    ),
)
