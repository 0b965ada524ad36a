"""The headers of replies and evictions: what they echo, and where they stand in the log."""

from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache.node import CLUSTER, Node
from wireproof_reference_impl.iggy.apache.refusals import Evicted
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.bodies.results import RESULT, Rejection, Result
from wireproof_spec.iggy.apache.frames import Eviction, encode_answer, make_reply
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader
from wireproof_spec.iggy.apache.operations import CREATE_TOPIC, CREATE_TOPIC_INTERNAL
from wireproof_spec.iggy.apache.statuses import OK


def echo(call: Call) -> ReplyHeader:
    """Return the header of a reply with what every reply repeats of its request.

    The measured server also repeats the release, of which the pages say that it is zero.
    """
    header = call.request.header
    return ReplyHeader(
        release=header.release,
        request_checksum=header.request_checksum,
        client=header.client,
        request=header.request,
        operation=header.operation,
        timestamp=header.timestamp,
    )


def write(header: ReplyHeader, body: bytes = b"") -> bytes:
    """Return the bytes of a reply."""
    return encode_answer(make_reply(header, body))


def of_read(node: Node, call: Call, body: bytes) -> bytes:
    """Return the reply to a read."""
    return write(replace(echo(call), op=call.session, commit=node.op), body)


def of_login(node: Node, call: Call, body: bytes) -> bytes:
    """Return the reply to a login or a logout."""
    header = replace(echo(call), op=node.op, commit=node.op, timestamp=call.now_us)
    return write(header, body)


def of_metadata(node: Node, call: Call, body: bytes) -> bytes:
    """Return the reply to a metadata operation.

    As in the measured server it has the server's time, and an internal operation for a new topic.
    """
    operation = call.request.header.operation
    header = replace(
        echo(call),
        cluster=CLUSTER,
        op=node.op,
        commit=node.op,
        timestamp=call.now_us,
        operation=CREATE_TOPIC_INTERNAL if operation == CREATE_TOPIC else operation,
    )
    return write(header, body)


def of_partition(node: Node, call: Call, body: bytes, status: int = OK) -> bytes:
    """Return the reply to a partition operation: the client is the number of the connection."""
    header = replace(
        echo(call),
        cluster=CLUSTER,
        client=call.connection,
        op=node.op,
        commit=node.op,
        timestamp=call.now_us,
        status=status,
    )
    return write(header, body)


def of_denied(node: Node, call: Call, status: int) -> bytes:
    """Return the reply that denies a request: a status, no body, the connection's number."""
    return write(replace(echo(call), client=call.connection, commit=node.op, status=status))


def of_denied_read(node: Node, call: Call, status: int) -> bytes:
    """Return the reply that denies a read; before a login it has the connection's number."""
    if not call.session:
        return of_denied(node, call, status)
    return write(replace(echo(call), op=call.session, commit=node.op, status=status))


def of_eviction(call: Call, evicted: Evicted) -> bytes:
    """Return the eviction that answers a request."""
    highest, lowest = evicted.window
    header = EvictionHeader(
        cluster=CLUSTER,
        client=call.request.header.client,
        server_protocol_version=highest,
        server_protocol_version_min=lowest,
        reason=evicted.reason,
    )
    return write_eviction(header)


def write_eviction(header: EvictionHeader) -> bytes:
    """Return the bytes of an eviction."""
    return encode_answer(Eviction(header))


def result(payload: bytes) -> bytes:
    """Return the body of a result-framed reply that says that it was done."""
    return encode(RESULT, Result((), payload))


def rejection(code: int) -> bytes:
    """Return the body of a result-framed reply that rejects its request."""
    return encode(RESULT, Result((Rejection(0, code),)))
