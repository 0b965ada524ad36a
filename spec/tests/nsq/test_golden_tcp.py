"""The grammar against bytes recorded from a real broker."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import pytest
from check_each import check_each

from wireproof_spec.decoding import Schema, decode, encode, spans
from wireproof_spec.nsq import golden, names
from wireproof_spec.nsq.command import CommandLine
from wireproof_spec.nsq.command_faults import command_faults
from wireproof_spec.nsq.command_reader import Command, CommandPart, CommandReader
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    SERVER_FRAME,
    FrameReader,
    ServerFrame,
    error_code,
)
from wireproof_spec.nsq.golden import Scenario, Step
from wireproof_spec.nsq.identify import IdentifyBody
from wireproof_spec.nsq.magic import MAGIC, Magic
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

T = TypeVar("T")

TABLE = tomllib.loads((golden.folder() / "refused.toml").read_text("utf-8"))
SCENARIOS = [scenario for scenario in golden.nsqd_tcp() if scenario.name not in TABLE["waiting"]]
EACH = check_each(SCENARIOS, lambda scenario: scenario.name)


@dataclass(frozen=True)
class Refusal:
    command: int
    by: str
    field: str
    offset: int


def commands(data: bytes) -> Iterator[Command | Refusal]:
    """Read one connection's bytes as the recording broker was set up, up to the first refusal."""
    try:
        decode(MAGIC, data[:4])
    except WireError as error:
        yield Refusal(0, "magic", error.field, error.offset)
        return
    reader = CommandReader(message_limit=204800, body_limit=512000)
    reader.feed(data[4:])
    count, by = 0, "shape"
    try:
        while (command := reader.next_command()) is not NEED_MORE:
            yield command
            count += 1
        by = "end"
        reader.finish()
    except WireError as error:
        yield Refusal(count, by, error.field, error.offset - reader.offset)


def refusals(scenario: Scenario, connection: str) -> list[Refusal]:
    found: list[Refusal] = []
    for count, command in enumerate(commands(b"".join(scenario.list_sent(connection)))):
        if isinstance(command, Refusal):
            found.append(command)
        else:
            faults = command_faults(command)
            found += (Refusal(count, "content", fault.field, fault.offset) for fault in faults)
    return list(dict.fromkeys(found))


def expected_refusals(scenario: Scenario, connection: str) -> list[Refusal]:
    return [
        Refusal(row.get("command", 0), row["by"], row["field"], row["offset"])
        for row in TABLE["refused"]
        if (row["scenario"], row.get("connection", "A")) == (scenario.name, connection)
    ]


def same_bytes(part: CommandPart[T]) -> bool:
    return encode(part.schema, decode(part.schema, part.data)) == part.data


@EACH
def test_what_a_client_sent_is_read_and_built_back_or_refused_at_the_known_place(
    scenario: Scenario,
) -> None:
    for connection in scenario.connections:
        assert refusals(scenario, connection) == expected_refusals(scenario, connection)
        for command in commands(b"".join(scenario.list_sent(connection))):
            if isinstance(command, Command):
                assert same_bytes(command.line)
                assert command.body is None or same_bytes(command.body)


@EACH
def test_commands_come_out_alike_whole_and_byte_by_byte(scenario: Scenario) -> None:
    data = b"".join(scenario.list_sent("A"))[4:]
    whole = [item for item in commands(names.MAGIC + data) if isinstance(item, Command)]
    reader = CommandReader(message_limit=204800, body_limit=512000)
    slow: list[Command] = []
    step = 1 if len(data) < 2000 else 997  # quadratic in the size of a body otherwise
    try:
        for start in range(0, len(data), step):
            reader.feed(data[start : start + step])
            while (command := reader.next_command()) is not NEED_MORE:
                slow.append(command)
    except WireError:
        pass  # the same place as before: the other test says which

    assert slow == whole


@EACH
def test_every_server_frame_is_read_and_built_back(scenario: Scenario) -> None:
    for connection in scenario.connections:
        received = scenario.list_received(connection)
        reader = FrameReader(limit=1 << 20)
        reader.feed(b"".join(received))
        built = b""
        while (frame := reader.next_frame()) is not NEED_MORE:
            assert frame.frame_type in (
                FRAME_TYPE_RESPONSE,
                FRAME_TYPE_ERROR,
                FRAME_TYPE_MESSAGE,
            )
            built += encode(SERVER_FRAME, frame)
        assert reader.pending == b""
        assert built == b"".join(received)


