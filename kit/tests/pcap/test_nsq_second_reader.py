"""construct and scapy read NSQ alike: all that was recorded, and all that can be drawn."""

from collections.abc import Iterator
from itertools import product
from typing import Any, TypeAlias

import pytest
from check_each import check_each
from example_count import examples
from fuzz_grammars import NSQ_NAMES
from fuzz_grammars import frames as frames_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from schema_values import built
from second_reader import REFUSED, Row, agree, by_construct, by_scapy, changed, dissected, spanned

from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.nsq.fuzz.frames import TCP
from wireproof_kit.nsq.fuzz.grammar import grammar as nsq_grammar
from wireproof_kit.nsq.pcap import commands, frames
from wireproof_kit.nsq.pcap.messages import MESSAGES, Stored
from wireproof_kit.pcap.layer import Layer, LayerViolation, Short, cut
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.nsq import acknowledge, golden, names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.command_reader import BODIES, Command, CommandReader
from wireproof_spec.nsq.disk import DISK_RECORD
from wireproof_spec.nsq.frame import SERVER_FRAME, FrameReader, ServerFrame
from wireproof_spec.nsq.message import message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.wire_error import WireError

LIMIT = 1 << 32
MORE = "needs more"
END = "end"

SAME = {
    "command_name": "name",
    "identity": "json",
    **dict.fromkeys(["topic", "channel", "partition", "offset", "extend"], "parameters"),
    "words": "parameters",
    "blank": "space",
    "second_blank": "second_space",
    "extend_version": "version",
    "extend_length": "length",
    "extend_data": "data",
    "text": "data",
}
"""Field of a layer → field of the grammar, where the texts have no word for it."""
READY = {**SAME, "count": "parameters"}

Reading: TypeAlias = list[list[Row]]
"""What a stream was read as, frame by frame; the last row says how it ended."""


def ended(reading: Reading, how: str) -> Reading:
    return [*reading, [(how, b"", "")]]


def commands_by_construct(stream: bytes) -> Reading:
    reader = CommandReader(line_limit=LIMIT, message_limit=LIMIT, body_limit=LIMIT)
    reader.feed(stream)
    found: Reading = []
    try:
        while isinstance(command := reader.next_command(), Command):
            rows = list(spanned(command.line.schema, command.line.data))
            if command.body is not None:
                rows += spanned(command.body.schema, command.body.data)
            found.append(rows)
    except WireError:
        return ended(found, REFUSED)
    return ended(found, MORE if reader.pending else END)


def commands_by_scapy(stream: bytes) -> Reading:
    found: Reading = []
    try:
        while stream:
            layer, stream = commands.read_command(stream)
            told = READY if isinstance(layer, commands.Ready) else SAME
            found.append(joined_id(dissected(layer, told)))
    except Short:
        return ended(found, MORE)
    except LayerViolation:
        return ended(found, REFUSED)
    return ended(found, END)


def joined_id(rows: Iterator[Row]) -> list[Row]:
    """Join the halves of a message id, which the grammar takes as one in commands."""
    found: list[Row] = []
    for row in rows:
        if row[0] == "trace_id" and found[-1][0] == "internal_id":
            found[-1] = ("message_id", found[-1][1] + row[1], "")
        else:
            found.append(row)
    return found


def frames_by_construct(stream: bytes) -> Reading:
    reader = FrameReader(LIMIT)
    reader.feed(stream)
    found: Reading = []
    try:
        while isinstance(frame := reader.next_frame(), ServerFrame):
            found.append(list(spanned(SERVER_FRAME, encode(SERVER_FRAME, frame))))
    except WireError:
        return ended(found, REFUSED)
    return ended(found, MORE if reader.pending else END)


def frames_by_scapy(stream: bytes) -> Reading:
    found: Reading = []
    try:
        while stream:
            frame, stream = cut(frames.Frame, stream)
            size, frame_type, *_ = dissected(frame, SAME)
            data = bytes(frame.payload)
            found.append([size, frame_type, *([("data", data, "")] if data else [])])
    except Short:
        return ended(found, MORE)
    except LayerViolation:
        return ended(found, REFUSED)
    return ended(found, END)


def both_agree(one: Reading, other: Reading) -> None:
    assert [len(rows) for rows in one] == [len(rows) for rows in other], (one[-1], other[-1])
    for rows, others in zip(one, other, strict=True):
        agree(rows, others)


RECORDED = [
    (scenario, connection) for scenario in golden.nsqd_tcp() for connection in scenario.connections
]
EACH_RECORDED = check_each(RECORDED, lambda row: f"{row[0].name}-{row[1]}")


@EACH_RECORDED
def test_recorded_commands(row: tuple[golden.Scenario, str]) -> None:
    scenario, connection = row
    stream = b"".join(scenario.list_sent(connection)).removeprefix(commands.MAGIC)

    both_agree(commands_by_construct(stream), commands_by_scapy(stream))


@EACH_RECORDED
def test_recorded_frames(row: tuple[golden.Scenario, str]) -> None:
    scenario, connection = row
    stream = b"".join(scenario.list_received(connection))

    both_agree(frames_by_construct(stream), frames_by_scapy(stream))


BOTH = (False, True)
INNER: list[tuple[Schema[Any], type[Layer]]] = [
    (TRACE_RESPONSE, frames.TraceReply),
    *(
        (message_schema(extend=extend, ordered=ordered), MESSAGES[extend, ordered])
        for extend, ordered in product(BOTH, BOTH)
    ),
]
EACH_INNER = pytest.mark.parametrize(
    ("schema", "kind"), INNER, ids=[schema.name for schema, _ in INNER]
)


