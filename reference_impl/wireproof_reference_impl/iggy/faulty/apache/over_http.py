"""Faults of the HTTP API that show only where circumstances of a message meet."""

from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import messages
from wireproof_reference_impl.iggy.apache.http import message_json
from wireproof_reference_impl.iggy.apache.http import messages as http
from wireproof_reference_impl.iggy.apache.http.access import Asked
from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    effect,
    instead,
    remade,
)
from wireproof_reference_impl.iggy.http.reading import Fields
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Effect
from wireproof_spec.iggy.apache.bodies.messages import PollMessages
from wireproof_spec.iggy.kinds import NEXT, OFFSET

_LONG = 100
_LARGE = 60_000
Object = Mapping[str, object]


def _polling(wrong: Callable[[Original, Node, PollMessages], object]) -> Effect:
    """Return an effect that changes polls over HTTP alone: a poll over TCP is read from bytes."""
    read: list[bool] = []

    def note(original: Original, body: bytes) -> object:
        read[:] = [True]
        return original(body)

    def poll(original: Original, node: Node, request: PollMessages) -> object:
        over_http = not read
        read.clear()
        return wrong(original, node, request) if over_http else original(node, request)

    return effect(around(messages, "read_poll", note), around(messages, "poll", poll))


@condition("json.same", instead(message_json, "message_object"))
def checksum_in_json_lost_behind_first(original: Original, batch: Batch, frame: Frame) -> Object:
    """The checksum in JSON of a message behind the first one of its batch is 0."""
    found: Object = original(batch, frame)
    header = cast(Object, found["header"])
    return {**found, "header": {**header, "checksum": 0}} if frame.delta else found


@condition("json.same", instead(message_json, "message_object"))
def large_payload_in_json_cut(original: Original, batch: Batch, frame: Frame) -> Object:
    """A payload of more than 60,000 bytes lacks its last byte in JSON."""
    is_one = frame.payload_length > _LARGE
    cut = remade(frame, payload=frame.payload[:-1]) if is_one else frame
    return cast(Object, original(batch, cut))


@condition("json.headers", instead(message_json, "headers_value"))
def many_headers_in_json_lost(original: Original, block: bytes) -> object:
    """User headers of more than 100 bytes are missing in JSON."""
    return original(b"" if len(block) > _LONG else block)


@condition("json.poll", _polling)
def next_over_http_begins_late(original: Original, node: Node, request: PollMessages) -> object:
    """A poll over HTTP for the next messages passes one message behind a stored offset."""
    partition = node.partition(request.stream, request.topic, request.partition)
    start = messages.start_of(partition, request)
    is_one = bool(start) and request.strategy == NEXT
    late = replace(request, strategy=OFFSET, value=(start or 0) + 1)
    return original(node, late if is_one else request)


@condition("json.poll", instead(http, "polled_object"))
def count_in_json_of_one(original: Original, found: Polled) -> Object:
    """The count beside polled messages in JSON is at most 1."""
    answer: Object = original(found)
    return {**answer, "count": min(1, cast(int, answer["count"]))}


@boundary("json.sent", instead(http, "_read_id"))
def highest_bit_of_id_lost_over_http(original: Original, fields: Fields) -> object:
    """The highest bit of the id of a message that is sent over HTTP is lost."""
    number: int = original(fields)
    return number & ~(1 << 127)


@condition("json.sent", instead(http, "make_frame"))
def headers_over_http_lost_behind_first(original: Original, **parts: object) -> object:
    """User headers of a message that is sent over HTTP are lost behind the first of a batch."""
    return original(**{**parts, "user_headers": b""} if parts["delta"] else parts)


@condition("json.offset", _polling)
def commit_over_http_one_less(original: Original, node: Node, request: PollMessages) -> object:
    """A poll over HTTP commits the offset in front of that of its last message."""
    found: Polled = original(node, replace(request, auto_commit=0))
    if found.batches and request.auto_commit:
        partition = node.partition(request.stream, request.topic, request.partition)
        last = found.batches[-1].offset(found.batches[-1].frames[-1])
        messages.commit(partition, request.consumer, max(0, last - 1))
    return found


@condition("json.offset", instead(http, "answer_json"))
def stored_offset_in_json_zero_in_other_partitions(
    original: Original, exchange: Asked, value: Object, *status: int
) -> object:
    """The stored offset in JSON is 0 in other partitions than the first one."""
    is_one = "stored_offset" in value and value["partition_id"]
    return original(exchange, {**value, "stored_offset": 0} if is_one else value, *status)


FAULTS = list_faults(__name__)
