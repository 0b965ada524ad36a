import pytest
from check_each import check_each

from wireproof_kit.iggy.wire import requests
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.send_messages import SEND_MESSAGES, SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.frame import REQUEST
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.wire_error import WireError

MESSAGE = SentMessage(5, (Header("key", STRING, b"value"),), b"payload")
VALUE = SendMessages(numeric(1), make_named("topic"), partition_id(1), (MESSAGE,))
SEND = requests.request(commands.SEND_MESSAGES, VALUE)


def test_a_request_is_what_the_grammar_makes_of_it() -> None:
    frame = decode(REQUEST, SEND.data)

    assert frame.code == commands.SEND_MESSAGES
    assert decode(SEND_MESSAGES, frame.payload) == VALUE
    assert SEND.what == "send_messages"


def test_every_byte_of_a_request_has_one_label() -> None:
    covered = [n for part in SEND.parts for n in range(part.offset, part.offset + part.length)]

    assert covered == list(range(len(SEND.data)))
    assert SEND.parts[1].label == "code = 101 (send_messages)"
    assert SEND.part("messages[0].headers[0].key").length == 3


def test_generations_differ_in_what_they_ask() -> None:
    published = requests.request(commands.CREATE_STREAM, CreateStream(1, "name"))
    tagged = requests.request(commands.CREATE_STREAM, CreateStream(1, "name"), "tagged")

    assert published.data[8:] == b"\1\0\0\0name"
    assert tagged.data[8:] == b"\1\0\0\0\4name"


def test_a_number_is_put_in_little_endian_and_marked() -> None:
    wrong = requests.overwritten(SEND, "messages[0].length", 0x0102)
    place = SEND.part("messages[0].length").offset

    assert wrong.data[place : place + 4] == b"\2\1\0\0"
    assert len(wrong.data) == len(SEND.data)
    assert [part.label for part in wrong.parts if part.wrong] == ["messages[0].length = 258"]


@check_each(range(1, len(SEND.data) - 8))
def test_a_cut_request_is_a_whole_frame_of_a_broken_payload(at: int) -> None:
    short = requests.cut(SEND, at)
    frame = decode(REQUEST, short.data)

    assert frame.payload == SEND.data[8 : 8 + at]
    with pytest.raises(WireError):
        decode(SEND_MESSAGES, frame.payload)


def test_more_bytes_behind_a_payload_are_counted_and_marked() -> None:
    longer = requests.lengthen(requests.ping(), b"abc")

    assert longer.data == b"\7\0\0\0\1\0\0\0abc"
    assert longer.parts[-1] == Part(8, 3, "3 bytes more", wrong=True)


def test_a_changed_payload_gets_its_length() -> None:
    changed = requests.resize(SEND.replace("messages[0].payload", b""))

    assert decode(REQUEST, changed.data).payload == changed.data[8:]
    assert len(changed.data) == len(SEND.data) - len(b"payload")


def test_any_code_and_any_bytes_make_a_request() -> None:
    odd = requests.frame_request(999, requests.raw(b"xy", "two bytes"))

    assert odd.data == b"\6\0\0\0\xe7\3\0\0xy"
    assert odd.parts[1].label == "code = 999 (no command)"