@EACH_INNER
def test_recorded_data_of_frames(schema: Schema[Any], kind: type[Layer]) -> None:
    """Every data is read as every kind: no reader knows how somebody subscribed."""
    read = 0
    for scenario, connection in RECORDED:
        for frame in frames_by_construct(b"".join(scenario.list_received(connection)))[:-1]:
            data = frame[-1][1]
            found = by_construct(schema, data)
            agree(found, by_scapy(kind, data, SAME))
            read += found != REFUSED

    assert read


def test_recorded_queues() -> None:
    """Records of plain, extended and upgraded topics, one behind the other."""
    number = 0
    for folder in (golden.folder() / "nsqd-disk").iterdir():
        for file in folder.iterdir() if folder.is_dir() else ():
            if not file.name.endswith(".dat") or ".diskqueue.0" not in file.name:
                continue
            data = file.read_bytes()
            while data:
                record, behind = cut(Stored, data)
                whole = data[: len(data) - len(behind)]
                agree(by_construct(DISK_RECORD, whole), list(dissected(record, SAME)))
                data, number = behind, number + 1

    assert number > 20


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(built(DISK_RECORD).map(lambda pair: pair[1]), st.data())
def test_drawn_and_damaged_records(whole: bytes, data: st.DataObject) -> None:
    agree(by_construct(DISK_RECORD, whole), by_scapy(Stored, whole, SAME))
    damaged = data.draw(changed(st.just(whole)))
    agree(by_construct(DISK_RECORD, damaged), by_scapy(Stored, damaged, SAME))


SCHEMAS: list[Schema[Any]] = [*BODIES.values()]
WORDS = st.lists(st.from_regex(rb"[^ \r\n]{0,9}", fullmatch=True), max_size=5)
LINES = st.builds(
    lambda name, words, end: b" ".join([name, *words]) + end,
    st.sampled_from([names.SUB, names.SUB_ORDERED, names.RDY, names.NOP, b"FOO", b""]),
    WORDS,
    st.sampled_from([b"\n", b"\r\n"]),
)
WITH_IDS: list[Schema[Any]] = [acknowledge.FINISH, acknowledge.REQUEUE, acknowledge.TOUCH]
ACKNOWLEDGEMENTS = st.sampled_from(WITH_IDS).flatmap(built).map(lambda pair: pair[1])
SIZED = st.builds(
    lambda line, body: line + body[1],
    st.builds(lambda name, words: command_line(name, *words), st.sampled_from([*BODIES]), WORDS),
    st.sampled_from(SCHEMAS).flatmap(built),
)
"""A line and any body, mostly of another command: readers must agree what it is then."""
FITTING = st.sampled_from([*BODIES]).flatmap(
    lambda name: built(BODIES[name]).map(lambda pair: command_line(name, "t", 0) + pair[1])
)
STREAMS = st.lists(LINES | ACKNOWLEDGEMENTS | FITTING | SIZED, min_size=1, max_size=4).map(
    b"".join
)
MANY = settings(max_examples=examples(300), deadline=None)


@pytest.mark.slow
@MANY
@given(STREAMS)
def test_drawn_commands(stream: bytes) -> None:
    both_agree(commands_by_construct(stream), commands_by_scapy(stream))


@pytest.mark.slow
@MANY
@given(changed(STREAMS))
@example(b"TOUCH " + bytes(17))  # too long already, but the line may yet go on
@example(b"FIN\n" + bytes(20))
@example(b"PUB_TRACE \n\0\0\0\1")  # too small already, whatever comes
def test_damaged_commands(stream: bytes) -> None:
    both_agree(commands_by_construct(stream), commands_by_scapy(stream))


@pytest.mark.slow
@MANY
@given(changed(st.lists(built(SERVER_FRAME).map(lambda pair: pair[1]), max_size=3).map(b"".join)))
def test_damaged_frames(stream: bytes) -> None:
    both_agree(frames_by_construct(stream), frames_by_scapy(stream))


@pytest.mark.slow
@EACH_INNER
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_drawn_and_damaged_data(
    schema: Schema[Any], kind: type[Layer], data: st.DataObject
) -> None:
    whole = data.draw(built(schema).map(lambda pair: pair[1]))
    found = by_construct(schema, whole)
    assert found != REFUSED
    agree(found, by_scapy(kind, whole, SAME))

    damaged = data.draw(changed(st.just(whole)))
    agree(by_construct(schema, damaged), by_scapy(kind, damaged, SAME))


FUZZED = [kind for kind in nsq_grammar(NSQ_NAMES, scapy=True).kinds if kind.interface == TCP]


@pytest.mark.parametrize("kind", FUZZED, ids=lambda kind: str(kind.name))
def test_frames_of_the_fuzzer(kind: Kind) -> None:
    for frame in frames_of(kind):
        stream = frame.data.removeprefix(commands.MAGIC)
        both_agree(commands_by_construct(stream), commands_by_scapy(stream))


def test_a_reader_that_is_wrong_is_noticed() -> None:
    """The comparison itself: other bytes, order, name or cut are no agreement."""
    rows: list[Row] = [("trace_id", b"\0\1", "1")]
    for other in (
        REFUSED,
        [("trace_id", b"\0\2", "2")],
        [("trace_id", b"\0\1", "256")],
        [("internal_id", b"\0\1", "1")],
        [("trace_id", b"\0", "0"), ("trace_id", b"\1", "1")],
    ):
        with pytest.raises(AssertionError):
            agree(rows, other)
