"""Faults of PUB_TRACE: its body, and its answer."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.publish import split_traced
from wireproof_reference_impl.nsq.faulty.errors import code_refusals
from wireproof_reference_impl.nsq.faulty.publishing.trace import change_response
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import PublishResult
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_reference_impl.preset import Effect
from wireproof_spec.nsq.error_codes import E_PUB_FAILED
from wireproof_spec.nsq.names import OK, PUB_TRACE

_U63 = 1 << 63
_U64 = 1 << 64


def _answer_with(traced: Callable[[PublishResult], bytes]) -> Settings:
    """Return settings that change the answer to PUB_TRACE."""
    return {"publish.trace_response": traced}


def _split(split: Callable[[bytes], tuple[int, bytes]]) -> tuple[Override, ...]:
    """Return overrides that change how the body of PUB_TRACE is split."""
    return (replace_function(publish, "split_traced", split),)


@wrong_value("smart.trace.response", _answer_with)
def pub_trace_little_endian(stored: PublishResult) -> bytes:
    """The answer to PUB_TRACE is in little-endian byte order."""
    return pack("<2sQQQI", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


@extra("smart.trace.response", _answer_with)
def pub_trace_size_of_8_bytes(stored: PublishResult) -> bytes:
    """The data size in the answer to PUB_TRACE takes 8 bytes."""
    return pack(">2sQQQQ", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


@wrong_value("smart.trace.response smart.trace.internal-id", _answer_with)
def pub_trace_ids_swapped(stored: PublishResult) -> bytes:
    """The answer to PUB_TRACE has the trace id before the internal id."""
    return change_response(stored, internal_id=stored.trace_id, trace_id=stored.internal_id)


@missing("smart.trace.response", _answer_with)
def pub_trace_without_ok(stored: PublishResult) -> bytes:
    """The answer to PUB_TRACE has no OK."""
    return change_response(stored)[2:]


@boundary("smart.trace.response", _answer_with)
def pub_trace_plain_above_4096(stored: PublishResult) -> bytes:
    """PUB_TRACE of more than 4096 bytes is answered with OK alone."""
    return change_response(stored) if stored.size < 4096 else OK


@extra("smart.trace.layout", _split)
def pub_trace_id_kept_in_the_body(data: bytes) -> tuple[int, bytes]:
    """The body of a PUB_TRACE message is delivered with the trace id in front of it."""
    return split_traced(data)[0], data


@boundary("smart.trace.layout", _split)
def pub_trace_last_byte_lost(data: bytes) -> tuple[int, bytes]:
    """PUB_TRACE bodies above 4096 bytes lose their last byte."""
    trace_id, body = split_traced(data)
    return trace_id, body[:-1] if len(body) > 4096 else body


@condition("smart.trace.layout", _split)
def pub_trace_zeros_lost(data: bytes) -> tuple[int, bytes]:
    """NUL bytes at the start of a PUB_TRACE body are removed."""
    trace_id, body = split_traced(data)
    return trace_id, body.lstrip(b"\0") or body


@boundary("smart.trace.any-id smart.message-id.halves", _split)
def pub_trace_id_of_63_bits(data: bytes) -> tuple[int, bytes]:
    """PUB_TRACE clears the highest bit of trace ids from 2^63 on."""
    trace_id, body = split_traced(data)
    return trace_id % _U63, body


@boundary("smart.trace.any-id smart.message-id.halves", _split)
def pub_trace_id_through_a_float(data: bytes) -> tuple[int, bytes]:
    """PUB_TRACE rounds trace ids above 2^53."""
    trace_id, body = split_traced(data)
    return min(int(float(trace_id)), _U64 - 1), body


@wrong_value("smart.trace.any-id smart.message-id.halves", _split)
def pub_trace_id_little_endian(data: bytes) -> tuple[int, bytes]:
    """The trace id of PUB_TRACE is read in little-endian byte order."""
    trace_id, body = split_traced(data)
    return int.from_bytes(trace_id.to_bytes(8), "little"), body


@missing("smart.trace.any-id", _answer_with)
def pub_trace_zero_not_answered(stored: PublishResult) -> bytes:
    """PUB_TRACE with trace id 0 is answered with OK alone."""
    return change_response(stored) if stored.trace_id else OK


@boundary("smart.trace.internal-id", _answer_with)
def pub_trace_id_of_the_next(stored: PublishResult) -> bytes:
    """The internal id in the answer to PUB_TRACE is that of the next message."""
    return change_response(stored, internal_id=stored.internal_id + 1)


@missing("smart.trace.internal-id", _answer_with)
def pub_trace_internal_id_always_one(stored: PublishResult) -> bytes:
    """The internal id in the answer to PUB_TRACE is always 1."""
    return change_response(stored, internal_id=1)


@condition("smart.trace.internal-id", _answer_with)
def pub_trace_internal_id_at_times(stored: PublishResult) -> bytes:
    """The internal id in every third answer to PUB_TRACE is that of the message before."""
    return change_response(stored, internal_id=stored.internal_id - (stored.internal_id % 3 == 2))


@wrong_value("smart.order.position", _answer_with)
def pub_trace_size_without_length(stored: PublishResult) -> bytes:
    """The data size in the answer to PUB_TRACE omits the record's 4 length bytes."""
    return change_response(stored, size=stored.size - 4)


@wrong_value("smart.trace.offset", _answer_with)
def pub_trace_offset_of_the_end(stored: PublishResult) -> bytes:
    """The offset in the answer to PUB_TRACE is too high by twice the record's size."""
    return change_response(stored, offset=stored.offset + 2 * stored.size)


@boundary("smart.trace.size", _answer_with)
def pub_trace_size_of_16_bits(stored: PublishResult) -> bytes:
    """The data size in the answer to PUB_TRACE never exceeds 65535."""
    return change_response(stored, size=min(stored.size, 65535))


@missing("smart.trace.offset", _answer_with)
def pub_trace_offset_missing(stored: PublishResult) -> bytes:
    """The offset in the answer to PUB_TRACE is always 0."""
    return change_response(stored, offset=0)


@boundary("smart.trace.offset", _answer_with)
def pub_trace_offset_falls(stored: PublishResult) -> bytes:
    """The offset in the answer to PUB_TRACE decreases from each record to the next."""
    return change_response(stored, offset=(1 << 30) - stored.offset)


@wrong_value("smart.trace.errors", code_refusals)
def pub_trace_other_codes(command: bytes, code: str) -> str:
    """PUB_TRACE refuses bad sizes and unknown topics with other codes than PUB."""
    return E_PUB_FAILED if command == PUB_TRACE else code


@extra("smart.trace.short", setting("publish.has_trace_room"))
def pub_trace_short_taken(size: int) -> bool:
    """A PUB_TRACE body too short for the trace id is accepted."""
    return size > 0


def _room_for_the_id(size: int) -> bool:
    return size >= 8


def _id_for_nothing(data: bytes) -> tuple[int, bytes]:
    """Store the trace id as the message if nothing follows it."""
    return split_traced(data)[0], data[8:] or data


@wrong_value("smart.trace.empty")
def pub_trace_empty_is_its_id() -> Change:
    """PUB_TRACE with nothing after the trace id stores the trace id as the message."""
    return Effect({"publish.has_trace_room": _room_for_the_id}, (*_split(_id_for_nothing),))


FAULTS = list_faults(__name__)
