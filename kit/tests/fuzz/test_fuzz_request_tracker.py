import itertools
import re

import h11
from check_each import check_each
from fuzz_grammars import EACH_KIND, Row, frames, of_protocol

from wireproof_kit.fuzz.case import Field, Frame
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced
from wireproof_spec.iggy.bodies.payloads import decode_payload
from wireproof_spec.iggy.bodies.send_messages import SEND_MESSAGES, SendMessages, SentMessage
from wireproof_spec.iggy.frame import REQUEST
from wireproof_spec.iggy.headers import Header
from wireproof_spec.nsq import command_faults, names
from wireproof_spec.nsq.command_reader import Command, CommandReader
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, MpubExtBody, PubExtBody


def by_path(frame: Frame) -> dict[str, Field]:
    return {field.path: field for field in frame.fields}


def test_a_batch_with_headers() -> None:
    value = MpubExtBody((PubExtBody(b"{}", b"one"), PubExtBody(b"", b"")))

    found = by_path(
        field_map.frame("MPUB_EXT", MPUB_EXT_BODY, value, {"messages[].json_header": "json"})
    )

    assert found["size"] == Field("size", 0, 4, "length", (4, 25), "big")
    assert found["count"] == Field("count", 4, 8, "count", (8, 25), "big", ("size",))
    assert found["messages[0].header_length"].covers == (14, 16)
    assert found["messages[0].json_header"].role == "json"
    assert found["messages[1].json_header"].measured_by == (
        "size",
        "count",
        "messages[1].size",
        "messages[1].header_length",
    )
    assert found["messages[1].body"].measured_by == ("size", "count", "messages[1].size")


def test_a_block_of_headers_led_by_its_length() -> None:
    headers = (Header("k", 2, b"v"), Header("l", 2, b"w"))
    value = SendMessages(numeric(1), numeric(2), make_balanced(), (SentMessage(0, headers, b"x"),))

    found = by_path(field_map.frame("send", SEND_MESSAGES, value))

    block = found["messages[0].headers.length"]
    assert block.covers == (
        found["messages[0].headers[0].key_length"].start,
        found["messages[0].headers[1].value"].end,
    )
    assert block.order == "little"
    assert found["messages[0].headers[1].key"].measured_by == (
        "messages[0].headers.length",
        "messages[0].headers[1].key_length",
    )
    assert found["stream.kind"].role == "enumerator"
    assert found["messages[0].id"].role == "number"


@EACH_KIND
def test_fields_lie_side_by_side_from_the_first_byte_to_the_last(row: Row) -> None:
    for frame in frames(row[1]):
        assert frame.fields[0].start == 0
        assert frame.fields[-1].end == len(frame.data)
        pairs = itertools.pairwise(frame.fields)
        assert all(first.end == second.start for first, second in pairs)


@EACH_KIND
def test_lengths_and_counts_are_true_of_what_they_cover(row: Row) -> None:
    for frame in frames(row[1]):
        prepared = FieldIndex(frame)
        for field in frame.fields:
            if field.role == "length":
                assert field.covers is not None
                start, end = field.covers
                assert prepared.number_in(field) == end - start, field.path
            if field.role == "count" and field.covers is not None:
                items = {
                    each.path[: each.path.index("]")]
                    for each in frame.fields
                    if field.path in each.measured_by
                }
                assert prepared.number_in(field) == len(items), field.path


@EACH_KIND
def test_what_is_measured_lies_within(row: Row) -> None:
    for frame in frames(row[1]):
        found = by_path(frame)
        for field in frame.fields:
            for path in field.measured_by:
                covers = found[path].covers
                assert covers is not None
                assert covers[0] <= field.start <= field.end <= covers[1]


@check_each(of_protocol("nsq", "tcp"), lambda kind: kind.name)
def test_every_command_is_right_by_the_grammar(kind: Kind) -> None:
    for frame in frames(kind):
        if kind.name == "magic":
            assert frame.data == names.MAGIC
            continue
        reader = CommandReader()
        reader.feed(frame.data)
        command = reader.next_command()
        assert isinstance(command, Command)
        assert reader.pending == b""
        assert command_faults.command_faults(command) == ()
        assert re.split(rb"[ \r\n]", frame.data)[0].decode() == kind.name


@check_each(of_protocol("iggy", "tcp"), lambda kind: kind.name)
def test_every_request_is_right_by_the_grammar(kind: Kind) -> None:
    for frame in frames(kind):
        request = decode(REQUEST, frame.data)
        decode_payload(request.code, request.payload)


HTTP = [*of_protocol("nsq", "http"), *of_protocol("iggy", "http")]


@check_each(HTTP, lambda kind: kind.name)
def test_every_http_request_is_one_that_a_server_reads(kind: Kind) -> None:
    for frame in frames(kind):
        server = h11.Connection(h11.SERVER)
        server.receive_data(frame.data)
        head = server.next_event()
        assert isinstance(head, h11.Request)
        assert kind.name.startswith(head.method.decode())
        while isinstance(event := server.next_event(), h11.Data):
            pass
        assert isinstance(event, h11.EndOfMessage)
        assert server.trailing_data == (b"", False)


def test_what_a_field_holds_nothing_of_stays() -> None:
    (ping,) = [kind for kind in of_protocol("iggy", "tcp") if kind.name == "ping"]

    assert [field.path for field in frames(ping)[0].fields] == ["length", "code", "payload"]
