import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_kit.decoded import Broken, Decoded, Entry, JsonObject
from wireproof_kit.dump import dump_numbered
from wireproof_kit.errors import UsageFault
from wireproof_kit.json_text import json_line
from wireproof_kit.nsq.decoding import Side, Wanted, decode_bytes, decode_pipe, recognised
from wireproof_kit.nsq.server_stream import TopicKind
from wireproof_spec.decoding import encode
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.acknowledge import FINISH, REQUEUE, Finish, Requeue
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.identify import AUTH_BODY, IDENTIFY_BODY, AuthBody, IdentifyBody
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.names import MAGIC
from wireproof_spec.nsq.publish import (
    MPUB_EXT_BODY,
    MPUB_TRACE_BODY,
    PUB_BODY,
    PUB_EXT_BODY,
    MpubExtBody,
    MpubTraceBody,
    PubBody,
    PubExtBody,
    PubTraceBody,
)
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

COMPRESSED = {"identify/deflate_level_7", "identify/snappy"}
MESSAGE_ID = (7).to_bytes(8, "big") + (10).to_bytes(8, "big")

Case = tuple[str, bytes]


def entries(data: bytes, wanted: Wanted | None = None) -> list[Entry]:
    return list(decode_bytes(data, wanted or Wanted()))


def objects(data: bytes, wanted: Wanted | None = None) -> list[JsonObject]:
    found = entries(data, wanted)
    return [fields for each in found if isinstance(each, Decoded) for fields in each.objects()]


def fault(data: bytes, wanted: Wanted | None = None) -> Broken:
    last = entries(data, wanted)[-1]
    assert isinstance(last, Broken)
    return last


def streams(direction: str) -> list[Case]:
    return [
        (scenario.name, b"".join(pieces))
        for scenario in golden.nsqd_tcp()
        for connection in scenario.connections
        if (
            pieces := scenario.sent(connection)
            if direction == "send"
            else scenario.received(connection)
        )
    ]


def delivery(header: bytes | None = None, *, extend: bool = True, ordered: bool = False) -> bytes:
    part = Extend(0, None) if header is None else Extend(4, header)
    offset, size = (35, 36) if ordered else (None, None)
    message = Message(10**18, 1, 7, 10, part if extend else None, offset, size, b"body")
    return message_frame(encode(message_schema(extend=extend, ordered=ordered), message))


def test_every_recorded_answer_decodes_frame_by_frame() -> None:
    for scenario in golden.nsqd_tcp():
        if scenario.name in COMPRESSED:
            continue
        for connection in scenario.connections:
            data = b"".join(scenario.received(connection))
            due = [
                step.frame_type
                for step in scenario.steps
                if (step.direction, step.connection) == ("recv", connection) and step.data
            ]
            if not data:
                continue
            found = entries(data)
            kinds = {"response": 0, "trace response": 0, "error": 1, "message": 2}
            types = [kinds[each.kind] for each in found if isinstance(each, Decoded)]
            assert len(types) == len(found), scenario.name
            assert None in due or types == due, scenario.name


def test_compressed_answers_are_a_fault_behind_the_clear_frame() -> None:
    for name, data in streams("recv"):
        if name in COMPRESSED:
            clear, broken = entries(data)
            assert isinstance(clear, Decoded)
            assert isinstance(broken, Broken)
            assert broken.error.field == "size"


@pytest.mark.parametrize("side", [None, "client", "server", "disk"])
@pytest.mark.parametrize("direction", ["send", "recv"])
def test_nothing_recorded_breaks_the_decoder(direction: str, side: Side | None) -> None:
    for _, data in streams(direction):
        try:
            found = entries(data, Wanted(side))
        except UsageFault:
            assert side is None
            continue
        for entry in found:
            assert isinstance(entry, Decoded | Broken)
            assert all(line.isprintable() for line in dump_numbered(entry.data, entry.parts()))
        for fields in objects(data, Wanted(side)):
            assert json.loads(json_line(fields))["kind"] == fields["kind"]


