"""Messages and offsets over HTTP."""

import re

from wireproof_reference_impl.iggy.apache import messages
from wireproof_reference_impl.iggy.apache.http.access import (
    Asked,
    absent,
    answer_json,
    identifier,
    place,
    refusal,
)
from wireproof_reference_impl.iggy.apache.http.message_json import polled_object
from wireproof_reference_impl.iggy.apache.http.streams import DONE
from wireproof_reference_impl.iggy.apache.node import partition_of
from wireproof_reference_impl.iggy.apache.partition import Partition
from wireproof_reference_impl.iggy.apache.records import Batch, Frame, make_frame
from wireproof_reference_impl.iggy.apache.refusals import Denied
from wireproof_reference_impl.iggy.http.reading import Fields, Query, bad_shape, json_object
from wireproof_reference_impl.iggy.wire.exchange import Answer
from wireproof_reference_impl.iggy.wire.requests import PARTITIONINGS
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.bodies.messages import PollMessages, SendMetadata
from wireproof_spec.iggy.apache.bodies.places import one_partition
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.header_kinds import HEADER_KINDS
from wireproof_spec.iggy.kinds import CONSUMER_KIND, PARTITION_ID, STRATEGIES

_KINDS = {name: code for code, name in HEADER_KINDS.items()}
_STRATEGIES = {name: code for code, name in STRATEGIES.items()}
_MOST_NUMBER = (1 << 64) - 1
_MOST_ID = (1 << 128) - 1
_CREATED, _ACCEPTED, _ABSENT = 201, 202, 404
_DURABLE = ("Iggy-Durability", "replicated-memory")
_NOT_DURABLE = ("Iggy-Durability", "none")


def send_messages(exchange: Asked) -> Answer:
    """Handle a request that sends messages: store all of them or none."""
    fields = json_object(exchange)
    _refuse_others(fields, "partitioning", "messages")
    inner = fields.inner("partitioning")
    how = Partitioning(inner.one_of("kind", PARTITIONINGS), inner.base64("value"))
    if how.kind == PARTITION_ID and len(how.value) != 4:
        raise bad_shape("partitioning.value: 4 bytes are expected")
    sent = fields.array("messages")
    frames = tuple(_frame(exchange, each, delta) for delta, each in enumerate(sent))
    if not frames:
        raise refusal(statuses.INVALID_MESSAGES_COUNT)
    metadata = SendMetadata(*place(exchange), how, len(frames))
    batch = Batch(0, 0, 0, exchange.now_us, frames)
    partition = _target(exchange, metadata)
    found = messages.confirm(partition, exchange.site, metadata, batch, exchange.now_us)
    if Query(exchange).text("ack", "") == "none":
        return Answer(_ACCEPTED, headers=(_NOT_DURABLE,))
    confirmations = [
        {
            "stream_id": confirmation.stream_id,
            "topic_id": confirmation.topic_id,
            "partition_id": confirmation.partition_id,
            "base_offset": confirmation.base_offset,
        }
        for confirmation in found.confirmations
    ]
    answer = answer_json(exchange, {"confirmations": confirmations}, _CREATED)
    return Answer(answer.status, answer.body, answer.content_type, (_DURABLE,))


def poll_messages(exchange: Asked) -> Answer:
    """Handle a poll; every parameter has a default."""
    query = Query(exchange)
    request = PollMessages(
        Consumer(CONSUMER_KIND, identifier(query.text("consumer_id", "0"))),
        *place(exchange),
        one_partition(query.u32("partition_id", 0)),
        query.one_of("kind", _STRATEGIES, "offset"),
        query.u64("value", 0),
        query.u32("count", 10),
        int(query.flag("auto_commit")),
    )
    return answer_json(exchange, polled_object(messages.poll(exchange.site, request)))


def get_offset(exchange: Asked) -> Answer:
    """Handle a request for the stored offset of a consumer."""
    query = Query(exchange)
    number = messages.consumer_number(identifier(query.text("consumer_id", "0")))
    topic = exchange.site.topic(*place(exchange))
    partition = partition_of(topic, query.u32("partition_id", 0))
    stored = partition.stored_offset(CONSUMER_KIND, number)
    if stored is None:
        raise absent()
    found = {
        "partition_id": partition.id,
        "current_offset": partition.newest,
        "stored_offset": stored,
    }
    return answer_json(exchange, found)


def put_offset(exchange: Asked) -> Answer:
    """Handle a request that stores the offset of a consumer."""
    fields = json_object(exchange)
    who = fields.names().get("consumer_id", 0)
    number = messages.consumer_number(identifier(str(who)))
    topic = exchange.site.topic(*place(exchange))
    partition = partition_of(topic, fields.u32("partition_id", 0))
    partition.store_offset(CONSUMER_KIND, number, fields.u64("offset"))
    return DONE


def _target(exchange: Asked, metadata: SendMetadata) -> Partition:
    try:
        return messages.target(exchange.site, metadata)
    except Denied as denied:
        reason = "Resource with key:  was not found."
        raise refusal(denied.status, _ABSENT, reason) from None


def _frame(exchange: Asked, fields: Fields, delta: int) -> Frame:
    payload = fields.base64("payload")
    if not payload:
        raise bad_shape("Failed to create message: Invalid message payload length")
    number = _read_id(fields) or exchange.site.around.new_id()
    return make_frame(
        number=number,
        delta=delta,
        timestamp_delta=0,
        payload=payload,
        user_headers=_read_headers(fields),
    )


def _read_id(fields: Fields) -> int:
    """Return the id of a message: a number, decimal digits, or a UUID; 0 if there is none."""
    value = fields.names().get("id", 0)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_NUMBER:
        return value
    if isinstance(value, str):
        if re.fullmatch("[0-9]{1,39}", value) and int(value) <= _MOST_ID:
            return int(value)
        if re.fullmatch("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", value):
            return int(value.replace("-", ""), 16)
    raise bad_shape("Invalid message ID: ID must be a positive integer")


def _read_headers(fields: Fields) -> bytes:
    """Return the bytes of user headers: of an array, or as they stand in base64."""
    value = fields.names().get("user_headers")
    if value is None:
        return b""
    if isinstance(value, str):
        return fields.base64("user_headers")
    found: dict[bytes, bytes] = {}
    for each in fields.array("user_headers"):
        found[_typed(each.inner("key"))] = _typed(each.inner("value"))
    return b"".join(key + header for key, header in found.items())


def _typed(fields: Fields) -> bytes:
    """Return kind, length and bytes; what is too short or too long is taken as it is."""
    data = fields.base64("value")
    return bytes([fields.one_of("kind", _KINDS)]) + len(data).to_bytes(4, "little") + data


def _refuse_others(fields: Fields, *known: str) -> None:
    """Refuse further members; in messages and headers the measured server ignores them."""
    for name in fields.names():
        if name not in known:
            expected = ", ".join(f"`{each}`" for each in known)
            raise bad_shape(f"{name}: unknown field `{name}`, expected one of {expected}")
