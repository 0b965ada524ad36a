"""The shapes of the bodies of requests, by operation and by command code."""

from typing import Any

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Record
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies import groups, messages, places, resources
from wireproof_spec.iggy.apache.envelope import Envelope


class Nothing(Struct, frozen=True, gc=False):
    """The empty body of a request without parameters."""


NOTHING = Schema("apache no body", "iggy.apache.frame.header", Nothing, Record(Nothing))
"""No byte."""

OF_OPERATIONS: dict[int, Schema[Any]] = {
    operations.LOGOUT: NOTHING,
    operations.CREATE_STREAM: resources.CREATE_STREAM,
    operations.DELETE_STREAM: places.STREAM_REQUEST,
    operations.CREATE_TOPIC: resources.CREATE_TOPIC,
    operations.DELETE_TOPIC: places.TOPIC_REQUEST,
    operations.CREATE_CONSUMER_GROUP: groups.CREATE_GROUP,
    operations.DELETE_CONSUMER_GROUP: groups.GROUP_REQUEST,
    operations.JOIN_CONSUMER_GROUP: groups.GROUP_REQUEST,
    operations.LEAVE_CONSUMER_GROUP: groups.GROUP_REQUEST,
    operations.SEND_MESSAGES: messages.SEND_MESSAGES,
    operations.STORE_CONSUMER_OFFSET: messages.STORE_CONSUMER_OFFSET,
    operations.DELETE_CONSUMER_OFFSET: messages.DELETE_CONSUMER_OFFSET,
}
OF_CODES: dict[int, Schema[Any]] = {
    operations.PING: NOTHING,
    operations.GET_STREAMS: NOTHING,
    operations.POLL_MESSAGES: messages.POLL_MESSAGES,
    operations.GET_CONSUMER_OFFSET: messages.GET_CONSUMER_OFFSET,
    operations.GET_STREAM: places.STREAM_REQUEST,
    operations.GET_TOPIC: places.TOPIC_REQUEST,
    operations.GET_CONSUMER_GROUP: groups.GROUP_REQUEST,
    operations.GET_CONSUMER_GROUPS: places.TOPIC_REQUEST,
    operations.SYNC_CONSUMER_GROUP: groups.GROUP_REQUEST,
}
OF_REPLIES: dict[int, Schema[Any]] = {
    operations.CREATE_STREAM: resources.STREAM,
    operations.CREATE_TOPIC: resources.TOPIC_DETAILS,
    operations.CREATE_CONSUMER_GROUP: groups.GROUP,
}
"""The payloads behind the result sections of replicated operations; others have none."""
OF_READS: dict[int, Schema[Any]] = {
    operations.GET_CONSUMER_OFFSET: messages.CONSUMER_OFFSET,
    operations.GET_STREAM: resources.STREAM_DETAILS,
    operations.GET_TOPIC: resources.TOPIC_DETAILS,
    operations.GET_CONSUMER_GROUP: groups.GROUP_DETAILS,
    operations.GET_CONSUMER_GROUPS: groups.GROUPS,
    operations.SYNC_CONSUMER_GROUP: groups.ASSIGNMENT,
}
"""The bodies of replies to reads; a poll's is its head, which the envelope has, and batches."""


def request_schema(envelope: Envelope, operation: int, code: int) -> Schema[Any]:
    """Return the schema of the body of a request; `code` matters for operation 2.

    Raises:
        LookupError: the shape of this request is not known.
    """
    if operation == operations.REGISTER:
        return envelope.login
    known = OF_CODES if operation == operations.NON_REPLICATED else OF_OPERATIONS
    shape = known.get(code if operation == operations.NON_REPLICATED else operation)
    if shape is None:
        raise LookupError(f"no shape for the body of operation {operation}, code {code}")
    return shape
