"""Names the parts of responses from an Iggy server: status and length, then the body."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wireproof_reports.exchange.annotation import Part
from wireproof_reports.iggy.received_apache import apache_parts, is_apache
from wireproof_spec.decoding import Schema, Span, decode, spans
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies import consumer_offsets, streams, system, topics
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES, POLLED_MESSAGES_TAGGED
from wireproof_spec.iggy.frame import RESPONSE, RESPONSE_HEAD_SIZE
from wireproof_spec.iggy.states import state_name
from wireproof_spec.iggy.statuses import OK, STATUSES
from wireproof_spec.record import DifferenceRecord
from wireproof_spec.wire_error import WireError

CODE_AT = 4

_BODIES: Mapping[int, Sequence[Schema[Any]]] = {
    commands.POLL_MESSAGES: (POLLED_MESSAGES, POLLED_MESSAGES_TAGGED),
    commands.GET_ME: (system.CLIENT_DETAILS, system.CLIENT_DETAILS_TAGGED),
    commands.GET_CLIENT: (system.CLIENT_DETAILS, system.CLIENT_DETAILS_TAGGED),
    commands.GET_CLIENTS: (system.CLIENTS, system.CLIENTS_TAGGED),
    commands.GET_STREAM: (streams.STREAM_DETAILS, streams.STREAM_DETAILS_TAGGED),
    commands.GET_STREAMS: (streams.STREAMS, streams.STREAMS_TAGGED),
    commands.CREATE_STREAM: (streams.STREAM_DETAILS_TAGGED,),
    commands.GET_TOPIC: (topics.TOPIC_DETAILS, topics.TOPIC_DETAILS_TAGGED),
    commands.GET_TOPICS: (topics.TOPICS, topics.TOPICS_TAGGED),
    commands.CREATE_TOPIC: (topics.TOPIC_DETAILS_TAGGED,),
    commands.GET_CONSUMER_OFFSET: (
        consumer_offsets.CONSUMER_OFFSET,
        consumer_offsets.CONSUMER_OFFSET_TAGGED,
    ),
}
"""What is answered to a command, in each generation."""


def received_parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    """Return the labelled parts of a response; the last request in `sent` fixes its layout."""
    if is_apache(data):
        return apache_parts(data, sent)
    head = [_part(span) for span in spans(RESPONSE, data) if span.offset < RESPONSE_HEAD_SIZE]
    if len(head) < 2 or len(data) < RESPONSE_HEAD_SIZE:
        return tuple(head)
    status = int.from_bytes(data[:CODE_AT], "little")
    head[0] = replace(head[0], value=_status(status))
    body = data[RESPONSE_HEAD_SIZE:]
    schemas = _BODIES.get(_find_code(sent), ()) if status == OK and body else ()
    inner = _read_body(body, schemas) if schemas else _plain(body)
    return (*head, *(replace(part, offset=part.offset + RESPONSE_HEAD_SIZE) for part in inner))


def presumed_difference(observation: str, accepted: Sequence[str]) -> DifferenceRecord | None:
    """Return how a success response differs where only errors are accepted, or None."""
    if observation.partition(",")[0] != "ok" or not accepted:
        return None
    if not all(pattern.startswith(("error:", "closed")) for pattern in accepted):
        return None
    return DifferenceRecord("status", 0, "an error", _status(OK))


def _status(status: int) -> str:
    name = "ok" if status == OK else STATUSES.get(status, "")
    return f"{status} ({name})" if name else str(status)


def _find_code(sent: Sequence[bytes]) -> int:
    """Return the command code of the last request; an unused code if nothing was sent."""
    return int.from_bytes(sent[-1][CODE_AT : 2 * CODE_AT], "little") if sent else commands.KILL


def _read_body(body: bytes, schemas: Sequence[Schema[Any]]) -> Iterable[Part]:
    """Return the parts of a body by the first schema that decodes it, else by the first schema."""
    for schema in schemas:
        try:
            decode(schema, body)
        except WireError:
            continue
        return [_part(span) for span in spans(schema, body)]
    return [_part(span) for span in spans(schemas[0], body)]


def _plain(body: bytes) -> Iterable[Part]:
    return [Part(0, len(body), "body")] if body else []


def _part(span: Span) -> Part:
    name = state_name(int(span.value)) if _is_state(span) else None
    value = f"{span.value} ({name})" if name else span.value
    return Part(span.offset, span.length, span.field, value)


def _is_state(span: Span) -> bool:
    return span.field.rpartition(".")[2] == "state" and span.value.isdigit()
