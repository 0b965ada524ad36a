"""Metadata operations and reads: create, get and delete streams and topics."""

from typing import TypeVar

from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied, Rejected
from wireproof_reference_impl.iggy.apache.topics import ALSO_KNOWN, DEFAULTS
from wireproof_spec.decoding import Schema, decode, encode
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies.places import STREAM_REQUEST, TOPIC_REQUEST
from wireproof_spec.iggy.apache.bodies.resources import (
    CREATE_STREAM,
    CREATE_TOPIC,
    MAX_PARTITIONS,
    STREAM,
    STREAM_DETAILS,
    TOPIC_DETAILS,
)
from wireproof_spec.iggy.apache.user_headers import UserHeader
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.wire_error import WireError

Body = TypeVar("Body")


def create_stream(node: Node, body: bytes, now_us: int) -> bytes:
    """Create a stream and return the payload that describes it."""
    request = _read(CREATE_STREAM, body)
    check_options(request.options, frozenset())
    return encode(STREAM, node.create_stream(request.name, now_us).describe())


def delete_stream(node: Node, body: bytes, now_us: int) -> bytes:
    """Delete a stream and return an empty payload."""
    request = _read(STREAM_REQUEST, body)
    try:
        node.delete_stream(request.stream)
    except Denied as denied:
        raise Rejected(denied.status) from None
    return b""


def create_topic(node: Node, body: bytes, now_us: int) -> bytes:
    """Create a topic and return the payload that describes it and its partitions."""
    request = _read(CREATE_TOPIC, body)
    if request.partitions_count > MAX_PARTITIONS:
        raise Denied(statuses.TOO_MANY_PARTITIONS)
    check_options(request.options, DEFAULTS.keys() | ALSO_KNOWN)
    try:
        topic = node.create_topic(
            request.stream,
            request.name,
            partitions=request.partitions_count,
            now_us=now_us,
            options=request.options,
        )
    except Denied as denied:
        raise Rejected(denied.status) from None
    return encode(TOPIC_DETAILS, topic.details(is_new=True))


def delete_topic(node: Node, body: bytes, now_us: int) -> bytes:
    """Delete a topic and return an empty payload."""
    request = _read(TOPIC_REQUEST, body)
    try:
        node.delete_topic(request.stream, request.topic)
    except Denied as denied:
        raise Rejected(denied.status) from None
    return b""


def get_stream(node: Node, body: bytes) -> bytes:
    """Return the body that describes a stream; no bytes for an unknown one."""
    request = _read(STREAM_REQUEST, body)
    try:
        return encode(STREAM_DETAILS, node.stream(request.stream).details())
    except Denied:
        return b""


def get_streams(node: Node, body: bytes) -> bytes:
    """Return the body that describes all streams, without their topics."""
    every = sorted(node.streams.values(), key=lambda each: each.id)
    return b"".join(encode(STREAM, each.describe()) for each in every)


def get_topic(node: Node, body: bytes) -> bytes:
    """Return the body that describes a topic; no bytes for an unknown one."""
    request = _read(TOPIC_REQUEST, body)
    try:
        return encode(TOPIC_DETAILS, node.topic(request.stream, request.topic).details())
    except Denied:
        return b""


def check_options(options: tuple[UserHeader, ...], known: frozenset[str] | set[str]) -> None:
    """Refuse an option whose key is unknown, repeated, or no string."""
    keys = [option.key.value.decode("utf-8", "replace") for option in options]
    if any(option.key.kind != STRING for option in options) or len(set(keys)) < len(keys):
        raise Denied(statuses.INVALID_COMMAND)
    if not known.issuperset(keys):
        raise Denied(statuses.UNSUPPORTED_OPTION_KEY)


def _read(schema: Schema[Body], body: bytes) -> Body:
    try:
        return decode(schema, body)
    except WireError:
        raise Denied(statuses.INVALID_COMMAND) from None
