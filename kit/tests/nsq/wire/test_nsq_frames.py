import json
from importlib.resources import files

import pytest

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, PUB_EXT_BODY
from wireproof_spec.wire_error import WireError

TOPIC = Topic("t", 3, extend=True, ordered=False, shared=False, address=("127.0.0.1", 1))
ID = bytes(range(16))

COMMANDS = {
    "identify": (frames.identify(a=1), b'IDENTIFY\n\0\0\0\7{"a":1}'),
    "identify-empty": (frames.identify(), b"IDENTIFY\n\0\0\0\2{}"),
    "subscribe": (frames.subscribe(TOPIC, "c"), b"SUB t c 3\n"),
    "subscribe-ordered": (
        frames.subscribe(TOPIC, "c", command="SUB_ORDERED"),
        b"SUB_ORDERED t c 3\n",
    ),
    "subscribe-without-partition": (
        frames.subscribe(TOPIC, "c", partition=None),
        b"SUB t c\n",
    ),
    "rdy": (frames.rdy(2), b"RDY 2\n"),
    "rdy-word": (frames.rdy("abc"), b"RDY abc\n"),
    "fin": (frames.fin(ID), b"FIN " + ID + b"\n"),
    "fin-short": (frames.fin(b"x"), b"FIN x\n"),
    "req": (frames.req(ID, 10), b"REQ " + ID + b" 10\n"),
    "req-negative": (frames.req(ID, -1), b"REQ " + ID + b" -1\n"),
    "touch": (frames.touch(ID), b"TOUCH " + ID + b"\n"),
    "cls": (frames.cls(), b"CLS\n"),
    "nop": (frames.nop(), b"NOP\n"),
    "pub": (frames.pub(TOPIC, b"x"), b"PUB t 3\n\0\0\0\1x"),
    "pub-partition": (frames.pub(TOPIC, b"x", partition="abc"), b"PUB t abc\n\0\0\0\1x"),
    "pub-topic-name": (
        frames.pub(TOPIC, b"x", topic_name=b"\xff", partition=None),
        b"PUB \xff\n\0\0\0\1x",
    ),
    "pub-command-line": (frames.pub(TOPIC, b"x", command_line=b"pub t\n"), b"pub t\n\0\0\0\1x"),
    "pub-trace": (
        frames.pub_trace(TOPIC, 7, b"x"),
        b"PUB_TRACE t 3\n\0\0\0\x09\0\0\0\0\0\0\0\7x",
    ),
    "pub-ext": (
        frames.pub_ext(TOPIC, {"k": "é"}, b"x"),
        b'PUB_EXT t 3\n\0\0\0\x0d\0\x0a{"k":"\xc3\xa9"}x',
    ),
    "mpub": (
        frames.mpub(TOPIC, [b"x", b"yz"]),
        b"MPUB t 3\n\0\0\0\x0f\0\0\0\2\0\0\0\1x\0\0\0\2yz",
    ),
    "mpub-trace": (
        frames.mpub_trace(TOPIC, [(7, b"x")]),
        b"MPUB_TRACE t 3\n\0\0\0\x11\0\0\0\1\0\0\0\x09\0\0\0\0\0\0\0\7x",
    ),
    "mpub-ext": (
        frames.mpub_ext(TOPIC, [({}, b"x")]),
        b"MPUB_EXT t 3\n\0\0\0\x0d\0\0\0\1\0\0\0\5\0\2{}x",
    ),
    "create": (
        frames.internal_create_topic("n", 0, extend=True),
        b"INTERNAL_CREATE_TOPIC n 0 true\n",
    ),
    "create-plain": (frames.internal_create_topic("n", 0), b"INTERNAL_CREATE_TOPIC n 0\n"),
}


@pytest.mark.parametrize(("outgoing", "data"), COMMANDS.values(), ids=COMMANDS)
def test_commands_have_these_bytes(outgoing: Outgoing, data: bytes) -> None:
    assert outgoing.data == data


