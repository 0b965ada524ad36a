"""Faults of PUB_TRACE: its body, and its answer."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.publish import split_traced
from wireproof_reference_impl.nsq.faulty.errors import code_refusals
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import PublishResult
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_spec.nsq.error_codes import E_PUB_FAILED
from wireproof_spec.nsq.names import OK, PUB_TRACE

_U63 = 1 << 63
_U64 = 1 << 64


def _answer_with(traced: Callable[[PublishResult], bytes]) -> Settings:
    """Return settings that change the answer to PUB_TRACE."""
    return {"publish.trace_response": traced}


def _response(stored: PublishResult, **other: int) -> bytes:
    """Return a trace response with some parts replaced."""
    parts = stored._replace(**other)
    return packed.trace_response(
        parts.internal_id, parts.trace_id % _U64, offset=parts.offset, size=parts.size
    )


def _little_endian(stored: PublishResult) -> bytes:
    return pack("<2sQQQI", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


def _size_of_8_bytes(stored: PublishResult) -> bytes:
    return pack(">2sQQQQ", OK, stored.internal_id, stored.trace_id, stored.offset, stored.size)


def _ids_swapped(stored: PublishResult) -> bytes:
    return _response(stored, internal_id=stored.trace_id, trace_id=stored.internal_id)


def _size_of_the_smallest(stored: PublishResult) -> bytes:
    return _response(stored, size=min(stored.size, 65535))


def _split(split: Callable[[bytes], tuple[int, bytes]]) -> tuple[Override, ...]:
    """Return overrides that change how the body of PUB_TRACE is split."""
    return (replace_function(publish, "split_traced", split),)


def _id_in_the_body(data: bytes) -> tuple[int, bytes]:
    return split_traced(data)[0], data


def _last_byte_lost_above_4096(data: bytes) -> tuple[int, bytes]:
    trace_id, body = split_traced(data)
    return trace_id, body[:-1] if len(body) > 4096 else body


def _zeros_lost(data: bytes) -> tuple[int, bytes]:
    trace_id, body = split_traced(data)
    return trace_id, body.lstrip(b"\0") or body


def _id_of_63_bits(data: bytes) -> tuple[int, bytes]:
    trace_id, body = split_traced(data)
    return trace_id % _U63, body


def _id_through_a_float(data: bytes) -> tuple[int, bytes]:
    trace_id, body = split_traced(data)
    return min(int(float(trace_id)), _U64 - 1), body


def _id_little_endian(data: bytes) -> tuple[int, bytes]:
    trace_id, body = split_traced(data)
    return int.from_bytes(trace_id.to_bytes(8), "little"), body


def _any_room(size: int) -> bool:
    return size > 0


def _room_for_the_id(size: int) -> bool:
    return size >= 8


def _id_for_nothing(data: bytes) -> tuple[int, bytes]:
    """Store the trace id as the message if nothing follows it."""
    return split_traced(data)[0], data[8:] or data


def _other_code(command: bytes, code: str) -> str:
    return E_PUB_FAILED if command == PUB_TRACE else code


_LAYOUT = "smart.trace.layout"
_RESPONSE = "smart.trace.response"
_ANY = "smart.trace.any-id"
_INTERNAL = "smart.trace.internal-id"
_OFFSET = "smart.trace.offset"
_SIZE = "smart.trace.size"
_HALVES = "smart.message-id.halves"
_FINISH = "smart.message-id.finish"
_GROW = "smart.message-id.increasing"
_BATCH = "smart.trace.batch"
_ORDERED = "smart.order.position smart.order.increasing"
_ALL_TRACED = (
    f"{_ANY} {_INTERNAL} {_BATCH} {_HALVES} {_GROW} {_ORDERED} smart.trace.partition "
    f"disk.position smart.trace.empty {_OFFSET} {_SIZE}"
)


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "pub-trace-little-endian",
        "the answer to PUB_TRACE is in little-endian byte order",
        breaks=_RESPONSE,
        may_break=_ALL_TRACED,
        settings=_answer_with(_little_endian),
    ),
    extra(
        "pub-trace-size-of-8-bytes",
        "the data size in the answer to PUB_TRACE takes 8 bytes",
        breaks=_RESPONSE,
        may_break=_ALL_TRACED,
        settings=_answer_with(_size_of_8_bytes),
    ),
    wrong_value(
        "pub-trace-ids-swapped",
        "the answer to PUB_TRACE has the trace id before the internal id",
        breaks=f"{_RESPONSE} {_INTERNAL}",
        may_break=_ALL_TRACED,
        settings=_answer_with(_ids_swapped),
    ),
    missing(
        "pub-trace-without-ok",
        "the answer to PUB_TRACE has no OK",
        breaks=_RESPONSE,
        may_break=_ALL_TRACED,
        settings=_answer_with(lambda stored: _response(stored)[2:]),
    ),
    boundary(
        "pub-trace-plain-above-4096",
        "PUB_TRACE of more than 4096 bytes is answered with OK alone",
        breaks=_RESPONSE,
        may_break=f"{_OFFSET} {_SIZE} {_ORDERED}",
        settings=_answer_with(lambda stored: _response(stored) if stored.size < 4096 else OK),
    ),
    extra(
        "pub-trace-id-kept-in-the-body",
        "the body of a PUB_TRACE message is delivered with the trace id in front of it",
        breaks=_LAYOUT,
        may_break=(
            f"{_ORDERED} {_INTERNAL} {_ANY} {_HALVES} {_FINISH} smart.trace.partition "
            "smart.order.layout smart.order.ext-place consume.no-header "
            "publish.pub-on-ext-topic disk.no-ext-record smart.order.in-order"
        ),
        overrides=_split(_id_in_the_body),
    ),
    boundary(
        "pub-trace-last-byte-lost",
        "PUB_TRACE bodies above 4096 bytes lose their last byte",
        breaks=_LAYOUT,
        may_break=f"{_ORDERED} {_SIZE} smart.order.in-order",
        overrides=_split(_last_byte_lost_above_4096),
    ),
    condition(
        "pub-trace-zeros-lost",
        "NUL bytes at the start of a PUB_TRACE body are removed",
        breaks=_LAYOUT,
        overrides=_split(_zeros_lost),
    ),
    boundary(
        "pub-trace-id-of-63-bits",
        "PUB_TRACE clears the highest bit of trace ids from 2^63 on",
        breaks=f"{_ANY} {_HALVES}",
        may_break=f"{_RESPONSE} {_INTERNAL} smart.order.position",
        overrides=_split(_id_of_63_bits),
    ),
    boundary(
        "pub-trace-id-through-a-float",
        "PUB_TRACE rounds trace ids above 2^53",
        breaks=f"{_ANY} {_HALVES}",
        may_break=f"{_RESPONSE} {_INTERNAL}",
        overrides=_split(_id_through_a_float),
    ),
    wrong_value(
        "pub-trace-id-little-endian",
        "the trace id of PUB_TRACE is read in little-endian byte order",
        breaks=f"{_ANY} {_HALVES}",
        may_break=f"{_RESPONSE} {_INTERNAL} consume.no-header smart.order.position",
        overrides=_split(_id_little_endian),
    ),
    missing(
        "pub-trace-zero-not-answered",
        "PUB_TRACE with trace id 0 is answered with OK alone",
        breaks=_ANY,
        may_break=f"{_BATCH} {_HALVES} {_GROW} {_ORDERED} {_OFFSET}",
        settings=_answer_with(lambda stored: _response(stored) if stored.trace_id else OK),
    ),
    boundary(
        "pub-trace-id-of-the-next",
        "the internal id in the answer to PUB_TRACE is that of the next message",
        breaks=_INTERNAL,
        may_break=f"{_HALVES} {_ANY}",
        settings=_answer_with(
            lambda stored: _response(stored, internal_id=stored.internal_id + 1)
        ),
    ),
    missing(
        "pub-trace-internal-id-always-one",
        "the internal id in the answer to PUB_TRACE is always 1",
        breaks=_INTERNAL,
        may_break=f"{_HALVES} {_GROW} {_ANY}",
        settings=_answer_with(lambda stored: _response(stored, internal_id=1)),
    ),
    condition(
        "pub-trace-internal-id-at-times",
        "the internal id in every third answer to PUB_TRACE is that of the message before",
        breaks=_INTERNAL,
        may_break=f"{_HALVES} {_GROW} {_ANY}",
        settings=_answer_with(
            lambda stored: _response(
                stored, internal_id=stored.internal_id - (stored.internal_id % 3 == 2)
            )
        ),
    ),
    wrong_value(
        "pub-trace-size-without-length",
        "the data size in the answer to PUB_TRACE omits the record's 4 length bytes",
        breaks="smart.order.position",
        may_break=f"disk.position smart.order.increasing {_RESPONSE} {_BATCH}",
        settings=_answer_with(lambda stored: _response(stored, size=stored.size - 4)),
    ),
    wrong_value(
        "pub-trace-offset-of-the-end",
        "the offset in the answer to PUB_TRACE is too high by twice the record's size",
        breaks=_OFFSET,
        may_break=f"disk.position {_ORDERED}",
        settings=_answer_with(
            lambda stored: _response(stored, offset=stored.offset + 2 * stored.size)
        ),
    ),
    boundary(
        "pub-trace-size-of-16-bits",
        "the data size in the answer to PUB_TRACE never exceeds 65535",
        breaks=_SIZE,
        may_break=f"disk.position {_ORDERED}",
        settings=_answer_with(_size_of_the_smallest),
    ),
    missing(
        "pub-trace-offset-missing",
        "the offset in the answer to PUB_TRACE is always 0",
        breaks=_OFFSET,
        may_break=f"disk.position {_ORDERED}",
        settings=_answer_with(lambda stored: _response(stored, offset=0)),
    ),
    boundary(
        "pub-trace-offset-falls",
        "the offset in the answer to PUB_TRACE decreases from each record to the next",
        breaks=_OFFSET,
        may_break=f"disk.position {_ORDERED}",
        settings=_answer_with(lambda stored: _response(stored, offset=(1 << 30) - stored.offset)),
    ),
    wrong_value(
        "pub-trace-other-codes",
        "PUB_TRACE refuses bad sizes and unknown topics with other codes than PUB",
        breaks="smart.trace.errors",
        may_break="smart.trace.short smart.trace.batch",
        overrides=(code_refusals(_other_code),),
    ),
    extra(
        "pub-trace-short-taken",
        "a PUB_TRACE body too short for the trace id is accepted",
        breaks="smart.trace.short",
        may_break="smart.trace.empty",
        settings={"publish.has_trace_room": _any_room},
    ),
    wrong_value(
        "pub-trace-empty-is-its-id",
        "PUB_TRACE with nothing after the trace id stores the trace id as the message",
        breaks="smart.trace.empty",
        settings={"publish.has_trace_room": _room_for_the_id},
        overrides=_split(_id_for_nothing),
    ),
)
