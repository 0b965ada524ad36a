"""Frames over TCP: what is answered, what ends the connection, and whom it does not concern."""

import random

import pytest
from iggy_bench import OK, PLACE, STREAM, Bench, frame, polling, sending, sent, u32, u64

from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands, golden, statuses
from wireproof_spec.iggy.bodies.consumer_groups import CONSUMER_GROUP_DETAILS
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES
from wireproof_spec.iggy.bodies.system import CLIENT_DETAILS
from wireproof_spec.iggy.bodies.topics import TOPIC_DETAILS
from wireproof_spec.iggy.message import Message

ODD_BYTES = (b"", b"\0", b"\xff\xff\xff\xff", b"\1\0\0\0", b"\2\xff", b"ab")
GROUP = PLACE + u32(7)
AS_GROUP = b"\x02" + u32(7)


def polled(body: bytes) -> tuple[Message, ...]:
    return decode(POLLED_MESSAGES, body).messages


@pytest.mark.parametrize(
    "data",
    [
        frame(999),
        frame(commands.PING, b"x"),
        b"\x03\0\0\0\x01\0\0",
        bytes(4),
        frame(commands.CREATE_STREAM, u32(9) + b"a/b"),
        frame(commands.CREATE_STREAM, u32(9) + b"\xff"),
        frame(commands.CREATE_STREAM, u32(9) + b"n" * 256),
        frame(commands.CREATE_TOPIC, STREAM + u32(2) + u32(100_001) + b"t"),
        frame(commands.CREATE_PARTITIONS, PLACE + u32(0)),
        frame(commands.CREATE_CONSUMER_GROUP, PLACE + u32(0)),
        frame(commands.GET_CLIENT, u32(0)),
        frame(commands.SEND_MESSAGES, sending(sent(b"x" * (10 * 1024 * 1024 + 1)))),
        frame(commands.SEND_MESSAGES, sending(sent(b"x"), sent(b""))),
    ],
    ids=[
        "unknown-code",
        "ping-with-payload",
        "length-3",
        "length-0",
        "bad-name",
        "name-no-utf8",
        "name-256",
        "too-many-partitions",
        "no-partitions",
        "group-0",
        "client-0",
        "payload-too-big",
        "payload-empty",
    ],
)
def test_what_cannot_be_read_ends_this_connection_alone(data: bytes) -> None:
    bench = Bench()
    other = bench.with_topic()
    client = bench.connect()

    client.send(data + frame(commands.PING))

    assert (client.take(), client.closed) == (b"", True)
    assert other.ok(commands.POLL_MESSAGES, polling()) == bytes(4)
    assert len(bench.server.clients) == 1


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_frames_may_come_in_pieces_and_together(piece: int) -> None:
    client = Bench().connect()
    data = frame(commands.PING) * 3 + frame(commands.GET_STREAMS)

    for at in range(0, len(data), piece):
        client.send(data[at : at + piece])

    assert client.take() == OK * 4


def test_largest_payloads_and_headers_are_taken() -> None:
    client = Bench().with_topic()
    block = b"".join(
        u32(3) + b"%03d" % each + b"\x01" + u32(255) + b"v" * 255 for each in range(401)
    )

    client.ok(commands.SEND_MESSAGES, sending(sent(b"x" * (10 * 1024 * 1024))))
    client.ok(commands.SEND_MESSAGES, sending(sent(b"x", headers=block)))
    client.send(frame(commands.SEND_MESSAGES, sending(*[sent(b"x", headers=block)] * 2)))

    assert client.closed


def test_an_id_of_0_is_replaced() -> None:
    client = Bench().with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a", number=0), sent(b"b", number=0)))

    first, second = polled(client.ok(commands.POLL_MESSAGES, polling()))

    assert first.id
    assert second.id not in (0, first.id)
    assert first.timestamp < second.timestamp


def test_timestamps_before_the_first_find_everything_unless_deployed() -> None:
    for dialect, found in (("published", 2), ("deployed", 0)):
        client = Bench(dialect=dialect).with_topic()
        client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b")))
        body = client.ok(commands.POLL_MESSAGES, polling(strategy=2, value=0))
        assert len(polled(body)) == found


def test_a_member_reads_its_partitions_in_turns() -> None:
    bench = Bench()
    client = bench.with_topic(partitions=2)
    for number in (1, 2):
        partitioning = b"\x02\x04" + u32(number)
        message = sent(b"%d" % number)
        client.ok(commands.SEND_MESSAGES, sending(message, partitioning=partitioning))
    poll = polling(consumer=AS_GROUP, partition=9, strategy=5, commit=True)
    assert client.status(commands.POLL_MESSAGES, poll) == statuses.CONSUMER_GROUP_NOT_FOUND
    client.ok(commands.CREATE_CONSUMER_GROUP, GROUP)
    assert client.status(commands.CREATE_CONSUMER_GROUP, GROUP) == (
        statuses.CONSUMER_GROUP_ALREADY_EXISTS
    )
    assert client.status(commands.POLL_MESSAGES, poll) == statuses.CONSUMER_GROUP_MEMBER_NOT_FOUND
    client.ok(commands.JOIN_CONSUMER_GROUP, GROUP)

    found = [polled(client.ok(commands.POLL_MESSAGES, poll)) for _ in range(3)]

    assert [[each.payload for each in messages] for messages in found] == [[b"1"], [b"2"], []]
    details = decode(CONSUMER_GROUP_DETAILS, client.ok(commands.GET_CONSUMER_GROUP, GROUP))
    assert [each.partitions for each in details.members] == [(1, 2)]


