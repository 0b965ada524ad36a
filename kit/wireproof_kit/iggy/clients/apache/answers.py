"""The answers of the server of generation apache as bytes, over TCP and HTTP."""

import json
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof_kit.iggy.clients.answers import http_answer
from wireproof_kit.iggy.clients.apache.changes import BROKEN_OBJECTS, change_batches
from wireproof_kit.iggy.clients.apache.log import PARTITION, newest
from wireproof_kit.iggy.clients.decoder import HTTP, TCP
from wireproof_kit.iggy.clients.log import FIRST_US
from wireproof_kit.iggy.clients.resources import NAME, SIZE
from wireproof_kit.iggy.clients.script import LOG_SIZE, STREAM, TOPIC, Batches
from wireproof_kit.iggy.wire.http import base64_text
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.bodies import messages, resources
from wireproof_spec.iggy.apache.bodies.cluster import CLUSTER, Cluster, ClusterNode
from wireproof_spec.iggy.apache.bodies.results import (
    CONFIRMATIONS,
    RESULT,
    Confirmation,
    Confirmations,
    Rejection,
    Result,
)
from wireproof_spec.iggy.apache.envelope import Envelope, LoggedIn
from wireproof_spec.iggy.apache.frames import Eviction, Request, encode_answer, make_reply
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes
from wireproof_spec.iggy.header_kinds import HEADER_KINDS

SERVER_VERSION = "0.9.0-edge.5"
FIRST_CREATED = STREAM + 1
"""The number of the first stream that a client creates."""
_HEAD_SIZE = 16
_NONE = (1 << 64) - 1


def reply(
    request: Request,
    body: bytes = b"",
    *,
    status: int = 0,
    fields: Mapping[str, object] | None = None,
) -> bytes:
    """Return a reply to a request, with what a reply repeats of it.

    ``fields`` replace those of the header, the size too.
    """
    asked = request.header
    header = ReplyHeader(
        request_checksum=asked.request_checksum,
        client=asked.client,
        timestamp=asked.timestamp,
        request=asked.request,
        operation=asked.operation,
        status=status,
        op=1,
        commit=1,
    )
    made = make_reply(header, body)
    return encode_answer(replace(made, header=replace(made.header, **(fields or {}))))


def eviction(request: Request, reason: int, window: tuple[int, int] = (0, 0)) -> bytes:
    """Return the eviction of a client; ``window`` are the highest and the lowest version."""
    header = EvictionHeader(
        client=request.header.client,
        server_protocol_version=window[0],
        server_protocol_version_min=window[1],
        reason=reason,
    )
    return encode_answer(Eviction(header))


def done(payload: bytes = b"") -> bytes:
    """Return the body of a result-framed reply that says that it was done."""
    return encode(RESULT, Result((), payload))


def rejection(result: int) -> bytes:
    """Return the body of a result-framed reply that rejects its request."""
    return encode(RESULT, Result((Rejection(0, result),)))


def logged_in(envelope: Envelope, session: int, *, version: int = 0) -> bytes:
    """Return the body of the reply to a login; ``version`` is that of the server, if not usual."""
    payload = LoggedIn(0, session, version or envelope.version, SERVER_VERSION)
    return done(encode(envelope.login_reply, payload))


def confirmed(base_offset: int) -> bytes:
    """Return the body of the reply to a send."""
    place = Confirmation(STREAM, TOPIC, PARTITION, base_offset)
    return encode(CONFIRMATIONS, Confirmations((place,)))


def polled(envelope: Envelope, answer: Batches) -> bytes:
    """Return the body of the reply to a poll."""
    count, data = change_batches(answer.batches, answer.change)
    told = count if answer.count is None else answer.count
    head = envelope.make_poll_head(PARTITION, _current(answer.batches), told)
    return encode(envelope.poll_head, head) + data


