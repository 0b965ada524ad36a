"""The tagged generation: its login, its answers, its head of a poll."""

import pytest
from iggy_bench import PLACE, STREAM, Bench, Client, frame, sending, sent, u32, u64

from wireproof_reference_impl.iggy.core.commands.tagged import PASSWORD, USER_ID, USER_NAME
from wireproof_reference_impl.iggy.options import TAGGED
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy import commands, statuses
from wireproof_spec.iggy.bodies.consumer_offsets import CONSUMER_OFFSET_TAGGED
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES_TAGGED, PolledMessages
from wireproof_spec.iggy.bodies.streams import STREAM_DETAILS_TAGGED, STREAMS_TAGGED
from wireproof_spec.iggy.bodies.system import CLIENT_DETAILS_TAGGED, CLIENTS_TAGGED
from wireproof_spec.iggy.bodies.topics import (
    CREATE_TOPIC_TAGGED,
    TOPIC_DETAILS_TAGGED,
    CreateTopic,
)
from wireproof_spec.iggy.bodies.users import LOGIN_USER, LoginUser
from wireproof_spec.iggy.key_hash import partition_of_key

CONSUMER = b"\x01\x01\x04" + u32(1)
NAMED_CONSUMER = b"\x01\x02\x03who"


def login(name: str = USER_NAME, password: str = PASSWORD) -> bytes:
    return encode(LOGIN_USER, LoginUser(name, password, "0.6.202", "rust"))


def named(number: int, name: bytes) -> bytes:
    return u32(number) + bytes([len(name)]) + name


def topic(number: int, name: str, partitions: int = 1) -> bytes:
    request = CreateTopic(
        stream=numeric(1),
        topic_id=number,
        partitions_count=partitions,
        compression=1,
        message_expiry=0,
        max_topic_size=0,
        replication_factor=1,
        name=name,
    )
    return encode(CREATE_TOPIC_TAGGED, request)


def polling(consumer: bytes = CONSUMER, *, partition: int = 1, strategy: int = 1) -> bytes:
    return consumer + PLACE + u32(partition) + bytes([strategy]) + u64(0) + u32(10) + b"\0"


def client() -> Client:
    found = Bench(generation=TAGGED).connect()
    assert found.ok(commands.LOGIN_USER, login()) == u32(1)
    found.ok(commands.CREATE_STREAM, named(1, b"s"))
    found.ok(commands.CREATE_TOPIC, topic(1, "t"))
    return found


def test_nothing_but_ping_is_answered_before_login() -> None:
    found = Bench(generation=TAGGED).connect()
    assert found.ok(commands.PING) == b""
    assert found.status(commands.GET_STREAMS) == statuses.UNAUTHENTICATED
    assert found.status(commands.LOGIN_USER, login(password="wrong")) == 42
    assert found.status(commands.GET_STREAMS) == statuses.UNAUTHENTICATED
    found.ok(commands.LOGIN_USER, login())
    assert found.ok(commands.GET_STREAMS) == b""


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (frame(999), 3),
        (bytes(4), 3),
        (frame(commands.PING, b"x"), 3),
        (frame(commands.SEND_MESSAGES, sending(sent(b""))), 3),
        (frame(commands.SEND_MESSAGES, sending(sent(b"x"))[:-1]), 3),
        (frame(commands.SEND_MESSAGES, sending()), 4009),
        (frame(commands.CREATE_STREAM, named(9, b"a/b")), 1013),
    ],
)
def test_what_cannot_be_read_is_answered(data: bytes, status: int) -> None:
    found = client()
    found.send(data + frame(commands.PING))
    assert found.take() == u32(status) + bytes(4) + bytes(8)
    assert not found.closed


def test_streams_and_topics_are_told_and_numbered() -> None:
    found = client()
    made = decode(STREAM_DETAILS_TAGGED, found.ok(commands.CREATE_STREAM, named(0, b"Other One")))
    assert (made.stream.id, made.stream.name) == (2, "Other One")
    told = decode(STREAMS_TAGGED, found.ok(commands.GET_STREAMS))
    assert [each.name for each in told.streams] == ["s", "Other One"]
    details = decode(TOPIC_DETAILS_TAGGED, found.ok(commands.CREATE_TOPIC, topic(0, "u", 2)))
    assert (details.topic.id, len(details.partitions)) == (2, 2)
    again = found.ok(commands.GET_TOPIC, STREAM + b"\x02\x01u")
    assert decode(TOPIC_DETAILS_TAGGED, again) == details