def test_a_member_that_is_gone_leaves_its_partitions_to_others() -> None:
    bench = Bench()
    first = bench.with_topic(partitions=3)
    second = bench.connect()
    first.ok(commands.CREATE_CONSUMER_GROUP, GROUP)
    for client in (first, second):
        client.ok(commands.JOIN_CONSUMER_GROUP, GROUP)
    body = first.ok(commands.GET_CONSUMER_GROUP, GROUP)
    assert [each.partitions for each in decode(CONSUMER_GROUP_DETAILS, body).members] == [
        (1, 3),
        (2,),
    ]
    me = decode(CLIENT_DETAILS, second.ok(commands.GET_ME))
    assert [each.group_id for each in me.groups] == [7]

    second.connection.end()

    body = first.ok(commands.GET_CONSUMER_GROUP, GROUP)
    assert [each.partitions for each in decode(CONSUMER_GROUP_DETAILS, body).members] == [
        (1, 2, 3)
    ]
    assert first.status(commands.GET_CLIENT, u32(me.client_id)) == (statuses.CLIENT_NOT_FOUND)


def test_a_member_without_partitions_gets_a_status() -> None:
    bench = Bench()
    first = bench.with_topic(partitions=1)
    second = bench.connect()
    first.ok(commands.CREATE_CONSUMER_GROUP, GROUP)
    for client in (first, second):
        client.ok(commands.JOIN_CONSUMER_GROUP, GROUP)

    poll = polling(consumer=AS_GROUP)

    assert second.status(commands.POLL_MESSAGES, poll) == statuses.PARTITION_NOT_FOUND
    second.ok(commands.LEAVE_CONSUMER_GROUP, GROUP)
    assert second.status(commands.POLL_MESSAGES, poll) == statuses.CONSUMER_GROUP_MEMBER_NOT_FOUND
    first.ok(commands.DELETE_CONSUMER_GROUP, GROUP)
    assert decode(CLIENT_DETAILS, first.ok(commands.GET_ME)).groups == ()


def test_partitions_come_and_go_at_the_end() -> None:
    client = Bench().with_topic(partitions=1)
    client.ok(commands.CREATE_CONSUMER_GROUP, GROUP)
    client.ok(commands.JOIN_CONSUMER_GROUP, GROUP)
    client.ok(commands.CREATE_PARTITIONS, PLACE + u32(2))
    client.ok(commands.DELETE_PARTITIONS, PLACE + u32(1))

    details = decode(TOPIC_DETAILS, client.ok(commands.GET_TOPIC, PLACE))
    group = decode(CONSUMER_GROUP_DETAILS, client.ok(commands.GET_CONSUMER_GROUP, GROUP))

    assert [each.id for each in details.partitions] == [1, 2]
    assert [each.partitions for each in group.members] == [(1, 2)]
    client.ok(commands.DELETE_PARTITIONS, PLACE + u32(9))
    assert client.status(commands.POLL_MESSAGES, polling()) == statuses.NO_PARTITIONS


def test_a_group_stores_the_offset_of_the_partition_it_read_last() -> None:
    client = Bench().with_topic(partitions=1)
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b")))
    client.ok(commands.CREATE_CONSUMER_GROUP, GROUP)
    client.ok(commands.JOIN_CONSUMER_GROUP, GROUP)
    storing = AS_GROUP + PLACE + u32(9) + u64(0)
    assert client.status(commands.STORE_CONSUMER_OFFSET, storing) == statuses.PARTITION_NOT_FOUND
    client.ok(commands.POLL_MESSAGES, polling(consumer=AS_GROUP))
    client.ok(commands.STORE_CONSUMER_OFFSET, storing)

    body = client.ok(commands.POLL_MESSAGES, polling(consumer=AS_GROUP, strategy=5))

    assert [each.payload for each in polled(body)] == [b"b"]


@pytest.mark.parametrize("generation", ["published", "tagged"])
def test_frames_that_were_damaged_harm_nobody(generation: str) -> None:
    chance = random.Random(1)
    frames = [
        step.data
        for scenario in golden.tcp()
        for step in scenario.steps
        if step.direction == "c2s" and len(step.data) > 8
    ]
    bench = Bench(generation=generation)
    for _ in range(2000):
        data = bytearray(chance.choice(frames))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(4)] = chance.choice(ODD_BYTES)
        data[:4] = u32(max(0, len(data) - 4))
        client = bench.connect()
        client.send(bytes(data))
        answer = client.take()
        assert client.closed or len(answer) >= 8
        client.connection.end()
    assert bench.server.clients == {}
