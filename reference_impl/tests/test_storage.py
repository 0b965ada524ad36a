"""What a node finds again after it ended."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nsq_bench import Bench, pub, pub_ext, tagged

from wireproof_reference_impl.nsq.storage import DiskStorage

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


def test_ephemeral_channels_are_not_kept(tmp_path: Path, bench_on: BenchOn) -> None:
    bench = bench_on(tmp_path)
    bench.topic("t")
    bench.consumer("t", channel="kept")
    bench.consumer("t", channel="gone#ephemeral")
    partition = bench_on(tmp_path).node.find("t", 0)
    assert partition is not None
    assert set(partition.channels) == {"kept"}
