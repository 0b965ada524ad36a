"""What a node finds again after it ended."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from files_limit import files_limited_to
from nsq_bench import Bench, pub, pub_ext, sized, tagged

from wireproof_reference_impl.nsq.options import Fsync
from wireproof_reference_impl.nsq.storage.disk_storage import DiskStorage

SMALL_FILES = 300


BenchOn = Callable[[Path], Bench]


@pytest.fixture
def bench_on() -> Iterator[BenchOn]:
    """Open benches on directories; each bench ends when the next one opens, or the test ends."""
    open_now: list[Bench] = []

    def end() -> None:
        for bench in open_now:
            bench.node.close()
        open_now.clear()

    def opened(directory: Path) -> Bench:
        end()
        storage = DiskStorage(directory, max_bytes_per_file=SMALL_FILES)
        open_now.append(Bench(storage=storage))
        return open_now[0]

    yield opened
    end()


def publish(bench: Bench, *frames: bytes) -> None:
    producer = bench.connect()
    for frame in frames:
        assert producer.ask(frame) == "OK"


def test_topics_messages_and_positions_are_found_again(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("ext", extend=True)
    bench.topic("ord", extend=False, ordered=True)
    consumer = bench.consumer("ext", ready=1)
    publish(bench, *(pub_ext("ext", b'{"n":"%d"}' % n, b"%d" % n) for n in range(20)))
    for _ in range(3):
        message = consumer.message(extend=True)
        consumer.send(b"FIN " + message.message_id + b"\n")
    again = bench_on(tmp_path)
    topics = again.node.topics
    assert {name: (topic.extend, topic.ordered) for name, topic in topics.items()} == {
        "ext": (True, False),
        "ord": (False, True),
    }
    bodies = again.consumer("ext").bodies(extend=True)
    assert bodies == [b"%d" % number for number in range(3, 20)]
    assert len([*tmp_path.glob("ext/*.dat")]) > 3


def test_internal_ids_and_offsets_go_on(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    publish(bench, pub("t", b"1"), pub("t", b"2"))
    again = bench_on(tmp_path)
    consumer = again.consumer("t", command="SUB_ADVANCED")
    publish(again, pub("t", b"3"))
    messages = [consumer.message(extend=True, ordered=True) for _ in range(3)]

    assert [message.internal_id for message in messages] == [1, 2, 3]
    assert [message.disk_queue_offset for message in messages] == [0, 32, 64]


def test_messages_that_were_read_back_keep_header_and_tag(
    tmp_path: Path, bench_on: BenchOn
) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    publish(bench, tagged("t", "tagA", b"1"), pub("t", b"2"))
    again = bench_on(tmp_path)
    matching = again.consumer("t", identify='{"extend_support":true,"desired_tag":"tagA"}')
    untagged = again.consumer("t")

    extend = matching.message(extend=True).extend
    assert extend is not None
    assert extend.data == b'{"##client_dispatch_tag":"tagA"}'
    assert untagged.bodies(extend=True) == [b"2"]


def test_an_upgraded_topic_stays_one(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t", extend=False)
    publish(bench, pub("t", b"old"))
    bench.post("/topic/meta/update?topic=t&upgradeext=true")
    publish(bench, pub_ext("t", b"{}", b"new"))
    again = bench_on(tmp_path)
    assert again.consumer("t").bodies(extend=True) == [b"old", b"new"]


@pytest.mark.parametrize("name", [".", "..", "...", ".hidden"])
def test_no_topic_leaves_the_data_directory(tmp_path: Path, bench_on: BenchOn, name: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    bench = bench_on(data)
    assert bench.connect().ask(f"INTERNAL_CREATE_TOPIC {name} 0\n".encode()) == "OK"
    publish(bench, pub(name, b"x"))

    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert [path.is_dir() for path in data.iterdir()] == [True]
    again = bench_on(data)
    assert again.consumer(name, identify="{}").bodies(extend=False) == [b"x"]


def test_a_deleted_topic_is_gone(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    publish(bench, pub("t", b"x"))
    bench.post("/topic/delete?topic=t&partition=**")

    assert [*tmp_path.iterdir()] == []
    assert bench_on(tmp_path).node.topics == {}


def test_a_deleted_topic_leaves_no_file_open(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    before = open_files(tmp_path)
    for _ in range(3):
        bench.topic("t")
        publish(bench, pub("t", b"x"))
        assert open_files(tmp_path) > before
        bench.post("/topic/delete?topic=t&partition=**")

    assert open_files(tmp_path) == before


def open_files(directory: Path) -> int:
    links = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
    return sum(directory in link.parents for link in links)


def test_what_is_left_of_a_topic_whose_removal_was_cut_off_is_removed(
    tmp_path: Path, bench_on: BenchOn
) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    publish(bench, pub("t", b"x"))
    bench.node.close()
    (tmp_path / "t").rename(tmp_path / "%deleted-t")

    again = bench_on(tmp_path)

    assert again.node.topics == {}
    assert [*tmp_path.iterdir()] == []


def test_a_channel_is_kept_when_its_subscription_is_answered(
    tmp_path: Path, bench_on: BenchOn
) -> None:
    killed = Bench(storage=DiskStorage(tmp_path, max_bytes_per_file=SMALL_FILES))
    killed.topic("t")
    publish(killed, pub("t", b"before"))
    assert killed.consumer("t", channel="first", ready=0)
    publish(killed, pub("t", b"after"))
    assert killed.consumer("t", channel="late", ready=0)
    publish(killed, pub("t", b"last"))
    partition = killed.node.find("t", 0)
    assert partition is not None
    partition.log.close()  # the node itself has no chance to keep anything

    again = bench_on(tmp_path)

    assert again.consumer("t", channel="late").bodies(extend=True) == [b"last"]
    assert again.consumer("t", channel="first").bodies(extend=True) == [
        b"before",
        b"after",
        b"last",
    ]


def test_internal_ids_skip_nothing_that_could_not_be_stored(
    tmp_path: Path, bench_on: BenchOn
) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    publish(bench, pub("t", b"1"))
    with files_limited_to(100):
        producer = bench.connect()
        assert producer.ask(mpub("t", b"lost", bytes(100))) == "E_PUB_FAILED"
        assert producer.ask(pub("t", b"2")) == "OK"
    again = bench_on(tmp_path)
    publish(again, pub("t", b"3"))
    consumer = again.consumer("t")
    messages = [consumer.message(extend=True) for _ in range(3)]

    assert [(each.internal_id, each.body) for each in messages] == [
        (1, b"1"),
        (2, b"2"),
        (3, b"3"),
    ]


def mpub(topic: str, *bodies: bytes) -> bytes:
    body = len(bodies).to_bytes(4) + b"".join(map(sized, bodies))
    return f"MPUB {topic} 0\n".encode() + sized(body)


@pytest.mark.parametrize(("fsync", "synced"), [("never", 0), ("interval", 1), ("always", 3)])
def test_records_are_synced_when_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: str, synced: int
) -> None:
    calls: list[int] = []
    storage = DiskStorage(tmp_path, max_bytes_per_file=1000, fsync=Fsync(fsync))
    bench = Bench(storage=storage)
    bench.topic("t")
    publish(bench, pub("t", b"the file is there"))
    bench.wait(2)
    monkeypatch.setattr("os.fdatasync", calls.append)

    for _ in range(3):
        publish(bench, pub("t", b"x"), pub("t", b"y"))
        bench.node.commit()
        bench.node.commit()
    bench.wait(1)

    assert len(calls) == synced
    bench.node.close()


def test_ephemeral_channels_are_not_kept(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    bench.consumer("t", channel="kept")
    bench.consumer("t", channel="gone#ephemeral")
    partition = bench_on(tmp_path).node.find("t", 0)
    assert partition is not None
    assert set(partition.channels) == {"kept"}


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made-anew"])
def test_a_body_that_comes_after_its_topic_is_gone_is_refused(
    tmp_path: Path, bench_on: BenchOn, again: bool
) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t", extend=False)
    producer = bench.connect()
    frame = pub("t", b"of the topic that was")
    producer.send(frame[:-3])
    bench.node.delete(bench.node.topics["t"], bench.now_ns)
    if again:
        bench.topic("t", extend=False)

    assert producer.ask(frame[-3:]) == "E_TOPIC_NOT_EXIST"
    if again:
        publish(bench, pub("t", b"new"))
        assert bench.consumer("t", identify="{}").bodies(extend=False) == [b"new"]


def test_a_topic_that_cannot_be_kept_is_not_made(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    in_the_way = tmp_path / "t"
    in_the_way.touch()

    status, body = bench.post("/topic/create?topic=t&partition_num=2&replicator=1")
    assert status == 500
    assert json.loads(body) == {"message": "the change could not be kept: Not a directory"}
    assert bench.node.topics == {}

    in_the_way.unlink()
    assert bench.post("/topic/create?topic=t&partition_num=2&replicator=1")[0] == 200
    assert list(bench.node.topics["t"].partitions) == [0, 1]