def test_parts_cover_every_byte_of_what_decoded() -> None:
    for _, data in [*streams("send"), *streams("recv")]:
        for entry in entries(data, Wanted()) if recognised(data) else []:
            if isinstance(entry, Decoded) and not entry.title.startswith(("FIN", "REQ", "TOUCH")):
                covered = sum(part.length for part in entry.parts())
                assert covered == len(entry.data), entry.title


@pytest.mark.parametrize(
    ("head", "side"),
    [
        (MAGIC, "client"),
        (b"PUB_EXT t 0\n", "client"),
        (b"NOP\n", "client"),
        (b"FIN " + bytes(16) + b"\n", "client"),
        (response_frame(b"OK"), "server"),
        (error_frame("E_INVALID"), "server"),
        (delivery(), "server"),
        (b"\0\0", "server"),
        (bytes.fromhex("0000001a 0de0b6b3a7640001 0000") + bytes(16), "disk"),
        (b"GET / HTTP/1.1\r\n", None),
        (b"PUBLISH t\n", None),
        (bytes.fromhex("00000006 00000003 4f4b"), None),
        (b"  V1", None),
    ],
)
def test_the_side_is_told_by_the_first_bytes(head: bytes, side: Side | None) -> None:
    assert recognised(head) == side


def test_frames_say_what_they_are() -> None:
    trace = encode(TRACE_RESPONSE, TraceResponse(3, 123456789, 35, 36))
    data = response_frame(b"OK") + response_frame(trace) + error_frame("E_BAD_TOPIC", "no")

    assert objects(data) == [
        {"kind": "response", "offset": 0, "length": 10, "text": "OK", "data_hex": "4f4b"},
        {
            "kind": "trace response",
            "offset": 10,
            "length": 38,
            "internal_id": "3",
            "trace_id": "123456789",
            "queue_offset": 35,
            "raw_size": 36,
        },
        {
            "kind": "error",
            "offset": 48,
            "length": 22,
            "code": "E_BAD_TOPIC",
            "text": "E_BAD_TOPIC no",
        },
    ]


def test_deliveries_are_ext_from_the_first_json_header_on() -> None:
    data = delivery() + delivery(b'{"a":"b"}') + delivery()

    found = objects(data)

    assert [each["body_hex"] for each in found] == [
        (b"\0" + b"body").hex(),
        b"body".hex(),
        b"body".hex(),
    ]
    assert [each["ext"] for each in found] == [None, {"a": "b"}, None]
    assert [each["body_hex"] for each in objects(data, Wanted(topic_kind="ext"))] == [
        b"body".hex()
    ] * 3


def test_a_plain_body_that_looks_a_little_like_an_extend_part_stays_a_body() -> None:
    message = Message(10**18, 1, 7, 10, None, None, None, b"\x04\x00\x03[1]body")
    data = message_frame(encode(message_schema(extend=False, ordered=False), message))

    assert objects(data)[0]["body_hex"] == message.body.hex()
    assert objects(data, Wanted(topic_kind="ext"))[0]["ext"] == [1]


@pytest.mark.parametrize("extend", [False, True])
def test_ordered_deliveries_carry_their_place(*, extend: bool) -> None:
    kind: TopicKind = "ext" if extend else "plain"
    data = delivery(b"{}" if extend else None, extend=extend, ordered=True)

    (found,) = objects(data, Wanted(topic_kind=kind, ordered=True))

    assert (found["queue_offset"], found["raw_size"]) == (35, 36)
    assert found["body_hex"] == b"body".hex()


def test_a_delivery_of_another_layout_is_a_fault_at_its_place() -> None:
    data = response_frame(b"OK") + delivery(extend=False)

    broken = fault(data, Wanted(topic_kind="ext"))

    assert broken.sentence == (
        "the input: extend.length at byte 45: expected at most 1, found 28516 (ext.consume.layout)"
    )


