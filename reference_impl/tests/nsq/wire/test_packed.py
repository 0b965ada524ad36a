"""The bytes packed by hand are those of the schemas."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from wireproof_reference_impl.nsq.delivery import message_parts
from wireproof_reference_impl.nsq.storage import notes
from wireproof_reference_impl.nsq.storage.queue_position import QueuePosition
from wireproof_reference_impl.nsq.storage.records import LENGTH_SIZE, measure_record
from wireproof_reference_impl.nsq.wire import packed, record
from wireproof_reference_impl.nsq.wire.answers import trace_response
from wireproof_reference_impl.nsq.wire.message import Message, NewMessage, PublishResult
from wireproof_spec.decoding import Schema, decode, encode, extent
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame
from wireproof_spec.nsq.message import Extend, message_schema
from wireproof_spec.nsq.message import Message as WireMessage
from wireproof_spec.nsq.queue_files import (
    OFFSET_META,
    WRITER_META,
    WRITER_META_TEMPORARY,
    OffsetMeta,
    WriterMeta,
)
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

U64 = st.integers(0, 2**64 - 1)
NOTED = st.integers(0, 10**18 // 2 - 1)
WORDS = st.sampled_from(["0", "12", "9" * 18, "1" + "0" * 18, "01", "-1", "+1", " 1", ""])
NOTES = st.builds("{}\n{},{}\n".format, WORDS, WORDS, WORDS) | st.builds(
    "{}\n{},{},{}\n".format, WORDS, WORDS, WORDS, WORDS
)
T = TypeVar("T")

TIMESTAMPS = st.integers(0, 2**63 - 1)
HEADERS = st.none() | st.binary(max_size=300)
BODIES = st.binary(max_size=300)


@given(st.sampled_from([0, 1, 2]), BODIES)
def test_frame(frame_type: int, data: bytes) -> None:
    assert packed.frame(frame_type, data) == encode(SERVER_FRAME, ServerFrame(frame_type, data))


@given(U64, U64, U64, st.integers(0, 2**32 - 1))
def test_trace_response(internal_id: int, trace_id: int, offset: int, size: int) -> None:
    expected = TraceResponse(internal_id, trace_id, offset, size)
    assert trace_response(PublishResult(internal_id, trace_id, offset, size)) == encode(
        TRACE_RESPONSE, expected
    )


@given(TIMESTAMPS, U64, U64, HEADERS, BODIES, st.booleans())
def test_record(
    timestamp_ns: int,
    internal_id: int,
    trace_id: int,
    header: bytes | None,
    body: bytes,
    extend: bool,
) -> None:
    entry = NewMessage(body, trace_id, header if extend else None)
    data = record.build(entry, timestamp_ns, internal_id=internal_id, extend=extend, version=4)
    part = Extend(0 if header is None else 4, header) if extend else None
    message = WireMessage(timestamp_ns, 0, internal_id, trace_id, part, None, None, body)
    assert data == encode(DISK_RECORD, DiskRecord(message, 0xA if extend else 0))
    read = record.read(data, 70, 3)
    assert (read.header, read.body, read.internal_id) == (entry.header, body, internal_id)
    assert (read.offset, read.size, read.number, read.old) == (70, len(data), 3, not extend)


@given(TIMESTAMPS, st.integers(1, 4000), U64, U64, HEADERS, BODIES, st.booleans())
def test_delivered_message(
    timestamp_ns: int,
    attempts: int,
    internal_id: int,
    trace_id: int,
    header: bytes | None,
    body: bytes,
    ordered: bool,
) -> None:
    message = Message(
        timestamp_ns, internal_id, trace_id, 0 if header is None else 4, header, body, 9, 99, 0
    )
    extend = message_parts.short_extend_part(message)
    position = message_parts.own_position(message) if ordered else b""
    data = message_parts.message_data(message, attempts, extend=extend, position=position)
    offset, size = (9, 99) if ordered else (None, None)
    part = Extend(message.version, header)
    expected = WireMessage(timestamp_ns, attempts, internal_id, trace_id, part, offset, size, body)
    assert decode(message_schema(extend=True, ordered=ordered), data) == expected


@given(HEADERS)
def test_extend_part_as_drawn(header: bytes | None) -> None:
    message = Message(1, 1, 1, 0 if header is None else 4, header, b"x", 0, 0, 0)
    data = message_parts.head(message, 1) + message_parts.full_extend_part(message) + b"x"
    schema = message_schema(extend=True, ordered=False, length_always=True)
    assert decode(schema, data).extend == Extend(message.version, header or b"")


@given(NOTED, NOTED, NOTED, NOTED)
def test_notes_beside_a_queue(count: int, number: int, position: int, begin: int) -> None:
    end = QueuePosition(count, number, position, begin + position)
    writer = WriterMeta(count, number, position, end.offset)
    finished = OffsetMeta(count, begin, end.offset)
    assert notes.writer_meta(end) == encode(WRITER_META_TEMPORARY, writer)
    note = notes.writer_meta(end) + notes.MAGIC
    assert note == encode(WRITER_META, writer)
    assert notes.read_writer_meta(note) == end
    assert notes.offset_meta(end) == encode(OFFSET_META, finished)
    assert notes.read_offset_meta(notes.offset_meta(end)) == astuple(finished)


@given(NOTES, st.sampled_from([b"", notes.MAGIC]))
def test_what_is_no_note_is_none_to_either(text: str, end: bytes) -> None:
    note = text.encode() + end
    assert (notes.read_offset_meta(note) is None) is not _decodes(OFFSET_META, note)
    assert (notes.read_writer_meta(note) is None) is not _decodes(WRITER_META, note)


@given(st.binary(max_size=60))
def test_a_record_is_whole_where_the_schema_has_one(data: bytes) -> None:
    head = data[:LENGTH_SIZE]
    expected = _size_or_fault(lambda: extent(DISK_RECORD, head))
    found = _size_or_fault(lambda: measure_record(head, len(data), 0))
    if isinstance(expected, int) and expected <= len(data):
        assert found == expected
    elif isinstance(expected, WireError):
        assert isinstance(found, WireError)
        assert vars(found) == vars(expected)
    else:
        assert isinstance(found, WireError)
        assert found.found == str(len(data))


def _decodes(schema: Schema[T], data: bytes) -> bool:
    try:
        decode(schema, data)
    except WireError:
        return False
    return True


def _size_or_fault(size: Callable[[], int | None]) -> int | WireError | None:
    try:
        return size()
    except WireError as error:
        return error
