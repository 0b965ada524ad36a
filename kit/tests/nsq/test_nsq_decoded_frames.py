import pytest
from nsq_decoded import delivery, fault, objects

from wireproof_kit.nsq.decoding.server_stream import TopicKind
from wireproof_kit.nsq.decoding.sources import DecodeOptions
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse


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
    assert [each["body_hex"] for each in objects(data, DecodeOptions(topic_kind="ext"))] == [
        b"body".hex()
    ] * 3


def test_a_plain_body_that_looks_a_little_like_an_extend_part_stays_a_body() -> None:
    message = Message(10**18, 1, 7, 10, None, None, None, b"\x04\x00\x03[1]body")
    data = message_frame(encode(message_schema(extend=False, ordered=False), message))

    assert objects(data)[0]["body_hex"] == message.body.hex()
    assert objects(data, DecodeOptions(topic_kind="ext"))[0]["ext"] == [1]


@pytest.mark.parametrize("extend", [False, True])
def test_ordered_deliveries_carry_their_place(*, extend: bool) -> None:
    kind: TopicKind = "ext" if extend else "plain"
    data = delivery(b"{}" if extend else None, extend=extend, ordered=True)

    (found,) = objects(data, DecodeOptions(topic_kind=kind, ordered=True))

    assert (found["queue_offset"], found["raw_size"]) == (35, 36)
    assert found["body_hex"] == b"body".hex()


def test_a_delivery_of_another_layout_is_a_fault_at_its_place() -> None:
    data = response_frame(b"OK") + delivery(extend=False)

    broken = fault(data, DecodeOptions(topic_kind="ext"))

    assert broken.sentence == (
        "the input: extend.length at byte 45: expected at most 1, found 28516 (ext.consume.layout)"
    )


def test_an_unknown_frame_type_is_a_fault() -> None:
    broken = fault(response_frame(b"OK") + bytes.fromhex("00000006 00000009 4f4b"))

    assert broken.sentence == (
        "the input: frame_type at byte 14: expected 0 (response), 1 (error), 2 (message), "
        "found 9 (smart.connection.frame)"
    )