def test_what_is_missing_is_told_as_nothing() -> None:
    found = client()
    assert found.ok(commands.GET_STREAM, b"\x02\x04none") == b""
    assert found.ok(commands.GET_TOPIC, STREAM + b"\x02\x04none") == b""
    assert found.ok(commands.GET_CONSUMER_OFFSET, CONSUMER + PLACE + u32(1)) == b""
    assert found.status(commands.DELETE_STREAM, b"\x02\x04none") == 1010


def polled(found: Client, payload: bytes) -> PolledMessages:
    return decode(POLLED_MESSAGES_TAGGED, found.ok(commands.POLL_MESSAGES, payload))


def test_polls_have_a_head_of_16_bytes() -> None:
    found = client()
    found.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b")))

    body = found.ok(commands.POLL_MESSAGES, polling())

    assert body[:16] == u32(1) + u64(1) + u32(2)
    messages = decode(POLLED_MESSAGES_TAGGED, body).messages
    assert [each.payload for each in messages] == [b"a", b"b"]
    assert polled(found, polling(partition=0)) == polled(found, polling())


def test_offsets_are_kept_for_consumers_by_number_and_by_name() -> None:
    found = client()
    found.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b"), sent(b"c")))
    for consumer, offset in ((CONSUMER, 0), (NAMED_CONSUMER, 1)):
        found.ok(commands.STORE_CONSUMER_OFFSET, consumer + PLACE + u32(1) + u64(offset))
    for consumer, left in ((CONSUMER, [b"b", b"c"]), (NAMED_CONSUMER, [b"c"])):
        body = found.ok(commands.GET_CONSUMER_OFFSET, consumer + PLACE + u32(1))
        told = decode(CONSUMER_OFFSET_TAGGED, body)
        assert (told.partition_id, told.current_offset) == (1, 2)
        messages = polled(found, polling(consumer, strategy=5)).messages
        assert [each.payload for each in messages] == left


def test_polls_over_http_are_objects() -> None:
    bench = Bench(generation=TAGGED)
    bench.http("POST", "/streams", {"stream_id": 1, "name": "s"})
    bench.http("POST", "/streams/1/topics", {"topic_id": 1, "partitions_count": 1, "name": "t"})
    assert bench.http("GET", "/streams/1/topics/1/messages").json == {
        "partition_id": 1,
        "current_offset": 0,
        "messages": [],
    }


def test_limits_are_smaller_and_told_by_statuses() -> None:
    found = client()
    assert found.status(commands.SEND_MESSAGES, sending(sent(bytes(10_000_000)))) == 0
    assert found.status(commands.SEND_MESSAGES, sending(sent(bytes(10_000_001)))) == 4022
    assert not found.closed


def test_keys_lead_to_partitions_by_xxh32() -> None:
    found = client()
    found.ok(commands.CREATE_TOPIC, topic(7, "seven", 7))
    place = STREAM + b"\x02\x05seven"
    found.ok(commands.SEND_MESSAGES, place + b"\x03\x03abc" + sent(b"payload"))
    told = decode(TOPIC_DETAILS_TAGGED, found.ok(commands.GET_TOPIC, place))
    filled = [each.id for each in told.partitions if each.messages_count]
    assert filled == [partition_of_key(b"abc", 7, "tagged")]
    assert found.status(commands.SEND_MESSAGES, place + b"\x02\x01\x01" + sent(b"p")) == 82


def test_a_client_is_told_with_its_user() -> None:
    found = client()
    me = decode(CLIENT_DETAILS_TAGGED, found.ok(commands.GET_ME))
    assert me.user_id == USER_ID
    assert decode(CLIENT_DETAILS_TAGGED, found.ok(commands.GET_CLIENT, u32(me.client_id))) == me
    assert found.ok(commands.GET_CLIENT, u32(me.client_id ^ 1)) == b""
    listed = decode(CLIENTS_TAGGED, found.ok(commands.GET_CLIENTS))
    assert me.client_id in [each.client_id for each in listed.clients]
