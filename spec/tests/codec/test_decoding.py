"""The door: what it says when bytes or values do not fit."""

from typing import Any

import pytest
from construct.lib import Container
from msgspec.structs import replace

from wireproof_spec.decoding import Schema, Span, decode, encode, extent, spans
from wireproof_spec.nsq.acknowledge import FINISH, REQUEUE, Finish, Requeue
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.disk import DISK_RECORD, DISK_RECORD_PLAIN, DiskRecord
from wireproof_spec.nsq.frame import SERVER_FRAME
from wireproof_spec.nsq.identify import AuthBody
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.publish import (
    MPUB_BODY,
    MPUB_EXT_BODY,
    PUB_BODY,
    PUB_EXT_BODY,
    PUB_TRACE_BODY,
    MpubBody,
    MpubExtBody,
    PubBody,
    PubExtBody,
)
from wireproof_spec.nsq.queue_files import OFFSET_META
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

EXT = message_schema(extend=True, ordered=False)
HEAD = "0000000000000001 0002 0000000000000003 0000000000000004"


def u32(number: int) -> str:
    return (number % 2**32).to_bytes(4, "big").hex()


REFUSED: list[tuple[str, Schema[Any], str, str]] = [
    ("negative", PUB_BODY, "ffffffff", "size at byte 0: expected at least 0, found -1"),
    ("cut body", PUB_BODY, "0000000a 616263", "body at byte 4: expected 10 bytes, found 3"),
    ("cut size", PUB_BODY, "0000", "size at byte 0: expected 4 bytes, found 2"),
    ("nothing", PUB_BODY, "", "size at byte 0: expected 4 bytes, found 0"),
    ("one byte missing", PUB_BODY, "00000001", "body at byte 4: expected 1 byte, found 0"),
    ("trailing", PUB_BODY, "00000001 6161", "end at byte 5: expected no more bytes, found 1"),
    ("no room for id", PUB_TRACE_BODY, "00000007", "size at byte 0: expected at least 8, found 7"),
    (
        "header beyond",
        PUB_EXT_BODY,
        "0000000d 0384",
        "header_length at byte 4: expected at most 11, found 900",
    ),
    ("size below 4", SERVER_FRAME, "00000003", "size at byte 0: expected at least 4, found 3"),
    ("wrong OK", TRACE_RESPONSE, "4b4f", 'ok at byte 0: expected "OK", found "KO"'),
    ("wrong id", FINISH, "46494e20 6162", "message_id at byte 4: expected 16 bytes, found 2"),
    (
        "too many",
        MPUB_BODY,
        "00000005 00000002 00",
        "count at byte 4: expected at most 1, found 2",
    ),
    (
        "negative count",
        MPUB_BODY,
        "00000004 ffffffff",
        "count at byte 4: expected at least 0, found -1",
    ),
    (
        "message beyond its batch",
        MPUB_BODY,
        "0000000d 00000001 00000009 616161616161616161",
        "messages[0].size at byte 8: expected at most 5, found 9",
    ),
    (
        "size over its parts",
        MPUB_BODY,
        "00000006 00000000 6161",
        "size at byte 0: expected 4, the bytes its parts take, found 6",
    ),
    (
        "header of the second message",
        MPUB_EXT_BODY,
        "00000010 00000002 00000002 0000 00000002 0001",
        "messages[1].header_length at byte 18: expected at most 0, found 1",
    ),
    (
        "ext beyond",
        EXT,
        f"{HEAD} 04 0005 6161",
        "extend.length at byte 27: expected at most 2, found 5",
    ),
    ("ext cut", EXT, f"{HEAD} 04 00", "extend.length at byte 27: expected 2 bytes, found 1"),
    ("no line feed", COMMAND_LINE, "4e4f50", "line_feed at byte 3: expected 1 byte, found 0"),
    ("second line", COMMAND_LINE, "4e4f500a 0a", "end at byte 4: expected no more bytes, found 1"),
    (
        "indicator",
        DISK_RECORD_PLAIN,
        f"0000001a {HEAD.replace(' 0002', ' a002')}",
        "message.attempts at byte 12: expected 0 to 4095, found 40962",
    ),
    ("short record", DISK_RECORD, "00000019", "length at byte 0: expected at least 26, found 25"),
    (
        "no number",
        OFFSET_META,
        "610a",
        "total_count at byte 0: expected decimal digits, found 0x610a",
    ),
    (
        "no timeout",
        REQUEUE,
        f"52455120 {'61' * 16} 20 0a",
        "timeout_ms at byte 21: expected decimal digits, found 0x0a",
    ),
]


