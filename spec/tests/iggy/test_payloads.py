"""What no request to Iggy may hold, and where it is told."""

import pytest

from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands, limits
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer_groups import GroupRequest
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced
from wireproof_spec.iggy.bodies.payloads import decode_payload
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.system import ClientRequest
from wireproof_spec.iggy.bodies.topics import CreateTopic, PartitionsRequest
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.headers import Header
from wireproof_spec.wire_error import WireError

ONE = numeric(1)
TOPIC = (None, None, None, None)
MOST = b"x" * limits.MAX_PAYLOADS_SIZE
BIG_HEADERS = tuple(Header(str(number), 1, bytes(255)) for number in range(402))


def send(*messages: SentMessage) -> SendMessages:
    return SendMessages(ONE, ONE, make_balanced(), messages)


def headed(*headers: Header) -> SentMessage:
    return SentMessage(0, headers, b"x")


UNFIT: list[tuple[int, Payload, str, int, str]] = [
    (commands.CREATE_STREAM, CreateStream(0, "s"), "stream_id", 0, "at least 1"),
    (commands.CREATE_STREAM, CreateStream(1, "a/b"), "name", 4, "1 to 255 bytes of"),
    (commands.CREATE_STREAM, CreateStream(1, "n" * 256), "name", 4, "1 to 255 bytes of"),
    (commands.CREATE_STREAM, CreateStream(1, ""), "name", 4, "1 to 255 bytes of"),
    (commands.CREATE_TOPIC, CreateTopic(ONE, 0, 1, *TOPIC, "t"), "topic_id", 6, "at least 1"),
    (
        commands.CREATE_TOPIC,
        CreateTopic(ONE, 1, 100_001, *TOPIC, "t"),
        "partitions_count",
        10,
        "0 to 100000",
    ),
    (commands.CREATE_PARTITIONS, PartitionsRequest(ONE, ONE, 0), "count", 12, "1 to 100000"),
    (commands.DELETE_PARTITIONS, PartitionsRequest(ONE, ONE, 100_001), "count", 12, "1 to 100000"),
    (commands.JOIN_CONSUMER_GROUP, GroupRequest(ONE, ONE, 0), "group_id", 12, "at least 1"),
    (commands.GET_CLIENT, ClientRequest(0), "client_id", 0, "at least 1"),
    (
        commands.SEND_MESSAGES,
        send(headed(), headed(Header("a", 1, b"x"), Header("b", 1, b"x"), Header("a", 1, b"y"))),
        "messages[1].headers[2].key",
        85,
        "a key that has not come yet",
    ),
]


@pytest.mark.parametrize(("code", "value", "field", "offset", "expected"), UNFIT)
def test_what_none_may_ask_for_is_refused_at_its_place(
    code: int, value: Payload, field: str, offset: int, expected: str
) -> None:
    payload = encode(payload_schema(code), value)
    with pytest.raises(WireError) as caught:
        decode_payload(code, payload)

    assert (caught.value.field, caught.value.offset) == (field, offset)
    assert caught.value.expected.startswith(expected)
    assert caught.value.clause == payload_schema(code).clause


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (send(headed(*BIG_HEADERS)), "0 to 102400 bytes of header values"),
        (send(SentMessage(0, (), MOST), headed()), "0 to 10485760 bytes of payloads"),
    ],
    ids=["headers", "payloads"],
)
def test_too_much_in_one_request_is_refused(value: SendMessages, expected: str) -> None:
    payload = encode(payload_schema(commands.SEND_MESSAGES), value)
    with pytest.raises(WireError) as caught:
        decode_payload(commands.SEND_MESSAGES, payload)

    assert caught.value.expected == expected


@pytest.mark.parametrize(
    "value",
    [send(headed(*BIG_HEADERS[:401])), send(SentMessage(0, (), MOST))],
    ids=["headers", "payloads"],
)
def test_as_much_as_may_be_is_not(value: SendMessages) -> None:
    payload = encode(payload_schema(commands.SEND_MESSAGES), value)

    assert decode_payload(commands.SEND_MESSAGES, payload) == value


@pytest.mark.parametrize("generation", ["published", "tagged"])
def test_only_a_tagged_server_takes_no_id(generation: Generation) -> None:
    stream = encode(payload_schema(commands.CREATE_STREAM, generation), CreateStream(0, "s"))
    if generation == "tagged":
        decoded = decode_payload(commands.CREATE_STREAM, stream, generation)
        assert decoded == CreateStream(0, "s")
        return
    with pytest.raises(WireError):
        decode_payload(commands.CREATE_STREAM, stream, generation)


def test_an_unknown_command_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="999"):
        decode_payload(999, b"")
