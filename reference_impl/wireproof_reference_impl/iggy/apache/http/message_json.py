"""Polled messages in JSON."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy.apache.messages import Polled
from wireproof_reference_impl.iggy.apache.partition import count_messages
from wireproof_reference_impl.iggy.apache.records import Batch, Frame
from wireproof_reference_impl.iggy.wire.message_json import base64_text
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.user_headers import USER_HEADERS, TypedBytes
from wireproof_spec.iggy.header_kinds import HEADER_KINDS, header_value
from wireproof_spec.wire_error import WireError

Object = Mapping[str, object]


def polled_object(found: Polled) -> Object:
    """Return what a poll found as a JSON object."""
    return {
        "partition_id": found.partition_id,
        "current_offset": found.current_offset,
        "count": count_messages(found.batches),
        "messages": [
            message_object(batch, frame) for batch in found.batches for frame in batch.frames
        ],
    }


def message_object(batch: Batch, frame: Frame) -> Object:
    """Return a message as a JSON object: numbers bare, bytes in base64."""
    return {
        "header": {
            "checksum": frame.checksum,
            "id": frame.id,
            "offset": batch.offset(frame),
            "timestamp": batch.base_timestamp,
            "origin_timestamp": batch.origin_timestamp + frame.timestamp_delta,
            "user_headers_length": len(frame.user_headers),
            "payload_length": frame.payload_length,
            "reserved": frame.reserved,
        },
        "payload": base64_text(frame.payload),
        "user_headers": headers_value(frame.user_headers),
    }


def headers_value(block: bytes) -> object:
    """Return user headers as an array; a block that cannot be read as such is base64 text.

    Of the same key twice the last value stands, as in the measured server.
    """
    try:
        headers = decode(USER_HEADERS, block)
        for header in headers:
            for part in (header.key, header.value):
                header_value(part.kind, part.value)
    except WireError:
        return base64_text(block)
    last = {header.key: header.value for header in headers}
    return [{"key": _typed(key), "value": _typed(value)} for key, value in last.items()]


def _typed(part: TypedBytes) -> Object:
    return {"kind": HEADER_KINDS[part.kind], "value": base64_text(part.value)}
