"""One request: what its header must be, which command it is, and how that is answered."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.apache import (
    groups,
    login,
    messages,
    metadata,
    offsets,
    replies,
)
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted, Rejected, Unanswered
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.bodies.cluster import CLUSTER, Cluster, ClusterNode
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_spec.iggy.apache.header import RequestHeader

Read = Callable[[Node, bytes], bytes]
"""Returns the body of the reply to a read."""
Change = Callable[[Node, bytes, int], bytes]
"""Does a metadata operation; returns the payload behind the result section."""

NAME, NODE_NAME = "single-node", "iggy-node"
"""The names that the measured server gives without a configuration of a cluster."""


def get_cluster(node: Node, body: bytes) -> bytes:
    """Return the body that describes the cluster.

    Clients may connect again to the addresses in it, so that these are the real ones.
    """
    tcp, http = node.addresses
    return encode(CLUSTER, Cluster(NAME, (ClusterNode(NODE_NAME, tcp[0], tcp[1], http[1]),)))


READS: Mapping[int, Read] = {
    operations.GET_CLUSTER_METADATA: get_cluster,
    operations.GET_STREAM: metadata.get_stream,
    operations.GET_STREAMS: metadata.get_streams,
    operations.GET_TOPIC: metadata.get_topic,
    operations.POLL_MESSAGES: messages.answer_poll,
    operations.GET_CONSUMER_OFFSET: offsets.get,
    operations.GET_CONSUMER_GROUP: groups.get,
    operations.GET_CONSUMER_GROUPS: groups.get_all,
    operations.SYNC_CONSUMER_GROUP: groups.sync,
}
CHANGES: Mapping[int, Change] = {
    operations.CREATE_STREAM: metadata.create_stream,
    operations.DELETE_STREAM: metadata.delete_stream,
    operations.CREATE_TOPIC: metadata.create_topic,
    operations.DELETE_TOPIC: metadata.delete_topic,
    operations.CREATE_CONSUMER_GROUP: groups.create,
    operations.DELETE_CONSUMER_GROUP: groups.delete,
    operations.JOIN_CONSUMER_GROUP: groups.join,
    operations.LEAVE_CONSUMER_GROUP: groups.leave,
}
_ASSIGNED_INTERNAL = range(64, 69)


def serve(node: Node, call: Call) -> bytes:
    """Execute a request, and return the bytes that answer it; none leave it without an answer."""
    header = call.request.header
    denied = (
        replies.of_denied_read
        if header.operation == operations.NON_REPLICATED
        else replies.of_denied
    )
    node.asking = call.client
    try:
        check_header(header)
        return _answer(node, call)
    except Denied as refusal:
        if refusal.committed:
            return replies.of_partition(node, call, b"", refusal.status)
        return denied(node, call, refusal.status)
    except Evicted as evicted:
        return replies.of_eviction(call, evicted)
    except Unanswered:
        return b""


def check_header(header: RequestHeader) -> None:
    """Refuse a header that no request of its operation may have.

    Raises:
        Evicted: an internal operation that servers use.
        Unanswered: anything else that is wrong.
    """
    if header.operation in _ASSIGNED_INTERNAL:
        raise Evicted(evictions.INVALID_REQUEST_OPERATION)
    if not is_known(header.operation):
        raise unknown_operation()
    if header.client == 0:
        raise bad_header()
    numbers = header.session, header.request
    if header.operation == operations.REGISTER:
        if numbers != (0, 0):
            raise bad_header()
    elif header.operation != operations.NON_REPLICATED and 0 in numbers:
        raise bad_header()


def bad_header() -> Exception:
    """Return what a request without client id, session or number is answered with: nothing."""
    return Unanswered()


def is_known(operation: int) -> bool:
    """Return True if a client may send this operation."""
    return (
        operation in (operations.REGISTER, operations.NON_REPLICATED, operations.LOGOUT)
        or operation in operations.METADATA
        or operation in operations.PARTITION
    )


def unknown_operation() -> Exception:
    """Return what a request with an unknown operation is answered with: nothing."""
    return Unanswered()


def _answer(node: Node, call: Call) -> bytes:
    operation = call.request.header.operation
    if operation == operations.NON_REPLICATED:
        return replies.of_read(node, call, read(node, call))
    if operation == operations.REGISTER:
        check_first_login(call)
        check_stamp(call)
        return login.register(node, call)
    if not call.session:
        raise Evicted
    check_stamp(call)
    if operation == operations.LOGOUT:
        return login.logout(node, call)
    if operation in operations.METADATA:
        return change(node, call)
    return write(node, call)


def read(node: Node, call: Call) -> bytes:
    """Return the body of the reply to a read or a ping.

    Raises:
        Denied: the code is unknown or no read, the read fails, or nobody has logged in.
        Evicted: the code is that of a login of earlier servers.
    """
    code = call.request.header.code
    if code in operations.LEGACY_LOGINS:
        raise Evicted(evictions.MALFORMED_LOGIN)
    if code == operations.PING:
        return b""
    if not call.session:
        raise Denied(statuses.UNAUTHENTICATED)
    handler = READS.get(code)
    if handler is not None:
        return handler(node, call.request.body)
    known = code in operations.KNOWN_CODES
    raise Denied(statuses.FEATURE_UNAVAILABLE if known else statuses.INVALID_COMMAND)


def check_first_login(call: Call) -> None:
    """Leave a login unanswered whose connection has one."""
    if call.session:
        raise Unanswered


def check_stamp(call: Call) -> None:
    """Refuse a request whose checksum is neither 0 nor that of its body."""
    stamp = call.request.header.request_checksum
    if stamp and stamp != xxh3_64(call.request.body):
        raise Denied(statuses.INVALID_FORMAT)


def change(node: Node, call: Call) -> bytes:
    """Execute a metadata operation; the same request sent again gets the same reply.

    Raises:
        Denied: the operation is not offered, or its body cannot be read.
        Unanswered: its number belongs to an earlier request.
    """
    header, body = call.request.header, call.request.body
    registered = node.registered[call.client]
    if header.request <= registered.request:
        if (header.request, body) == (registered.request, registered.body):
            return registered.answer
        raise Unanswered
    handler = CHANGES.get(header.operation)
    if handler is None:
        raise Denied(statuses.FEATURE_UNAVAILABLE)
    try:
        framed = replies.result(handler(node, body, call.now_us))
    except Rejected as rejected:
        framed = replies.rejection(rejected.result)
    node.commit()
    answer = replies.of_metadata(node, call, framed)
    registered.request, registered.body, registered.answer = header.request, body, answer
    return answer


def write(node: Node, call: Call) -> bytes:
    """Execute a partition operation and return its reply."""
    operation, body = call.request.header.operation, call.request.body
    if operation == operations.SEND_MESSAGES:
        return replies.of_partition(node, call, messages.send(node, body, call.now_us))
    is_store = operation == operations.STORE_CONSUMER_OFFSET
    payload = offsets.store(node, body) if is_store else offsets.delete(node, body)
    return replies.of_partition(node, call, replies.result(payload))
