"""The server's answers as bytes, over both transports and in both generations."""

import json
from collections.abc import Iterator, Mapping

from wireproof_kit.clients.effects import Effect, HangUp, Send
from wireproof_kit.iggy.clients.changes import BROKEN_BODIES, BROKEN_OBJECTS, UNUSUAL_OBJECTS
from wireproof_kit.iggy.clients.script import LOG_SIZE, PARTITION, Messages, Raw
from wireproof_kit.iggy.wire.http import base64_text, headers_object
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.poll_messages import PolledMessages, polled_messages_schema
from wireproof_spec.iggy.frame import response
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.message import MESSAGE, Message
from wireproof_spec.iggy.states import state_name
from wireproof_spec.iggy.statuses import STATUSES, http_status

_COUNT_SIZE = 4
_REASONS = {200: "OK", 201: "Created", 204: "No Content"}
_JSON = "Content-Type: application/json"


def polled_body(reply: Messages, generation: Generation) -> bytes:
    """Return the body of the response to a poll over TCP."""
    tagged = generation == "tagged"
    last = _current_offset(reply)
    head = encode(
        polled_messages_schema(generation),
        PolledMessages(PARTITION if tagged else None, last if tagged else None, ()),
    )
    encoded = [encode(MESSAGE, message) for message in reply.messages]
    change = BROKEN_BODIES.get(reply.change)
    count, messages = change(encoded) if change else (len(encoded), b"".join(encoded))
    return head[:-_COUNT_SIZE] + count.to_bytes(_COUNT_SIZE, "little") + messages


def polled_json(reply: Messages, generation: Generation) -> bytes:
    """Return the body of the response to a poll over HTTP."""
    objects = [_object(message) for message in reply.messages]
    change = BROKEN_OBJECTS.get(reply.change) or UNUSUAL_OBJECTS.get(reply.change)
    messages = change(objects) if change else objects
    if isinstance(messages, bytes):
        return messages
    if generation == "published":
        return json.dumps(messages).encode()
    whole = {
        "partition_id": PARTITION,
        "current_offset": _current_offset(reply),
        "messages": messages,
    }
    return json.dumps(whole).encode()


def _current_offset(reply: Messages) -> int:
    """Return the offset of the last message in the partition, polled or not."""
    return max((LOG_SIZE - 1, *(message.offset for message in reply.messages)))


def tcp_answer(status: int, body: bytes = b"") -> bytes:
    """Return a response over TCP: status, length and body."""
    return response(status, body)


def raw_effects(conn: str, reply: Raw) -> Iterator[Effect]:
    """Yield that bytes made by a case are sent as they are, and the end of the connection."""
    if reply.data:
        yield Send(conn, reply.data, note="made by the case")
    yield HangUp(conn, reset=reply.reset)


def http_answer(status: int, body: bytes = b"", *, json: bool = True) -> bytes:
    """Return an HTTP response with this status and body."""
    head = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}",
        *([_JSON] if json and body else []),
        *([f"Content-Length: {len(body)}"] if status != 204 else []),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def http_refusal(status: int) -> bytes:
    """Return the HTTP response that corresponds to an error status of the TCP protocol."""
    name = STATUSES.get(status, "error")
    error = {"id": status, "code": name, "reason": name.replace("_", " ")}
    return http_answer(http_status(status), json.dumps(error).encode())


def _object(message: Message) -> dict[str, object]:
    code = message.state or 0
    return {
        "offset": message.offset,
        "state": state_name(code) or f"state_{code}",
        "timestamp": message.timestamp,
        "id": message.id,
        "checksum": message.checksum,
        "headers": _headers(message),
        "payload": base64_text(message.payload),
    }


def _headers(message: Message) -> Mapping[str, object] | None:
    return headers_object(message.headers) if message.headers else None
