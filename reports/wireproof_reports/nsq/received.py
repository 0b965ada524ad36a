"""Names the parts of frames from an nsqd: the frame head, then its data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from wireproof_reports.exchange.annotation import Part
from wireproof_spec.decoding import Span, spans
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    error_code,
)
from wireproof_spec.nsq.message import message_schema
from wireproof_spec.nsq.names import EXTEND_SUPPORT, OK, SUB_ADVANCED, SUB_ORDER, SUB_ORDERED
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.record import DifferenceRecord

HEAD = 8
TRACE_LENGTH = 30

_TYPE_NAMES = {
    FRAME_TYPE_RESPONSE: "response",
    FRAME_TYPE_ERROR: "error",
    FRAME_TYPE_MESSAGE: "message",
}
_ORDERED = (SUB_ORDER + b" ", SUB_ORDERED + b" ", SUB_ADVANCED + b" ")


def received_parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    """Return the labelled parts of a received frame; `sent` determines the layout of messages."""
    frame = [_part(span) for span in spans(SERVER_FRAME, data)]
    if len(frame) < 2 or frame[1].label != "frame_type" or len(data) < HEAD:
        return tuple(frame)
    frame_type = int.from_bytes(data[4:HEAD], "big")
    frame[1] = replace(frame[1], value=_name_type(frame_type))
    inner = _inner(frame_type, data[HEAD:], sent)
    return (*frame[:2], *(replace(part, offset=part.offset + HEAD) for part in inner))


def is_message(data: bytes) -> bool:
    """Return True if a frame is a message frame."""
    return int.from_bytes(data[4:HEAD], "big") == FRAME_TYPE_MESSAGE


def presumed_difference(observation: str, accepted: Sequence[str]) -> DifferenceRecord | None:
    """Return how a response frame differs where only error frames are accepted, or None."""
    kind = observation.partition(",")[0].partition(":")[0]
    if kind not in ("ok", "trace", "response") or not accepted:
        return None
    if not all(pattern.startswith("error:") for pattern in accepted):
        return None
    due, found = _name_type(FRAME_TYPE_ERROR), _name_type(FRAME_TYPE_RESPONSE)
    return DifferenceRecord("frame_type", 4, due, found)


def _inner(frame_type: int, data: bytes, sent: Sequence[bytes]) -> Iterable[Part]:
    if frame_type == FRAME_TYPE_MESSAGE:
        return _message(data, sent)
    if frame_type == FRAME_TYPE_ERROR:
        return _error(data)
    if data.startswith(OK) and len(data) == TRACE_LENGTH:
        return [_part(span) for span in spans(TRACE_RESPONSE, data)]
    return [Part(0, len(data), "data")]


def _message(data: bytes, sent: Sequence[bytes]) -> Iterator[Part]:
    extend = any(_supports_extend(written) for written in sent)
    ordered = any(written.startswith(_ORDERED) for written in sent)
    for span in spans(message_schema(extend=extend, ordered=ordered), data):
        part = _part(span)
        yield replace(part, label="extend.json_header") if part.label == "extend.data" else part


def _supports_extend(written: bytes) -> bool:
    """Return True if the JSON of an IDENTIFY declares extend support."""
    name = f'"{EXTEND_SUPPORT}":true'.encode()
    return name in written.replace(b" ", b"")


def _error(data: bytes) -> Iterator[Part]:
    code = len(error_code(data).encode())
    yield Part(0, code, "code")
    if code < len(data):
        yield Part(code, len(data) - code, "description")


def _name_type(frame_type: int) -> str:
    return f"{frame_type} ({_TYPE_NAMES.get(frame_type, 'unknown')})"


def _part(span: Span) -> Part:
    return Part(span.offset, span.length, span.field, span.value)
