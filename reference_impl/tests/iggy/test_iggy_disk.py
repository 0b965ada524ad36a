"""Segments on disk: byte for byte as the real server writes them, and read again."""

import os
import shutil
from pathlib import Path

import pytest
from iggy_bench import PLACE, Bench, frame, polling, sending, sent, u32, u64

from wireproof_spec.decoding import decode
from wireproof_spec.iggy import commands, golden, statuses
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES
from wireproof_spec.iggy.bodies.topics import TOPIC_DETAILS
from wireproof_spec.iggy.segment import LOG, POSITION_INDEX, TIME_INDEX

FIRST = "00000000000000000000"
PARTITION = Path("streams/1/topics/1/partitions/1")


def payloads(bench: Bench, *, count: int = 10, value: int = 0) -> list[bytes]:
    body = bench.connect().ok(commands.POLL_MESSAGES, polling(count=count, value=value))
    return [each.payload for each in decode(POLLED_MESSAGES, body).messages]


def test_log_and_poll_are_the_same_bytes(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic()
    block = u32(1) + b"k" + b"\x02" + u32(1) + b"v"
    client.ok(commands.SEND_MESSAGES, sending(sent(b"one"), sent(b"two", headers=block)))

    body = client.ok(commands.POLL_MESSAGES, polling())

    folder = tmp_path / PARTITION
    log = (folder / f"{FIRST}.log").read_bytes()
    assert log == body[4:]
    messages = decode(LOG, log).messages
    positions = decode(POSITION_INDEX, (folder / f"{FIRST}.index").read_bytes()).positions
    times = decode(TIME_INDEX, (folder / f"{FIRST}.timeindex").read_bytes()).timestamps
    assert positions == (0, 45 + len(b"one"))
    assert times == tuple(each.timestamp for each in messages)
    assert (tmp_path / "streams/1/stream.info").read_bytes() == b"s"
    assert (tmp_path / "streams/1/topics/1/topic.info").read_bytes() == b"t"


def test_a_recorded_segment_is_read_and_continued(tmp_path: Path) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir(parents=True)
    (tmp_path / "streams/1/stream.info").write_text("s")
    (tmp_path / "streams/1/topics/1/topic.info").write_text("t")
    source = golden.folder() / "iggy-disk"
    for kind in ("log", "index", "timeindex"):
        (folder / f"{FIRST}.{kind}").write_bytes((source / f"{FIRST}.{kind}").read_bytes())
    bench = Bench(data=tmp_path)
    client = bench.connect()
    before = client.ok(commands.POLL_MESSAGES, polling(count=100))
    assert before[4:] == (source / f"{FIRST}.log").read_bytes()

    client.ok(commands.SEND_MESSAGES, sending(sent(b"new")))

    last = decode(POLLED_MESSAGES, client.ok(commands.POLL_MESSAGES, polling(strategy=4, count=1)))
    assert (last.messages[0].offset, last.messages[0].payload) == (19, b"new")
    log = (folder / f"{FIRST}.log").read_bytes()
    assert decode(LOG, log).messages[-1] == last.messages[0]


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=2)
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), sent(b"b"), sent(b"c")))
    client.ok(commands.STORE_CONSUMER_OFFSET, b"\x01" + u32(4) + PLACE + u32(1) + u64(1))
    client.ok(commands.CREATE_CONSUMER_GROUP, PLACE + u32(7))
    before = client.ok(commands.GET_TOPIC, PLACE)

    bench = Bench(data=tmp_path)

    after = bench.connect()
    assert decode(TOPIC_DETAILS, after.ok(commands.GET_TOPIC, PLACE)) == decode(
        TOPIC_DETAILS, before
    )
    assert payloads(bench) == [b"a", b"b", b"c"]
    following = after.ok(commands.POLL_MESSAGES, polling(strategy=5, consumer=b"\x01" + u32(4)))
    assert [each.payload for each in decode(POLLED_MESSAGES, following).messages] == [b"c"]
    assert after.ok(commands.GET_CONSUMER_GROUPS, PLACE) == u32(7) + u32(2) + u32(0)


def test_a_request_fills_a_segment_and_is_never_split(tmp_path: Path) -> None:
    bench = Bench(data=tmp_path, segment_size=100)
    client = bench.with_topic()
    for number in range(3):
        messages = (sent(b"%d" % number), sent(b"and"), sent(b"more"))
        client.ok(commands.SEND_MESSAGES, sending(*messages))

    logs = sorted(each.name for each in (tmp_path / PARTITION).glob("*.log"))

    assert logs == [f"{FIRST}.log", f"{3:020}.log", f"{6:020}.log"]
    assert payloads(bench, count=5, value=2) == [b"more", b"1", b"and", b"more", b"2"]
    assert payloads(Bench(data=tmp_path, segment_size=100), count=5, value=2) == [
        b"more",
        b"1",
        b"and",
        b"more",
        b"2",
    ]