@EACH
def test_frames_hold_what_the_recorder_read_on_its_own(scenario: Scenario) -> None:
    for step in scenario.steps:
        if step.direction == "recv" and step.frame_type is not None:
            frame = decode(SERVER_FRAME, step.data)
            assert frame.frame_type == step.frame_type
            assert step.text is None or frame.data == step.text.encode("latin-1")


def subscriptions(scenario: Scenario) -> dict[str, tuple[bool, bool]]:
    """Say of each subscribed connection: does its topic have extend parts, is it ordered."""
    found: dict[str, tuple[bool, bool]] = {}
    for connection in scenario.connections:
        extend = False
        for command in commands(b"".join(scenario.list_sent(connection))):
            if isinstance(command, Refusal):
                break
            body, line = command.body, command.line.value
            if body is not None and isinstance(body.value, IdentifyBody):
                extend = b'"extend_support":true' in body.value.json
            if isinstance(line, CommandLine) and line.name.startswith(names.SUB):
                found[connection] = extend, line.name != names.SUB
    return found


def deliveries() -> Iterator[tuple[Scenario, Step, Schema[Message]]]:
    for scenario in SCENARIOS:
        layouts = subscriptions(scenario)
        for step in scenario.steps:
            if step.frame_type == FRAME_TYPE_MESSAGE:
                extend, ordered = layouts[step.connection]
                yield scenario, step, message_schema(extend=extend, ordered=ordered)


def test_every_delivery_is_read_to_the_recorded_values_and_built_back() -> None:
    count = 0
    for scenario, step, schema in deliveries():
        data = decode(SERVER_FRAME, step.data).data
        message = decode(schema, data)
        extend = message.extend
        read = {
            "attempts": message.attempts,
            "trace_id": message.trace_id,
            "body_hex": message.body.hex(),
            "queue_offset": message.disk_queue_offset,
            "raw_size": message.disk_queue_data_size,
            "ext_ver": extend and extend.version,
            "ext_len": extend and extend.data and len(extend.data),
            "ext": extend and extend.data and extend.data.decode("utf-8", "replace"),
        }
        given = dict(step.decoded or {})
        assert {name: read[name] for name in given} == given, scenario.name
        assert {name for name, value in read.items() if value is not None} <= given.keys()
        assert encode(schema, message) == data
        count += 1

    assert count == 79  # as many as the recording holds


def test_every_trace_response_is_read_to_the_recorded_values_and_built_back() -> None:
    count = 0
    for scenario in SCENARIOS:
        for step in scenario.steps:
            if step.decoded and step.frame_type == FRAME_TYPE_RESPONSE:
                data = decode(SERVER_FRAME, step.data).data
                response = decode(TRACE_RESPONSE, data)
                assert {
                    "internal_id": response.internal_id,
                    "trace_id": response.trace_id,
                    "queue_offset": response.disk_queue_offset,
                    "raw_size": response.disk_queue_data_size,
                } == step.decoded
                assert encode(TRACE_RESPONSE, response) == data
                count += 1

    assert count == 20


# What the peer said, and the field that it thereby names. Where two patterns match, the first.
PLACES = [
    (r"E_BAD_PROTOCOL$", "magic"),
    (r"invalid command|TLS required", "name"),
    (r"AUTH invalid number of parameters", "parameters"),
    (r"insufficient number of param", r"topic_name|channel_name|topic_partition|second_space"),
    (r"E_BAD_TOPIC |E_TOPIC_NOT_EXIST ", "topic_name"),
    (r"E_BAD_CHANNEL ", "channel_name"),
    (r"E_BAD_PARTITION ", "topic_partition"),
    (r"E_BAD_EXT ", "extend"),
    (r"invalid consume offset|strconv\.ParseInt", "consume_offset"),
    (r"RDY could not parse count", "count"),
    (r"REQ could not parse timeout", "timeout_ms"),
    (r"IDENTIFY failed to decode JSON", r"json(/.*)?"),
    (r"IDENTIFY heartbeat interval", "json/heartbeat_interval"),
    (r"IDENTIFY output buffer size", "json/output_buffer_size"),
    (r"IDENTIFY output buffer timeout", "json/output_buffer_timeout"),
    (r"IDENTIFY sample rate", "json/sample_rate"),
    (r"IDENTIFY msg timeout", "json/msg_timeout"),
    (r"both deflate and snappy", "json"),
    (r"failed to read message\((?P<i>\d+)\) body size", r"messages\[{i}\]\.size"),
    (r"body too big|message too big|invalid body size -?\d+$", "size"),
    (r"with (trace id|ext json header) enabled", "size"),
    (r"body size 1 in ext json header content length", r"messages\[0\]\.size"),
    (r"in ext json header content length", r"(messages\[\d+\]\.)?header_length"),
    (r"invalid message count", "count"),
    (r"failed to read (message )?body$", r"body|json|secret"),
    (r"E_INVALID_JSON_HEADER ", r"(messages\[\d+\]\.)?json_header"),
    (r"INVALID_TRACE_ID ", r"(messages\[\d+\]\.)?json_header/##trace_id"),
]