@pytest.mark.parametrize(("outgoing", "data"), COMMANDS.values(), ids=COMMANDS)
def test_parts_of_commands_cover_all_bytes(outgoing: Outgoing, data: bytes) -> None:
    assert sum(part.length for part in outgoing.parts) == len(data)


OVERRIDES = {
    "size-of-pub": (frames.pub(TOPIC, b"x", size=-1), b"PUB t 3\n\xff\xff\xff\xffx"),
    "size-of-pub-ext": (
        frames.pub_ext(TOPIC, b"{}", b"x", size=0x7FFFFFFF),
        b"PUB_EXT t 3\n\x7f\xff\xff\xff\0\2{}x",
    ),
    "header-length": (
        frames.pub_ext(TOPIC, b"{}", b"x", header_length=900),
        b"PUB_EXT t 3\n\0\0\0\5\x03\x84{}x",
    ),
    "count": (frames.mpub(TOPIC, [b"x"], count=9), b"MPUB t 3\n\0\0\0\x09\0\0\0\x09\0\0\0\1x"),
    "size-of-identify": (
        frames.identify_raw(b"{}", size=1 << 31),
        b"IDENTIFY\n\x80\0\0\0{}",
    ),
}


@pytest.mark.parametrize(("outgoing", "data"), OVERRIDES.values(), ids=OVERRIDES)
def test_an_override_changes_one_field_and_labels_it(outgoing: Outgoing, data: bytes) -> None:
    assert outgoing.data == data
    assert [part.wrong for part in outgoing.parts].count(True) == 1


def test_an_override_with_the_right_value_is_not_wrong() -> None:
    outgoing = frames.pub_ext(TOPIC, b"{}", b"x", header_length=2, size=5)

    assert not any(part.wrong for part in outgoing.parts)


def test_a_header_longer_than_its_field_is_sent_whole() -> None:
    header = b'{"k":"' + b"v" * 70_000 + b'"}'
    outgoing = frames.pub_ext(TOPIC, header, b"x")

    assert outgoing.data.endswith(header + b"x")
    assert outgoing.part("header_length").label == "header_length = 65535"
    assert outgoing.part("size").label == f"size = {2 + len(header) + 1}"


def golden_bodies(command: bytes) -> list[bytes]:
    bodies: list[bytes] = []
    text = files("wireproof_spec.nsq").joinpath("golden/nsqd-tcp.jsonl").read_text()
    for row in map(json.loads, text.splitlines()):
        for step in row["steps"]:
            data = bytes.fromhex(step.get("hex", ""))
            line, _, body = data.partition(b"\n")
            whole = int.from_bytes(body[:4], "big") == len(body) - 4
            if step["dir"] == "send" and line.split(b" ")[0] == command and body and whole:
                bodies.append(body)
    return bodies


def test_recorded_publishes_are_built_the_same() -> None:
    bodies = golden_bodies(b"PUB_EXT")
    assert len(bodies) > 20
    for body in bodies:
        try:
            value = decode(PUB_EXT_BODY, body)
        except WireError:
            continue
        assert frames.pub_ext(TOPIC, value.json_header, value.body).data.endswith(body)


def test_recorded_batches_are_built_the_same() -> None:
    bodies = golden_bodies(b"MPUB_EXT")
    assert bodies
    for body in bodies:
        try:
            value = decode(MPUB_EXT_BODY, body)
        except WireError:
            continue
        messages = [(message.json_header, message.body) for message in value.messages]
        assert frames.mpub_ext(TOPIC, messages).data.endswith(body)


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        (b'{"a":"b"}', False),
        (b"{}", False),
        (b'{"##trace_id":"1"}', False),
        (b"{", True),
        (b"[]", True),
        (b'{"a":1}', True),
        (b'{"a b":"1"}', True),
        (b'{"a":"1","a":"2"}', True),
    ],
)
def test_a_header_that_the_text_does_not_ask_for_is_marked(header: bytes, wrong: bool) -> None:
    sent = frames.pub_ext(TOPIC, header, b"body")
    marked = [part.label.partition(" = ")[0] for part in sent.parts if part.wrong]
    assert marked == (["json_header"] if wrong else [])