@pytest.mark.parametrize(
    ("left", "status"),
    [
        (9, statuses.CANNOT_READ_MESSAGE_TIMESTAMP),
        (40, 4015),
        (46, statuses.CANNOT_READ_MESSAGE_PAYLOAD),
    ],
    ids=["timestamp", "headers-length", "payload"],
)
def test_a_log_cut_short_fails_where_it_is_read(tmp_path: Path, left: int, status: int) -> None:
    client = Bench(data=tmp_path).with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"aaaa"), sent(b"bbbb")))
    log = tmp_path / PARTITION / f"{FIRST}.log"
    log.write_bytes(log.read_bytes()[: 49 + left])
    bench = Bench(data=tmp_path)

    client = bench.connect()

    assert client.status(commands.POLL_MESSAGES, polling()) == status
    assert payloads(bench, count=1) == [b"aaaa"]


def test_a_log_cut_in_an_offset_has_one_message_less(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"aaaa"), sent(b"bbbb")))
    log = tmp_path / PARTITION / f"{FIRST}.log"
    log.write_bytes(log.read_bytes()[: 49 + 7])
    assert payloads(Bench(data=tmp_path)) == [b"aaaa"]


def test_what_cannot_be_written_is_not_taken(tmp_path: Path) -> None:
    bench = Bench(data=tmp_path)
    client = bench.with_topic()
    client.ok(commands.SEND_MESSAGES, sending(sent(b"kept")))
    shutil.rmtree(tmp_path / PARTITION)

    answer = client.status(commands.SEND_MESSAGES, sending(sent(b"lost")))

    assert answer == 200
    assert payloads(bench) == [b"kept"]
    assert bench.http("POST", "/streams/1/topics/1/messages", BODY).status == 500


BODY = {
    "partitioning": {"kind": "balanced", "value": ""},
    "messages": [{"payload": "eA=="}],
}


def test_partitions_that_were_deleted_come_back_empty(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=2)
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), partitioning=partition(2)))
    client.ok(commands.DELETE_PARTITIONS, PLACE + u32(1))
    client.ok(commands.CREATE_PARTITIONS, PLACE + u32(1))
    for bench in (client, Bench(data=tmp_path).connect()):
        found = decode(TOPIC_DETAILS, bench.ok(commands.GET_TOPIC, PLACE))
        assert [each.messages_count for each in found.partitions] == [0, 0]


@pytest.mark.slow
def test_many_partitions_take_no_files_and_are_there_after_a_restart(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=100_000)
    client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), partitioning=partition(99_999)))
    folder = tmp_path / "streams/1/topics/1/partitions"
    assert [each.name for each in folder.iterdir()] == ["99999"]

    after = Bench(data=tmp_path).connect()

    for each in (client, after):
        found = decode(TOPIC_DETAILS, each.ok(commands.GET_TOPIC, PLACE))
        assert found.topic.partitions_count == len(found.partitions) == 100_000
        assert [one.id for one in found.partitions if one.messages_count] == [99_999]
        assert {one.segments_count for one in found.partitions} == {1}


def test_a_death_while_partitions_are_counted_leaves_the_old_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=2)

    def die(new: str, target: str) -> None:
        raise OSError(f"{new} never becomes {target}")

    monkeypatch.setattr(os, "replace", die)
    client.send(frame(commands.CREATE_PARTITIONS, PLACE + u32(3)))
    monkeypatch.undo()

    after = Bench(data=tmp_path).connect()
    found = decode(TOPIC_DETAILS, after.ok(commands.GET_TOPIC, PLACE))
    assert found.topic.partitions_count == 2


def test_what_is_deleted_is_gone(tmp_path: Path) -> None:
    client = Bench(data=tmp_path).with_topic(partitions=2)
    client.ok(commands.CREATE_CONSUMER_GROUP, PLACE + u32(7))
    client.ok(commands.DELETE_CONSUMER_GROUP, PLACE + u32(7))
    for number in (1, 2):
        client.ok(commands.SEND_MESSAGES, sending(sent(b"a"), partitioning=partition(number)))
    client.ok(commands.DELETE_PARTITIONS, PLACE + u32(1))
    topic = tmp_path / "streams/1/topics/1"
    assert [each.name for each in (topic / "partitions").iterdir()] == ["1"]
    assert list((topic / "groups").iterdir()) == []
    client.ok(commands.DELETE_TOPIC, PLACE)
    assert not topic.exists()
    client.ok(commands.DELETE_STREAM, PLACE[:6])
    assert list((tmp_path / "streams").iterdir()) == []


def partition(number: int) -> bytes:
    return b"\x02\x04" + u32(number)
