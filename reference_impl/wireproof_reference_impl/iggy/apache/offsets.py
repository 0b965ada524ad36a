"""Offsets that consumers store: get, store and delete."""

from wireproof_reference_impl.iggy.apache import groups
from wireproof_reference_impl.iggy.apache.messages import consumer_number
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.refusals import Denied, not_found
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies.messages import (
    CONSUMER_OFFSET,
    DELETE_CONSUMER_OFFSET,
    GET_CONSUMER_OFFSET,
    STORE_CONSUMER_OFFSET,
    ConsumerOffset,
    DeleteConsumerOffset,
    StoreConsumerOffset,
)
from wireproof_spec.wire_error import WireError


def get(node: Node, body: bytes) -> bytes:
    """Return the body of the reply with a stored offset; no bytes if none is stored.

    Raises:
        Denied: the body cannot be read, or the target does not exist.
    """
    try:
        request = decode(GET_CONSUMER_OFFSET, body)
    except WireError:
        raise Denied(statuses.INVALID_COMMAND) from None
    resolved = groups.resolve(node, request, as_member=False)
    if resolved is None:
        return never_stored()
    request = resolved
    partition = node.partition(request.stream, request.topic, request.partition)
    number = consumer_number(request.consumer.id)
    stored = partition.stored_offset(request.consumer.kind, number)
    return never_stored() if stored is None else write(partition, stored)


def never_stored() -> bytes:
    """Return the body of the reply for a consumer that has stored no offset: no bytes."""
    return b""


def write(partition: Partition, stored: int) -> bytes:
    """Return the 20 bytes that say which offset is stored."""
    return encode(CONSUMER_OFFSET, ConsumerOffset(partition.id, partition.newest, stored))


def store(node: Node, body: bytes) -> bytes:
    """Store an offset and return an empty payload.

    Raises:
        Denied: the body cannot be read, the target does not exist, or has no such offset.
    """
    request = _resolve(node, read_store(body))
    partition = _target(node, request)
    number = consumer_number(request.consumer.id)
    partition.store_offset(request.consumer.kind, number, request.offset)
    return b""


def delete(node: Node, body: bytes) -> bytes:
    """Delete a stored offset and return an empty payload.

    Raises:
        Denied: the body cannot be read, the target does not exist, or nothing is stored.
    """
    request = _resolve(node, read_delete(body))
    partition = _target(node, request)
    partition.delete_offset(request.consumer.kind, consumer_number(request.consumer.id))
    return b""


def read_store(body: bytes) -> StoreConsumerOffset:
    """Decode the body of a request to store an offset, or refuse it."""
    try:
        return decode(STORE_CONSUMER_OFFSET, body)
    except WireError:
        raise not_found() from None


def read_delete(body: bytes) -> DeleteConsumerOffset:
    """Decode the body of a request to delete an offset, or refuse it."""
    try:
        return decode(DELETE_CONSUMER_OFFSET, body)
    except WireError:
        raise not_found() from None


def _resolve(node: Node, request: groups.OfConsumer) -> groups.OfConsumer:
    try:
        resolved = groups.resolve(node, request)
    except Denied:
        raise not_found() from None
    if resolved is None:
        raise not_found()
    return resolved


def _target(node: Node, request: StoreConsumerOffset | DeleteConsumerOffset) -> Partition:
    try:
        return node.partition(request.stream, request.topic, request.partition)
    except Denied:
        raise not_found() from None
