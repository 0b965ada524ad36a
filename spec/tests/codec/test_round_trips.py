"""Properties of every wire shape, on values drawn from its outline."""

import itertools
import time
from typing import Any

import pytest
from check_each import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_values import built

from wireproof_spec.decoding import Schema, decode, encode, extent, spans
from wireproof_spec.iggy import frame as iggy_frame
from wireproof_spec.iggy import headers, message, segment
from wireproof_spec.iggy.bodies import (
    command_shapes,
    consumer,
    consumer_groups,
    partitioning,
    poll_messages,
    send_messages,
    streams,
    system,
    topics,
    users,
)
from wireproof_spec.nsq import acknowledge, disk, frame, identify, magic, publish, queue_files
from wireproof_spec.nsq.command import COMMAND_LINE
from wireproof_spec.nsq.message import message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.stream import NEED_MORE, SizedReader
from wireproof_spec.wire_error import WireError

SIZED: list[Schema[Any]] = [
    frame.SERVER_FRAME,
    identify.IDENTIFY_BODY,
    identify.AUTH_BODY,
    publish.PUB_BODY,
    publish.PUB_TRACE_BODY,
    publish.PUB_EXT_BODY,
    publish.MPUB_BODY,
    publish.MPUB_TRACE_BODY,
    publish.MPUB_EXT_BODY,
    disk.DISK_RECORD_PLAIN,
    disk.DISK_RECORD_EXT,
    disk.DISK_RECORD,
    disk.disk_record_schema("from-record", length_always=True),
    iggy_frame.REQUEST,
]
MESSAGES: list[Schema[Any]] = [
    message_schema(extend=extend, ordered=ordered, length_always=always)
    for extend in (False, True)
    for ordered in (False, True)
    for always in (False, True)
]
FIXED: list[Schema[Any]] = [
    magic.MAGIC,
    COMMAND_LINE,
    acknowledge.FINISH,
    acknowledge.REQUEUE,
    acknowledge.TOUCH,
    TRACE_RESPONSE,
    queue_files.OFFSET_META,
    queue_files.WRITER_META,
    queue_files.WRITER_META_TEMPORARY,
    queue_files.COMMIT_LOG_RECORD,
    iggy_frame.RESPONSE,
    command_shapes.NOTHING,
    consumer.CONSUMER_TAGGED,
    partitioning.PARTITIONING,
    message.MESSAGE_OF_KNOWN_STATE,
    message.OLD_MESSAGE,
    poll_messages.POLL_MESSAGES,
    poll_messages.POLLED_MESSAGES_TAGGED,
    streams.CREATE_STREAM_TAGGED,
    consumer_groups.GROUP_MEMBER,
    system.STATS,
    system.CLIENT_DETAILS,
    users.LOGIN_USER,
]
REPEATED: list[Schema[Any]] = [
    headers.HEADERS,
    send_messages.SEND_MESSAGES,
    segment.LOG,
    segment.TIME_INDEX,
    topics.CREATE_TOPIC,
    topics.TOPIC_DETAILS,
]
"""What ends with as many of one shape, or letters, as there are."""
ALL = SIZED + MESSAGES + FIXED + REPEATED

FEW = settings(max_examples=min(25, settings().max_examples), deadline=None)
"""Few for each of so many shapes; no deadline, since a busy machine proves nothing."""
EACH = pytest.mark.parametrize("schema", ALL, ids=lambda schema: schema.name)
EACH_SIZED = pytest.mark.parametrize("schema", SIZED, ids=lambda schema: schema.name)


@EACH
@FEW
@given(data=st.data())
def test_a_drawn_value_keeps_its_promises(schema: Schema[Any], data: st.DataObject) -> None:
    """One draw for all: to draw costs ten times what the checks do."""
    value, encoded = data.draw(built(schema))

    check_it_comes_back(schema, value, encoded)
    check_spans_tile(schema, encoded)
    check_cut(schema, encoded, data.draw(st.integers(0, max(len(encoded) - 1, 0))))
    at = data.draw(st.integers(0, max(len(encoded) - 1, 0)))
    check_either_way(schema, encoded[:at] + data.draw(st.binary(max_size=9)) + encoded[at + 1 :])
    if schema in SIZED:
        check_extent(schema, encoded)


