"""Every wire shape by one table of value and bytes, used in both directions."""

from typing import Any

import pytest
from msgspec.structs import replace
from shape_rows import Row, check_both_ways, each_shape

from wireproof_spec.decoding import Schema, decode, spans
from wireproof_spec.nsq.acknowledge import FINISH, REQUEUE, TOUCH, Finish, Requeue, Touch
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.disk import (
    DISK_RECORD,
    DISK_RECORD_EXT,
    DISK_RECORD_PLAIN,
    DiskRecord,
    disk_record_schema,
)
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame
from wireproof_spec.nsq.identify import AUTH_BODY, IDENTIFY_BODY, AuthBody, IdentifyBody
from wireproof_spec.nsq.magic import MAGIC, Magic
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.publish import (
    MPUB_BODY,
    MPUB_EXT_BODY,
    MPUB_TRACE_BODY,
    PUB_BODY,
    PUB_EXT_BODY,
    PUB_TRACE_BODY,
    MpubBody,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.nsq.queue_files import (
    COMMIT_LOG_RECORD,
    OFFSET_META,
    WRITER_META,
    WRITER_META_TEMPORARY,
    CommitLogRecord,
    OffsetMeta,
    WriterMeta,
)
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

ID = bytes(range(1, 17))
PLAIN = Message(1, 2, 3, 4, None, None, None, b"hi")
ORDERED = replace(PLAIN, disk_queue_offset=5, disk_queue_data_size=6)
HEAD = "0000000000000001 0002 0000000000000003 0000000000000004"
DISK_HEAD = "0000000000000001 {} 0000000000000003 0000000000000004"


def message(*, extend: bool, ordered: bool, length_always: bool = False) -> Schema[Message]:
    return message_schema(extend=extend, ordered=ordered, length_always=length_always)


SHAPES: list[tuple[str, Schema[Any], object, str]] = [
    ("magic", MAGIC, Magic(), "20205632"),
    ("response", SERVER_FRAME, ServerFrame(0, b"OK"), "00000006 00000000 4f4b"),
    ("frame without data", SERVER_FRAME, ServerFrame(7, b""), "00000004 00000007"),
    ("IDENTIFY", IDENTIFY_BODY, IdentifyBody(b"{}"), "00000002 7b7d"),
    ("AUTH", AUTH_BODY, AuthBody(b"s"), "00000001 73"),
    ("PUB", PUB_BODY, PubBody(b"hi"), "00000002 6869"),
    ("PUB, empty", PUB_BODY, PubBody(b""), "00000000"),
    ("PUB_TRACE", PUB_TRACE_BODY, PubTraceBody(2**64 - 1, b"h"), "00000009 ffffffffffffffff 68"),
    ("PUB_EXT", PUB_EXT_BODY, PubExtBody(b"{}", b"hi"), "00000006 0002 7b7d 6869"),
    ("PUB_EXT, empty", PUB_EXT_BODY, PubExtBody(b"", b""), "00000002 0000"),
    (
        "MPUB",
        MPUB_BODY,
        MpubBody((PubBody(b"a"), PubBody(b""))),
        "0000000d 00000002 00000001 61 00000000",
    ),
    ("MPUB, none", MPUB_BODY, MpubBody(()), "00000004 00000000"),
    (
        "MPUB_TRACE",
        MPUB_TRACE_BODY,
        MpubTraceBody((PubTraceBody(9, b"a"),)),
        "00000011 00000001 00000009 0000000000000009 61",
    ),
    (
        "MPUB_EXT",
        MPUB_EXT_BODY,
        MpubExtBody((PubExtBody(b"{}", b"y"), PubExtBody(b"", b"z"))),
        "00000014 00000002 00000005 0002 7b7d 79 00000003 0000 7a",
    ),
    ("line", COMMAND_LINE, CommandLine(b"SUB", (b"t", b"c", b"0")), "535542 20 74 20 63 20 30 0a"),
    ("line of one word", COMMAND_LINE, CommandLine(b"NOP", ()), "4e4f50 0a"),
    ("line with CR", COMMAND_LINE, CommandLine(b"NOP", (), carriage_return=True), "4e4f50 0d0a"),
    (
        "line with a CR within",
        COMMAND_LINE,
        CommandLine(b"a\rb", (b"c\r", b"d")),
        "610d62 20 630d 20 64 0a",
    ),
    ("line with two CR", COMMAND_LINE, CommandLine(b"a\r", (), carriage_return=True), "610d 0d0a"),
    ("line with empty words", COMMAND_LINE, CommandLine(b"", (b"", b"a", b"")), "20 20 61 20 0a"),
    ("line without words", COMMAND_LINE, CommandLine(b"", ()), "0a"),
    ("FIN", FINISH, Finish(ID), "46494e20" + ID.hex() + "0a"),
    ("FIN, line feeds", FINISH, Finish(b"\n" * 16), "46494e20" + "0a" * 17),
    ("REQ", REQUEUE, Requeue(ID, 300), "52455120" + ID.hex() + "20 333030 0a"),
    ("REQ at once", REQUEUE, Requeue(ID, 0), "52455120" + ID.hex() + "20 30 0a"),
    ("TOUCH", TOUCH, Touch(ID), "544f55434820" + ID.hex() + "0a"),
    (
        "trace response",
        TRACE_RESPONSE,
        TraceResponse(1, 2, 3, 4),
        "4f4b 0000000000000001 0000000000000002 0000000000000003 00000004",
    ),
    ("message", message(extend=False, ordered=False), PLAIN, f"{HEAD} 6869"),
    (
        "message, ordered",
        message(extend=False, ordered=True),
        ORDERED,
        f"{HEAD} 0000000000000005 00000006 6869",
    ),
    (
        "message, ext",
        message(extend=True, ordered=False),
        replace(PLAIN, extend=Extend(4, b"{}")),
        f"{HEAD} 04 0002 7b7d 6869",
    ),
    (
        "message, ext without header",
        message(extend=True, ordered=False),
        replace(PLAIN, extend=Extend(0, None)),
        f"{HEAD} 00 6869",
    ),
    (
        "message, ext without header, as drawn",
        message(extend=True, ordered=False, length_always=True),
        replace(PLAIN, extend=Extend(0, b"")),
        f"{HEAD} 00 0000 6869",
    ),
    (
        "message, ext, ordered",
        message(extend=True, ordered=True),
        replace(ORDERED, extend=Extend(4, b"{}")),
        f"{HEAD} 04 0002 7b7d 0000000000000005 00000006 6869",
    ),
    (
        "message, ext, ordered, without header",
        message(extend=True, ordered=True),
        replace(ORDERED, extend=Extend(0, None)),
        f"{HEAD} 00 0000000000000005 00000006 6869",
    ),
    (
        "record",
        DISK_RECORD_PLAIN,
        DiskRecord(replace(PLAIN, attempts=0), 0),
        f"0000001c {DISK_HEAD.format('0000')} 6869",
    ),
    (
        "record, greatest counter",
        DISK_RECORD_PLAIN,
        DiskRecord(replace(PLAIN, attempts=4095), 0),
        f"0000001c {DISK_HEAD.format('0fff')} 6869",
    ),
    (
        "record, ext",
        DISK_RECORD_EXT,
        DiskRecord(replace(PLAIN, attempts=1, extend=Extend(4, b"{}")), 0xA),
        f"00000021 {DISK_HEAD.format('a001')} 04 0002 7b7d 6869",
    ),
    (
        "record, ext without header",
        DISK_RECORD,
        DiskRecord(replace(PLAIN, attempts=0, extend=Extend(0, None)), 0xA),
        f"0000001d {DISK_HEAD.format('a000')} 00 6869",
    ),
    (
        "record, ext without header, as drawn",
        disk_record_schema("from-record", length_always=True),
        DiskRecord(replace(PLAIN, attempts=0, extend=Extend(0, b"")), 1),
        f"0000001f {DISK_HEAD.format('1000')} 00 0000 6869",
    ),
    ("offset meta", OFFSET_META, OffsetMeta(3, 0, 215), b"3\n0,215\n".hex()),
    ("writer meta", WRITER_META, WriterMeta(5, 0, 282, 282), b"5\n0,282,282\n".hex() + "ae83"),
    (
        "writer meta, temporary",
        WRITER_META_TEMPORARY,
        WriterMeta(5, 1, 28, 282),
        b"5\n1,28,282\n".hex(),
    ),
    (
        "commit log record",
        COMMIT_LOG_RECORD,
        CommitLogRecord(7, 1, 9, 317, 146, 6, 3),
        "0000000000000007 0000000000000001 0000000000000009 000000000000013d 00000092"
        "0000000000000006 00000003",
    ),
]
EACH = each_shape(SHAPES)


@EACH
def test_a_value_and_its_bytes_make_each_other(row: Row) -> None:
    check_both_ways(row)


@EACH
def test_a_cut_is_refused_where_the_bytes_run_out(row: Row) -> None:
    schema, data = row.schema, row.data
    ends_anywhere = schema.name.startswith("message")  # its body takes what is there
    least = len(data) - 2 if ends_anywhere else len(data)
    for cut in range(least):
        with pytest.raises(WireError) as caught:
            decode(schema, data[:cut])
        assert caught.value.offset <= cut
        assert caught.value.clause == schema.clause
        last = spans(schema, data[:cut])[-1]
        assert (last.field, last.offset) == (caught.value.field, caught.value.offset)
        assert last.offset + last.length == cut


@EACH
def test_trailing_bytes_are_refused(row: Row) -> None:
    schema, data = row.schema, row.data
    if schema.name.startswith("message"):
        assert decode(schema, data + b"!").body == b"hi!"
        return
    with pytest.raises(WireError) as caught:
        decode(schema, data + b"!")

    assert (caught.value.field, caught.value.offset) == ("end", len(data))
    assert spans(schema, data + b"!")[-1].field == "end"