def test_an_unknown_frame_type_is_a_fault() -> None:
    broken = fault(response_frame(b"OK") + bytes.fromhex("00000006 00000009 4f4b"))

    assert broken.sentence == (
        "the input: frame_type at byte 14: expected 0 (response), 1 (error), 2 (message), "
        "found 9 (smart.connection.frame)"
    )


def test_published_messages_are_objects_of_their_own() -> None:
    batch = MpubTraceBody((PubTraceBody(1, b"one"), PubTraceBody(2**64 - 1, b"two")))
    extended = MpubExtBody((PubExtBody(b'{"a":"b"}', b"three"), PubExtBody(b"", b"four")))
    data = b"".join(
        [
            MAGIC,
            command_line(b"PUB", "t", 3) + encode(PUB_BODY, PubBody(b"zero")),
            command_line(b"MPUB_TRACE", "t") + encode(MPUB_TRACE_BODY, batch),
            command_line(b"MPUB_EXT", "t") + encode(MPUB_EXT_BODY, extended),
        ]
    )

    magic, *found = objects(data)

    assert magic == {"kind": "magic", "offset": 0, "length": 4}
    assert [
        (each["command"], each["partition"], each["index"], each["trace_id"], each["ext"])
        for each in found
    ] == [
        ("PUB", 3, 0, None, None),
        ("MPUB_TRACE", None, 0, "1", None),
        ("MPUB_TRACE", None, 1, str(2**64 - 1), None),
        ("MPUB_EXT", None, 0, None, {"a": "b"}),
        ("MPUB_EXT", None, 1, None, None),
    ]
    assert [bytes.fromhex(str(each["body_hex"])) for each in found] == [
        b"zero",
        b"one",
        b"two",
        b"three",
        b"four",
    ]


def test_other_commands_say_what_they_ask() -> None:
    data = b"".join(
        [
            command_line(b"IDENTIFY") + encode(IDENTIFY_BODY, IdentifyBody(b'{"a":1}')),
            command_line(b"AUTH") + encode(AUTH_BODY, AuthBody(b"key")),
            command_line(b"SUB", "t", "ch"),
            encode(FINISH, Finish(MESSAGE_ID)),
            encode(REQUEUE, Requeue(MESSAGE_ID, 100)),
            b"NOP\r\n",
        ]
    )

    found = objects(data)

    assert [fields.pop("kind") for fields in found] == ["command"] * 6
    assert [fields.pop("offset") for fields in found] == [0, 20, 32, 41, 62, 87]
    assert [fields.pop("length") for fields in found] == [20, 12, 9, 21, 25, 5]
    assert found == [
        {
            "command": "IDENTIFY",
            "parameters": [],
            "json": {"a": 1},
            "json_hex": b'{"a":1}'.hex(),
        },
        {"command": "AUTH", "parameters": [], "secret_hex": b"key".hex()},
        {"command": "SUB", "parameters": ["t", "ch"]},
        {"command": "FIN", "internal_id": "7", "trace_id": "10"},
        {"command": "REQ", "internal_id": "7", "trace_id": "10", "timeout_ms": 100},
        {"command": "NOP", "parameters": []},
    ]


PUBLISH = MAGIC + command_line(b"PUB_EXT", "t", 0)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (MAGIC + b"HELLO\n", 'name at byte 4: expected a command, found "HELLO"'),
        (MAGIC + b"\n", "name at byte 4: expected a command, found (empty)"),
        (MAGIC + b"SUB t", "line at byte 4: expected a line feed at its end, found 5 bytes"),
        (MAGIC + b"FIN 0123\n", "line at byte 4: expected a line feed at its end, found 9"),
        (MAGIC + b"x" * 5000, "line at byte 4: expected at most 4096 bytes, found more"),
        (PUBLISH + b"\0\0", "size at byte 16: expected 4 bytes, found 2"),
        (PUBLISH + b"\xff" * 4, "size at byte 16: expected at least 2, found -1"),
        (
            PUBLISH + b"\x7f" + b"\xff" * 3,
            "size at byte 16: expected at most 67108864, found 2147",
        ),
        (PUBLISH + bytes.fromhex("00000006 0009") + b"{}xx", "header_length at byte 20: "),
        (PUBLISH + bytes.fromhex("00000006 0002") + b"{}x", "body at byte 24: expected 2 bytes,"),
    ],
)
def test_a_broken_command_is_named_with_its_place(data: bytes, sentence: str) -> None:
    broken = fault(data)

    assert broken.sentence.startswith(f"the input: {sentence}")
    lines = dump_numbered(broken.data, broken.parts(), base=broken.offset)
    assert any("expected" in line for line in lines)


