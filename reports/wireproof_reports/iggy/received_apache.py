"""Names the parts of what a server of generation apache sends: header, then body."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from wireproof_reports.exchange.annotation import Part
from wireproof_spec.decoding import Schema, spans
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, BATCH_HEADER_SIZE
from wireproof_spec.iggy.apache.bodies.messages import CONSUMER_OFFSET
from wireproof_spec.iggy.apache.bodies.resources import STREAM, TOPIC_DETAILS
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, RESULT
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.apache.header import (
    COMMAND_AT,
    EVICTION_COMMAND,
    EVICTION_HEADER,
    HEADER_SIZE,
    REPLY_COMMAND,
    REPLY_HEADER,
    SIZE_AT,
)
from wireproof_spec.iggy.apache.statuses import OK, STATUSES

_OPERATION_AT: Final = 176
_CODE_AT: Final = 196
_STATUS_AT: Final = 216
_LENGTH_AT: Final = 32
_NAMES: Final[Mapping[str, Mapping[int, str]]] = {
    "status": {OK: "ok", **STATUSES},
    "operation": operations.OPERATIONS,
    "reason": REASONS,
}
_READS: Final[Mapping[int, Schema[Any]]] = {
    operations.GET_CONSUMER_OFFSET: CONSUMER_OFFSET,
    operations.GET_STREAM: STREAM,
    operations.GET_TOPIC: TOPIC_DETAILS,
}


def is_apache(data: bytes) -> bool:
    """Return True if bytes are a reply or an eviction with a header of 256 bytes."""
    if len(data) < HEADER_SIZE or _number(data, SIZE_AT, 4) != len(data):
        return False
    return data[COMMAND_AT] in (REPLY_COMMAND, EVICTION_COMMAND)


def apache_parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    """Return the labelled parts of an answer; fields of the header that are 0 have no label."""
    is_reply = data[COMMAND_AT] == REPLY_COMMAND
    header = _parts(REPLY_HEADER if is_reply else EVICTION_HEADER, data[:HEADER_SIZE])
    shown = [each for each in header if any(data[each.offset : each.offset + each.length])]
    shown += [each for each in header if is_reply and each.offset == _STATUS_AT]
    request = next((each for each in reversed(sent) if len(each) >= HEADER_SIZE), b"")
    body = data[HEADER_SIZE:]
    found = list(_body(body, request)) if is_reply and request else []
    return (*dict.fromkeys(shown), *_moved(found or _rest(body, 0), HEADER_SIZE))


def _body(body: bytes, request: bytes) -> Iterator[Part]:
    operation, code = request[_OPERATION_AT], _number(request, _CODE_AT, 4)
    if operation == operations.SEND_MESSAGES:
        yield from _parts(CONFIRMATIONS, body)
    elif operation in operations.RESULT_FRAMED:
        yield from _parts(RESULT, body)
    elif code == operations.POLL_MESSAGES:
        head = OWN.poll_head_size
        yield from _parts(OWN.poll_head, body[:head])
        at = head
        while len(body) - at >= BATCH_HEADER_SIZE:
            length = max(_number(body, at + _LENGTH_AT, 8), BATCH_HEADER_SIZE)
            yield from _moved(_parts(BATCH, body[at : at + length]), at)
            at += length
        yield from _rest(body, at)
    elif code in _READS and body:
        yield from _parts(_READS[code], body)


def _parts(schema: Schema[Any], data: bytes) -> list[Part]:
    found = [
        Part(span.offset, span.length, span.field, span.value) for span in spans(schema, data)
    ]
    return [replace(each, value=_named(each)) for each in found]


def _named(part: Part) -> str:
    names = _NAMES.get(part.label, {})
    name = names.get(int(part.value)) if part.value.isdigit() else None
    return f"{part.value} ({name})" if name else part.value


def _rest(body: bytes, at: int) -> list[Part]:
    return [Part(at, len(body) - at, "body")] if len(body) > at else []


def _moved(parts: Sequence[Part], by: int) -> list[Part]:
    return [replace(part, offset=part.offset + by) for part in parts]


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