def check_it_comes_back(schema: Schema[Any], value: object, encoded: bytes) -> None:
    assert decode(schema, encoded) == value
    assert encode(schema, decode(schema, encoded)) == encoded


def check_spans_tile(schema: Schema[Any], encoded: bytes) -> None:
    found = spans(schema, encoded)

    assert sum(span.length for span in found) == len(encoded)
    assert [span.offset for span in found] == sorted(span.offset for span in found)


def check_extent(schema: Schema[Any], encoded: bytes) -> None:
    assert extent(schema, encoded[:4]) == len(encoded)
    assert all(extent(schema, encoded[:seen]) is None for seen in range(4))


def attempted(schema: Schema[Any], data: bytes) -> object:
    """Decode; return the error rather than raise it. Anything but a WireError is a bug."""
    try:
        return decode(schema, data)
    except WireError as error:
        return error


def check_cut(schema: Schema[Any], encoded: bytes, cut: int) -> None:
    """A cut is refused where the bytes run out."""
    whole = spans(schema, encoded)
    found = attempted(schema, encoded[:cut])
    if isinstance(found, WireError):
        refused = spans(schema, encoded[:cut])[-1]
        assert (refused.field, refused.offset) == (found.field, found.offset)
        starts = {span.offset for span in whole}
        assert found.offset <= cut
        assert found.offset in starts or found.offset == cut  # a number or word may be shorter
    else:
        assert not encoded or schema in MESSAGES or schema in REPEATED  # takes what there is
        starts = {span.offset for span in whole}
        assert cut in starts or not encoded or whole[-1].offset <= cut


@EACH
@FEW
@given(data=st.binary(max_size=120))
def test_any_bytes_are_a_value_or_a_wire_error(schema: Schema[Any], data: bytes) -> None:
    check_either_way(schema, data)


def check_either_way(schema: Schema[Any], data: bytes) -> None:
    """Any bytes are a value, with its bytes, or a WireError at a known field."""
    found = attempted(schema, data)
    if isinstance(found, WireError):
        assert 0 <= found.offset <= len(data)
        assert spans(schema, data)[-1].field == found.field
    else:
        assert encode(schema, found) == data


@EACH_SIZED
@FEW
@given(data=st.data())
def test_a_stream_gives_the_same_values_whatever_its_pieces(
    schema: Schema[Any], data: st.DataObject
) -> None:
    pairs = data.draw(st.lists(built(schema), max_size=3))
    stream = b"".join(encoded for _, encoded in pairs)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6).map(sorted))
    reader = SizedReader(schema, limit=1 << 20)
    found: list[object] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[start:end])
        while (value := reader.next()) is not NEED_MORE:
            found.append(value)

    assert found == [value for value, _ in pairs]
    assert (reader.pending, reader.offset) == (b"", len(stream))
    reader.finish()


HOSTILE = [2**31 - 1, 2**31, 2**32 - 1, 2**30, 2**24]


@check_each(itertools.product(SIZED, HOSTILE), lambda row: f"{row[0].name} {row[1]}")
def test_hostile_numbers_return_at_once(row: tuple[Schema[Any], int]) -> None:
    schema, number = row
    word = number.to_bytes(4, "big")
    started = time.process_time()
    for data in (word, word * 2, word * 3, word * 10, word + bytes(60), word * 2 + bytes(4000)):
        with pytest.raises(WireError):
            decode(schema, data)

    assert time.process_time() - started < 2


@FEW
@given(count=st.integers(1, 2**31 - 1))
def test_no_count_makes_a_batch_loop_beyond_its_bytes(count: int) -> None:
    size = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(WireError) as caught:
        decode(publish.MPUB_BODY, size + count.to_bytes(4, "big") + bytes(16))

    assert caught.value.offset <= 24