def cluster(addresses: Mapping[str, str]) -> bytes:
    """Return the body that describes the cluster: this server alone, with its two ports."""
    (host, tcp), (_, http) = (addresses[name].rsplit(":", 1) for name in (TCP, HTTP))
    node = ClusterNode("iggy-node", host.strip("[]"), int(tcp), int(http))
    return encode(CLUSTER, Cluster("single-node", (node,)))


def stored_offset(stored: int | None) -> bytes:
    """Return the body of the reply to a request for a stored offset; none has no body."""
    if stored is None:
        return b""
    found = messages.ConsumerOffset(PARTITION, LOG_SIZE - 1, stored)
    return encode(messages.CONSUMER_OFFSET, found)


def created_stream(number: int, name: str) -> bytes:
    """Return the body of the reply to a request that creates a stream."""
    return done(encode(resources.STREAM, resources.Stream(number, FIRST_US, 0, 0, 0, name)))


def created_topic(name: str) -> bytes:
    """Return the body of the reply to a request that creates a topic."""
    return done(encode(resources.TOPIC_DETAILS, _details(name)))


_STREAM = resources.Stream(STREAM, FIRST_US, 1, SIZE, LOG_SIZE, NAME)


def _topic(name: str = NAME) -> resources.Topic:
    return resources.Topic(TOPIC, FIRST_US, 1, _NONE, 1, _NONE, SIZE, LOG_SIZE, name)


def _details(name: str = NAME) -> resources.TopicDetails:
    partition = resources.Partition(PARTITION, FIRST_US, 1, LOG_SIZE - 1, SIZE, LOG_SIZE)
    return resources.TopicDetails(_topic(name), (partition,))


RESOURCES: Mapping[int, bytes] = {
    operations.PING: b"",
    operations.GET_STREAMS: encode(resources.STREAM, _STREAM),
    operations.GET_STREAM: encode(
        resources.STREAM_DETAILS, resources.StreamDetails(_STREAM, (_topic(),))
    ),
    operations.GET_TOPIC: encode(resources.TOPIC_DETAILS, _details()),
}
"""The bodies of replies to reads that always have the same answer, by command code."""


def polled_json(answer: Batches) -> bytes:
    """Return the HTTP response to a poll of generation apache."""
    objects = [_object(batch, frame) for batch in answer.batches for frame in batch.frames]
    change = BROKEN_OBJECTS.get(answer.change)
    found = change(objects) if change else objects
    if isinstance(found, bytes):
        return http_answer(200, found)
    whole = {
        "partition_id": PARTITION,
        "current_offset": _current(answer.batches),
        "count": len(objects) if answer.count is None else answer.count,
        "messages": found,
    }
    return http_answer(200, json.dumps(whole).encode())


def sent_json(base_offset: int) -> bytes:
    """Return the HTTP response to a request to send."""
    place = {"stream_id": STREAM, "topic_id": TOPIC, "partition_id": PARTITION}
    confirmations = [{**place, "base_offset": base_offset}]
    return http_answer(201, json.dumps({"confirmations": confirmations}).encode())


def _current(batches: Sequence[Batch]) -> int:
    return max(LOG_SIZE - 1, newest(batches))


def _object(batch: Batch, frame: MessageFrame) -> dict[str, object]:
    header = batch.header
    return {
        "header": {
            "checksum": frame.checksum,
            "id": frame.id,
            "offset": header.base_offset + frame.offset_delta,
            "timestamp": header.base_timestamp,
            "origin_timestamp": header.origin_timestamp + frame.timestamp_delta,
            "user_headers_length": len(frame.user_headers),
            "payload_length": len(frame.payload),
            "reserved": frame.reserved,
        },
        "payload": base64_text(frame.payload),
        "user_headers": [
            {"key": _typed(each.key), "value": _typed(each.value)}
            for each in decode(USER_HEADERS, frame.user_headers)
        ],
    }


def _typed(part: TypedBytes) -> dict[str, str]:
    return {"kind": HEADER_KINDS[part.kind], "value": base64_text(part.value)}