def named_place(text: str) -> str | None:
    for pattern, place in PLACES:
        match = re.search(pattern, text)
        if match:
            return place.format(**match.groupdict()) if match.groupdict() else place
    return None


def complaints(scenario: Scenario, connection: str = "A") -> list[str]:
    frames = (decode(SERVER_FRAME, data) for data in scenario.list_received(connection))
    errors = (frame.data for frame in frames if frame.frame_type == FRAME_TYPE_ERROR)
    return [data.decode("latin-1") for data in errors]


def rows() -> list[dict[str, str]]:
    return [row for row in TABLE["refused"] if "scenario" in row]


BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def test_the_table_says_of_each_refusal_what_the_peer_did() -> None:
    for row in rows():
        scenario, connection = BY_NAME[row["scenario"]], row.get("connection", "A")
        complained = bool(complaints(scenario, connection))
        closed = scenario.closed.get(connection, False)
        match row.get("peer", "refuses"):
            case "refuses" | "answers":
                assert complained, row
            case "closes":
                assert closed, row
                assert not complained, row
            case "dies":
                assert scenario.closed["A"], row
            case "accepts" | "waits":
                assert not complained, row
                assert not closed, row
            case other:
                pytest.fail(f"{row}: peer = {other}")


def test_the_peer_refuses_at_the_same_place_unless_the_table_says_why_not() -> None:
    compared = 0
    for row in rows():
        if "peer" in row or "why" in row:
            continue
        places = {named_place(text) for text in complaints(BY_NAME[row["scenario"]])}
        assert any(place and re.fullmatch(place, row["field"]) for place in places), row
        compared += 1

    assert compared > 80


def test_whatever_the_peer_refuses_for_its_form_stands_in_the_table() -> None:
    listed = {row["scenario"] for row in rows()} | TABLE["policy"].keys()
    # An unknown topic, or one of another node, has a right name: that is no matter of form. The
    # state of a connection is none either.
    no_form = re.compile(r"E_TOPIC_NOT_EXIST |in current state")
    for scenario in SCENARIOS:
        for text in complaints(scenario):
            if named_place(text) and not no_form.search(text):
                assert scenario.name in listed, text


def test_policy_rows_have_a_legal_form_and_are_refused() -> None:
    for name in TABLE["policy"]:
        scenario = BY_NAME[name]
        assert refusals(scenario, "A") == []
        assert complaints(scenario) != []


def test_waiting_rows_say_that_they_are_compressed() -> None:
    recorded = {scenario.name: scenario for scenario in golden.nsqd_tcp()}
    for name, compression in TABLE["waiting"].items():
        body = b"".join(recorded[name].list_sent("A"))
        assert f'"{compression}":true'.encode() in body


def test_error_codes_are_the_first_word() -> None:
    codes = {error_code(text.encode("latin-1")) for s in SCENARIOS for text in complaints(s)}

    assert "E_INVALID" in codes
    assert "INVALID_TRACE_ID" in codes
    assert all(re.fullmatch(r"(E_)?[A-Z_]+", code) for code in codes)


def test_spans_cover_every_recorded_command() -> None:
    for scenario in SCENARIOS:
        for command in commands(b"".join(scenario.list_sent("A"))):
            if isinstance(command, Command):
                covered = spans(command.line.schema, command.line.data)
                assert sum(span.length for span in covered) == len(command.line.data)


def test_the_magic_is_recorded() -> None:
    assert decode(MAGIC, SCENARIOS[0].list_sent("A")[0]) == Magic()
    assert ServerFrame(FRAME_TYPE_RESPONSE, names.OK) in {
        decode(SERVER_FRAME, step.data) for s in SCENARIOS for step in s.steps if step.text == "OK"
    }