@pytest.mark.parametrize(
    ("schema", "data", "text"),
    [pytest.param(row[1], bytes.fromhex(row[2]), row[3], id=row[0]) for row in REFUSED],
)
def test_an_error_says_where_and_what(schema: Schema[Any], data: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(schema, data)

    assert str(caught.value) == f"{schema.clause}: {text}"
    assert caught.value.__cause__ is None


MESSAGE = Message(1, 2, 3, 4, None, None, None, b"")
PLAIN = message_schema(extend=False, ordered=False)
ORDERED = message_schema(extend=False, ordered=True)
WRONG: Any = "a"
U64 = "0 to 18446744073709551615"
WORD = "a word without space or line feed"


def with_extend(extend: Extend) -> Message:
    return replace(MESSAGE, extend=extend)


UNFIT: list[tuple[str, Schema[Any], object, str]] = [
    (
        "too great",
        TRACE_RESPONSE,
        TraceResponse(1, 2, 3, 2**32),
        "disk_queue_data_size at byte 26: expected 0 to 4294967295, found 4294967296",
    ),
    (
        "negative",
        TRACE_RESPONSE,
        TraceResponse(-1, 2, 3, 4),
        f"internal_id at byte 2: expected {U64}, found -1",
    ),
    (
        "a bool",
        TRACE_RESPONSE,
        TraceResponse(True, 2, 3, 4),
        f"internal_id at byte 2: expected {U64}, found True",
    ),
    (
        "long header",
        PUB_EXT_BODY,
        PubExtBody(bytes(65536), b""),
        "header_length at byte 4: expected 0 to 65535, found 65536",
    ),
    ("short id", FINISH, Finish(b"1"), "message_id at byte 4: expected 16 bytes, found 1"),
    ("text", PUB_BODY, PubBody(WRONG), "body at byte 4: expected bytes, found 'a'"),
    ("no tuple", MPUB_BODY, MpubBody(WRONG), "count at byte 4: expected a tuple, found 'a'"),
    (
        "in the second",
        MPUB_EXT_BODY,
        MpubExtBody((PubExtBody(b"", b""), PubExtBody(b"", WRONG))),
        "messages[1].body at byte 20: expected bytes, found 'a'",
    ),
    (
        "a space",
        COMMAND_LINE,
        CommandLine(b"a b", ()),
        f'name at byte 0: expected {WORD}, found "a b"',
    ),
    (
        "a line feed",
        COMMAND_LINE,
        CommandLine(b"a", (b"b", b"\n")),
        f"parameters[1] at byte 4: expected {WORD}, found 0x0a",
    ),
    (
        "a last CR",
        COMMAND_LINE,
        CommandLine(b"a\r", ()),
        "carriage_return at byte 2: expected no carriage return before it, found one",
    ),
    (
        "ext on plain",
        PLAIN,
        with_extend(Extend(0, None)),
        "extend at byte 0: expected nothing, found Extend(version=0, data=None)",
    ),
    ("no ext", EXT, MESSAGE, "extend at byte 26: expected Extend, found None"),
    (
        "no data",
        EXT,
        with_extend(Extend(4, None)),
        "extend.data at byte 29: expected bytes, found None",
    ),
    (
        "data of version 0",
        EXT,
        with_extend(Extend(0, b"x")),
        'extend.data at byte 27: expected nothing, found "x"',
    ),
    (
        "no offset",
        ORDERED,
        MESSAGE,
        f"disk_queue_offset at byte 26: expected {U64}, found None",
    ),
    (
        "record without ext",
        DISK_RECORD,
        DiskRecord(MESSAGE, 10),
        "message.extend at byte 30: expected Extend, found None",
    ),
    (
        "record attempts",
        DISK_RECORD,
        DiskRecord(replace(MESSAGE, attempts=4096), 0),
        "message.attempts at byte 12: expected 0 to 4095, found 4096",
    ),
    (
        "record indicator",
        DISK_RECORD,
        DiskRecord(MESSAGE, 16),
        "indicator at byte 12: expected 0 to 15, found 16",
    ),
    (
        "a timeout",
        REQUEUE,
        Requeue(bytes(16), -1),
        'timeout_ms at byte 21: expected decimal digits, found "-1"',
    ),
    (
        "another value",
        PUB_BODY,
        AuthBody(b""),
        "value at byte 0: expected PubBody, found AuthBody(secret=b'')",
    ),
]


@pytest.mark.parametrize(
    ("schema", "value", "text"), [pytest.param(*row[1:], id=row[0]) for row in UNFIT]
)
def test_a_value_that_does_not_fit_is_refused_with_its_field(
    schema: Schema[Any], value: object, text: str
) -> None:
    with pytest.raises(WireError) as caught:
        encode(schema, value)

    assert str(caught.value) == f"{schema.clause}: {text}"


def test_no_container_leaves() -> None:
    batch = decode(MPUB_EXT_BODY, bytes.fromhex("0000000e 00000001 00000006 0002 7b7d 6869"))

    assert not isinstance(batch, Container)
    assert batch == MpubExtBody((PubExtBody(b"{}", b"hi"),))
    assert {type(message) for message in batch.messages} == {PubExtBody}
    with pytest.raises(AttributeError, match="immutable"):
        batch.messages = ()  # type: ignore[misc]  # frozen is what is tested
    assert not hasattr(batch, "__dict__")


def test_spans_name_nested_fields() -> None:
    data = bytes.fromhex("0000000e 00000001 00000006 0002 7b7d 6869")

    assert spans(MPUB_EXT_BODY, data) == (
        Span(0, 4, "size", "14"),
        Span(4, 4, "count", "1"),
        Span(8, 4, "messages[0].size", "6"),
        Span(12, 2, "messages[0].header_length", "2"),
        Span(14, 2, "messages[0].json_header", '"{}"'),
        Span(16, 2, "messages[0].body", '"hi"'),
    )


def test_spans_end_with_the_field_that_was_refused() -> None:
    data = bytes.fromhex("0000000d 0384 7b7d")

    assert spans(PUB_EXT_BODY, data) == (
        Span(0, 4, "size", "13"),
        Span(4, 4, "header_length", "0x03847b7d"),
    )


def test_spans_shorten_long_values_only_in_their_text() -> None:
    body = spans(PUB_BODY, encode(PUB_BODY, PubBody(b"a" * 1000)))[-1]

    assert body.length == 1000
    assert len(body.value) < 60
    assert "…" in body.value


def test_the_extent_holds_the_limit_against_the_size() -> None:
    assert extent(PUB_BODY, bytes.fromhex("0000000a"), limit=10) == 14
    with pytest.raises(WireError) as caught:
        extent(PUB_BODY, bytes.fromhex("0000000b"), limit=10)

    assert str(caught.value) == (
        "smart.partition.publish: size at byte 0: expected at most 10, found 11"
    )


def test_the_extent_refuses_a_size_that_nothing_can_have() -> None:
    with pytest.raises(WireError) as caught:
        extent(PUB_TRACE_BODY, bytes.fromhex("00000007"))

    assert (caught.value.field, caught.value.expected) == ("size", "at least 8")


def test_only_sized_shapes_have_an_extent() -> None:
    with pytest.raises(TypeError, match="not led by its size"):
        extent(TRACE_RESPONSE, b"OK")
