"""The answers and deliveries of the kit's nsqd: messages by partition, state by connection."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from wireproof_kit.nsq.clients import heartbeats
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.script import Delivery
from wireproof_spec.decoding import encode
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.strict_json import members_of

PARTITION_SHIFT = 50
"""Deployed nodes number the messages of a partition from 2^50 times the partition's number."""
_ID_AT = 10
"""The offset of the id in a message: after timestamp and attempts."""
_TRACE_DIGITS = 21
"""One more than 64 bits have: enough to see that there are too many."""
TIMESTAMP_NS = 1_500_000_000_000_000_000
NO_EXTEND = Extend(names.EXT_VERSION_NONE, None)
MSG_TIMEOUT_MS, MAX_MSG_TIMEOUT_MS = 60_000, 900_000
FEATURES: Mapping[str, object] = {
    "max_rdy_count": 2500,
    "version": "0.3.7-HA.1.9",
    "max_msg_timeout": MAX_MSG_TIMEOUT_MS,
    "msg_timeout": MSG_TIMEOUT_MS,
    "tls_v1": False,
    "deflate": False,
    "deflate_level": 0,
    "max_deflate_level": 6,
    "snappy": False,
    "sample_rate": 0,
    "auth_required": False,
    "output_buffer_size": 16384,
    "output_buffer_timeout": 250,
}
"""All fields in the response of real nodes: tokio-nsq refuses a response without one of them."""


@dataclass(slots=True)
class Partition:
    """One partition at a node that the kit plays, with the messages that wait for delivery.

    ``deferred`` is how many messages were given back with a delay that is not over.
    """

    number: int
    waiting: deque[Delivery] = field(default_factory=deque[Delivery])
    deferred: int = 0
    next_id: int = 1
    next_offset: int = 0

    def new_id(self) -> int:
        """Return the internal id of the next message."""
        number = (self.number << PARTITION_SHIFT) + self.next_id
        self.next_id += 1
        return number


@dataclass(slots=True)
class Connection:
    """The state of a client's connection to a node that the kit plays."""

    name: str
    extend_support: bool = False
    negotiates: bool = False
    subscription: str = ""
    partition: int | None = None
    ready: int | None = None
    heartbeat_s: float | None = None
    closing: bool = False
    in_flight: dict[bytes, Delivery] = field(default_factory=dict[bytes, Delivery])

    @property
    def is_ordered(self) -> bool:
        """True if the node delivers one message at a time, with its position in the queue."""
        return self.subscription.encode() in (names.SUB_ORDER, names.SUB_ORDERED)

    @property
    def has_place(self) -> bool:
        """True if offset and size precede the body of each message."""
        return self.is_ordered or self.subscription.encode() == names.SUB_ADVANCED

    def window(self) -> int:
        """Return how many more messages the node may deliver, by RDY and messages in flight.

        In order a client needs no RDY (reading ``order-rdy``), and none widens the window.
        """
        if self.is_ordered:
            most = 1 if self.ready is None else min(self.ready, 1)
        else:
            most = self.ready or 0
        return 0 if self.closing else most - len(self.in_flight)


def identify(connection: Connection, command: Commanded) -> bytes:
    """Store the fields of a client's IDENTIFY, and return the node's response."""
    try:
        identity: object = json.loads(command.body)
    except (ValueError, RecursionError):
        return error_frame(error_codes.E_BAD_BODY, "IDENTIFY failed to decode JSON body")
    fields = members_of(identity)
    connection.extend_support = fields.get(names.EXTEND_SUPPORT) is True
    connection.negotiates = fields.get("feature_negotiation") is True
    connection.heartbeat_s = heartbeats.interval(fields.get("heartbeat_interval"))
    return response_frame(_features(fields) if connection.negotiates else names.OK)


def _features(fields: Mapping[str, object]) -> bytes:
    """Return the response to IDENTIFY: with the time-out of messages that the client asks for."""
    asked, granted = fields.get("msg_timeout"), MSG_TIMEOUT_MS
    if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0:
        granted = min(asked, MAX_MSG_TIMEOUT_MS)
    return json.dumps({**FEATURES, "msg_timeout": granted}).encode()


def publish(command: Commanded, partition: Partition) -> bytes:
    """Return the response to a publish; with a trace id, it has the message's position."""
    trace_id = trace_of(command)
    if trace_id is None:
        return response_frame(names.OK)
    if trace_id >= 1 << 64:
        return error_frame(error_codes.INVALID_TRACE_ID)
    size = len(command.body) + 30
    response = TraceResponse(partition.new_id(), trace_id, partition.next_offset, size)
    partition.next_offset += size
    return response_frame(encode(TRACE_RESPONSE, response))


def trace_of(command: Commanded) -> int | None:
    """Return the trace id of a publish, or None; one of a header may have more than 64 bits."""
    if command.name == names.PUB_TRACE.decode() and len(command.body) >= 8:
        return int.from_bytes(command.body[:8], "big")
    if command.name == names.PUB_EXT.decode():
        value = header_of(command).get(names.TRACE_ID)
        if isinstance(value, str) and value.isdecimal():
            return int(value.lstrip("0")[:_TRACE_DIGITS] or "0")
    return None


def header_of(command: Commanded) -> dict[str, object]:
    """Return the JSON header of a PUB_EXT; empty if the header is invalid."""
    length = int.from_bytes(command.body[:2], "big")
    try:
        return members_of(json.loads(command.body[2 : 2 + length]))
    except (ValueError, RecursionError):
        return {}


def deliver(connection: Connection, partition: Partition) -> Iterator[bytes]:
    """Yield the message frames that the node may deliver on a connection now.

    In order, a message that was given back with a delay holds up those behind it.
    """
    if connection.is_ordered and partition.deferred:
        return
    while partition.waiting and connection.window() > 0:
        delivery = partition.waiting.popleft()
        message = _message(delivery, connection, partition)
        if delivery.raw is not None:
            connection.in_flight[delivery.raw[_ID_AT:][:MESSAGE_ID_SIZE]] = delivery
            yield message_frame(delivery.raw)
            continue
        connection.in_flight[message.message_id] = _record_delivery(delivery, message)
        extend = message.extend is not None
        schema = message_schema(extend=extend, ordered=connection.has_place)
        yield message_frame(encode(schema, message))


def _message(delivery: Delivery, connection: Connection, partition: Partition) -> Message:
    internal_id = partition.new_id() if delivery.internal_id is None else delivery.internal_id
    size = len(delivery.body) + 30 if delivery.size is None else delivery.size
    offset = partition.next_offset if delivery.offset is None else delivery.offset
    partition.next_offset = offset + size
    place = (offset, size) if connection.has_place else (None, None)
    return Message(
        timestamp_ns=TIMESTAMP_NS + internal_id % (1 << PARTITION_SHIFT),
        attempts=delivery.attempts,
        internal_id=internal_id,
        trace_id=delivery.trace_id,
        extend=(delivery.extend or NO_EXTEND) if connection.extend_support else None,
        disk_queue_offset=place[0],
        disk_queue_data_size=place[1],
        body=delivery.body,
    )


def _record_delivery(delivery: Delivery, message: Message) -> Delivery:
    """Return the delivery with what was chosen for it, so that it can come again."""
    return replace(
        delivery,
        internal_id=message.internal_id,
        offset=message.disk_queue_offset,
        size=message.disk_queue_data_size,
    )


def again(delivery: Delivery) -> Delivery:
    """Return the next delivery of a message that was not finished: one attempt more."""
    return replace(delivery, attempts=delivery.attempts + 1)