def test_the_fields_before_a_fault_in_a_body_keep_their_meaning() -> None:
    broken = fault(PUBLISH + bytes.fromhex("00000006 0009") + b"{}xx")

    assert dump_numbered(broken.data, broken.parts(), base=broken.offset) == [
        "         4  50 55 42 5f 45 58 54 20 …   command line",
        "        16  00 00 00 06                 size = 6",
        "        20  00 09 7b 7d 78 78           header_length: expected at…st 4, found 9",
    ]


class Trickle(io.RawIOBase):
    """A pipe that gives one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._data.read(min(size, 1))


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_pipe_gives_the_same_however_slow_it_is(cut: int) -> None:
    data = delivery(b"{}") + response_frame(b"OK") + error_frame("E_INVALID", "x")
    data = data[: len(data) - cut]
    pipe = Trickle(data)

    slow = list(decode_pipe(pipe, Wanted(topic_kind="ext")))  # type: ignore[arg-type]

    fast = entries(data, Wanted(topic_kind="ext"))
    whole = [each.offset for each in fast if isinstance(each, Decoded)]
    assert [each.offset for each in slow if isinstance(each, Decoded)] == whole
    assert isinstance(slow[-1], Broken) == isinstance(fast[-1], Broken)


def test_the_extended_body_of_one_publish_is_annotated() -> None:
    data = PUBLISH + encode(PUB_EXT_BODY, PubExtBody(b'{"a":"b"}', b"body"))
    published = entries(data)[1]
    assert isinstance(published, Decoded)

    assert dump_numbered(published.data, published.parts(), base=4) == [
        "         4  50 55 42 5f 45 58 54 20 …   command line",
        "        16  00 00 00 0f                 size = 15",
        "        20  00 09                       header_length = 9",
        '        22  7b 22 61 22 3a 22 62 22 …   json_header = {"a":"b"}',
        '        31  62 6f 64 79                 body = "body"',
    ]


@given(
    data=st.binary(min_size=1, max_size=200), side=st.sampled_from(("client", "server", "disk"))
)
def test_any_bytes_decode_or_are_a_fault_at_a_place_within(data: bytes, side: Side) -> None:
    found = entries(data, Wanted(side))

    for entry in found:
        assert isinstance(entry, Decoded | Broken)
        dump_numbered(entry.data, entry.parts())
    if isinstance(found[-1], Broken):
        assert 0 <= found[-1].error.offset <= len(data)


@given(data=st.data())
def test_damaged_recordings_decode_up_to_the_damage(data: st.DataObject) -> None:
    direction = data.draw(st.sampled_from(("send", "recv")))
    _, whole = data.draw(st.sampled_from(streams(direction)))
    at = data.draw(st.integers(0, min(len(whole), 2000) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 1 :]
    side: Side = "client" if direction == "send" else "server"

    due = [each.offset for each in entries(whole, Wanted(side)) if isinstance(each, Decoded)]
    found = entries(damaged, Wanted(side)) if damaged else []

    before = [each for each in due[1:] if each <= at]
    offsets = [each.offset for each in found if isinstance(each, Decoded)]
    assert [each for each in offsets[1:] if each <= at][: len(before) - 1] == before[:-1]
