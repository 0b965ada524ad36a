"""Decodes the frames that a broker sent on one connection."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject, TitledFormatter
from wireproof_kit.decoding.printable import clip
from wireproof_kit.nsq.decoding.annotation import FRAME_TYPES, parts_of, text_of
from wireproof_kit.nsq.decoding.byte_source import ByteSource, make_broken, take_value
from wireproof_kit.nsq.decoding.message_fields import message_fields
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Schema, Span, decode, spans
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    ServerFrame,
    error_code,
)
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.nsq.names import EXT_VERSION_JSON
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.strict_json import JsonValue, read
from wireproof_spec.wire_error import WireError

TopicKind: TypeAlias = Literal["plain", "ext"]

FRAME_HEAD = 8
"""Bytes of a frame's size and type."""
SHOWN = 60
"""The most characters of a response in a title."""


@dataclass(slots=True)
class Deliveries:
    """How the messages on one connection are decoded; their layout depends on the topic.

    ``topic_kind`` None means: ext from the first message on that shows it beyond doubt, with
    version 4 and a JSON object as its header.
    """

    topic_kind: TopicKind | None = None
    ordered: bool = False
    length_always: bool = False
    _seen: TopicKind = field(default="plain", init=False)

    def schema(self, data: bytes) -> Schema[Message]:
        """Return the schema that decodes a message frame's data."""
        kind = self.topic_kind or self._detect_kind(data)
        return self._of(kind)

    def _of(self, kind: TopicKind) -> Schema[Message]:
        return message_schema(
            extend=kind == "ext", ordered=self.ordered, length_always=self.length_always
        )

    def _detect_kind(self, data: bytes) -> TopicKind:
        if self._seen == "plain" and self._shows_ext(data):
            self._seen = "ext"
        return self._seen

    def _shows_ext(self, data: bytes) -> bool:
        try:
            extend = decode(self._of("ext"), data).extend
            if extend is None or extend.version != EXT_VERSION_JSON or not extend.data:
                return False
            return isinstance(read(extend.data).value, dict)
        except WireError:
            return False


def server_frames(source: ByteSource, deliveries: Deliveries) -> Iterator[Entry]:
    """Yield each decoded frame, up to and including the first broken one."""
    while source.peek(1):
        start = source.offset
        taken = take_value(source, SERVER_FRAME)
        entry = taken if isinstance(taken, Broken) else _frame(start, *taken, deliveries)
        yield entry
        if isinstance(entry, Broken):
            return


def _frame(start: int, frame: ServerFrame, data: bytes, deliveries: Deliveries) -> Entry:
    if frame.frame_type == FRAME_TYPE_MESSAGE:
        return _message(start, frame, data, deliveries)
    if frame.frame_type == FRAME_TYPE_ERROR:
        return _error(start, frame, data)
    if frame.frame_type == FRAME_TYPE_RESPONSE:
        return _trace_response(start, frame, data) or _response(start, frame, data)
    error = WireError(
        clause=SERVER_FRAME.clause,
        field="frame_type",
        offset=FRAME_HEAD // 2,
        expected=", ".join(f"{number} ({name})" for number, name in FRAME_TYPES.items()),
        found=str(frame.frame_type),
    )
    return make_broken(SERVER_FRAME, data[:FRAME_HEAD], start=start, error=error)


def _message(start: int, frame: ServerFrame, data: bytes, deliveries: Deliveries) -> Entry:
    schema = deliveries.schema(frame.data)
    try:
        message = decode(schema, frame.data)
    except WireError as error:
        return make_broken(schema, frame.data, start=start + FRAME_HEAD, error=error)

    def objects() -> list[JsonObject]:
        return [
            {
                **_head("message", start, len(data)),
                **message_fields(message),
                "queue_offset": message.disk_queue_offset,
                "raw_size": message.disk_queue_data_size,
            }
        ]

    title = f"internal_id {message.internal_id}   trace_id {message.trace_id}"
    parts = partial(_parts, data, inner=partial(spans, schema, frame.data))
    return Decoded("message", start, data, None, TitledFormatter(title, parts, objects))


def _error(start: int, frame: ServerFrame, data: bytes) -> Decoded:
    code = error_code(frame.data)

    def objects() -> list[JsonObject]:
        text = frame.data.decode("utf-8", "replace")
        return [{**_head("error", start, len(data)), "code": code, "text": text}]

    return Decoded(
        "error", start, data, None, TitledFormatter(code, partial(_parts, data), objects)
    )


def _response(start: int, frame: ServerFrame, data: bytes) -> Decoded:
    def objects() -> list[JsonObject]:
        text = frame.data.decode("utf-8", "replace")
        head = _head("response", start, len(data))
        return [{**head, "text": text, "data_hex": frame.data.hex()}]

    title = clip(text_of(frame.data[:SHOWN]), SHOWN)
    return Decoded(
        "response", start, data, None, TitledFormatter(title, partial(_parts, data), objects)
    )


def _trace_response(start: int, frame: ServerFrame, data: bytes) -> Decoded | None:
    try:
        trace = decode(TRACE_RESPONSE, frame.data)
    except WireError:
        return None

    def objects() -> list[JsonObject]:
        return [
            {
                **_head("trace response", start, len(data)),
                "internal_id": str(trace.internal_id),
                "trace_id": str(trace.trace_id),
                "queue_offset": trace.disk_queue_offset,
                "raw_size": trace.disk_queue_data_size,
            }
        ]

    title = f"internal_id {trace.internal_id}   trace_id {trace.trace_id}"
    parts = partial(_parts, data, inner=partial(spans, TRACE_RESPONSE, frame.data))
    return Decoded("trace response", start, data, None, TitledFormatter(title, parts, objects))


def _head(kind: str, start: int, length: int) -> dict[str, JsonValue]:
    return {"kind": kind, "offset": start, "length": length}


def _parts(data: bytes, *, inner: Callable[[], Sequence[Span]] | None = None) -> list[Part]:
    """Return the labelled parts of a frame, using the given spans for its data."""
    of_frame = parts_of(spans(SERVER_FRAME, data), data)
    if inner is None:
        return of_frame
    return [*of_frame[:-1], *parts_of(inner(), data[FRAME_HEAD:], shift=FRAME_HEAD)]
