"""Permitted alternatives of generation `apache`: what text or deployed server do instead.

Each also chooses the generation, so that its name alone starts such a server.
"""

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache import admission, login, messages, replies, requests
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted, Unanswered, Unsound
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.generations import APACHE_SETTINGS
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.header import ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.wire_error import WireError

_RESULT_SIZE = 4
_VIEW, _CONTEXT = 7, 1 << 100
_FIRST_SESSION = 1_000_000_000


def _alternative(name: str, text: str, *overrides: Override) -> Preset:
    return alternative(name, text, APACHE_SETTINGS, overrides=overrides)


def _stay_silent(original: Original, unsound: Unsound) -> Exception:
    return Unanswered()


def _accept(original: Original, frames: Sequence[Frame]) -> None:
    return None


def _without_result(original: Original, node: Node, session: int) -> bytes:
    return cast(bytes, original(node, session))[_RESULT_SIZE:]


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
    return replace(cast(ReplyHeader, original(call)), release=0)


def _with_view(original: Original, call: Call) -> object:
    return replace(cast(ReplyHeader, original(call)), view=_VIEW, context=_CONTEXT)


def _evict_unknown(original: Original) -> Exception:
    return Evicted(evictions.INVALID_REQUEST_OPERATION)


def _check_headers(original: Original, frame: Frame) -> None:
    original(frame)
    try:
        headers = decode(USER_HEADERS, frame.user_headers)
    except WireError as error:
        raise Unsound(str(error)) from None
    if any(each.key.kind != STRING for each in headers):
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


def _one_each(original: Original, partition: Partition, start: int, count: int) -> list[Batch]:
    found = cast(list[Batch], original(partition, start, count))
    return [replace(batch, frames=(frame,)) for batch in found for frame in batch.frames]


def _high_positions(original: Original, node: Node) -> object:
    node.op = max(node.op, _FIRST_SESSION)
    return original(node)


def _zero_in_no_request(original: Original, header: RequestHeader) -> None:
    original(header)
    if any(header.reserved) or any(header.reserved_front) or any(header.padding):
        raise Unanswered


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
        "one-record-per-message",
        "Polls return each message in a batch of its own",
        around(Partition, "select", _one_each),
    ),
    _alternative(
        "reserved-bytes-of-requests-checked",
        "A request with a reserved byte that is not zero gets no answer",
        around(requests, "check_header", _zero_in_no_request),
    ),
)
