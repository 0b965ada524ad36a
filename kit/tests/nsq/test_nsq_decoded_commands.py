import pytest
from nsq_decoded import entries, fault, objects

from wireproof_kit.decoding.decoded import Decoded
from wireproof_kit.decoding.dump import dump_numbered
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.acknowledge import FINISH, REQUEUE, Finish, Requeue
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.identify import AUTH_BODY, IDENTIFY_BODY, AuthBody, IdentifyBody
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

MESSAGE_ID = (7).to_bytes(8, "big") + (10).to_bytes(8, "big")


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
