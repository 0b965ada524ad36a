"""What a disk queue writes, and reads from any record on."""

from importlib.resources import as_file
from pathlib import Path

import pytest
from disk_queues import FIRST, LAST, contents, filled, opened, record, recorded
from files_limit import files_limited_to
from hypothesis import given
from hypothesis import strategies as st

from wireproof_reference_impl.nsq.storage.channels import ChannelPosition
from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault
from wireproof_spec.decoding import extent
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.disk import DISK_RECORD
from wireproof_spec.nsq.limits import MAX_BYTES_PER_FILE


def test_files_are_those_a_real_broker_wrote_for_the_same_records(tmp_path: Path) -> None:
    records = recorded()

    filled(tmp_path, records)

    files = contents(tmp_path)
    data = {name: files.pop(name) for name in list(files) if name[-10:-4].isdigit()}
    assert {name: len(content) for name, content in data.items()} == {
        FIRST: 248,
        "rolled-0.diskqueue.000001.dat": 268,
        "rolled-0.diskqueue.000002.dat": 204,
        LAST: 159,
    }
    assert b"".join(data.values()) == b"".join(records)
    assert files == {
        f"{FIRST}.offsetmeta.dat": b"4\n0,248\n",
        "rolled-0.diskqueue.000001.dat.offsetmeta.dat": b"8\n248,516\n",
        "rolled-0.diskqueue.000002.dat.offsetmeta.dat": b"10\n516,720\n",
        "rolled-0.diskqueue.meta.extra.dat": (
            b'{"SegOffset":{"FileNum":0,"Pos":0},"VirtualOffset":0,"TotalMsgCnt":0}'
        ),
        "rolled-0.diskqueue.meta.writer.dat": b"13\n3,159,879\n\xae\x83",
        "rolled-0.diskqueue.meta.writer.dat.tmp": b"13\n3,159,879\n",
    }


@pytest.mark.parametrize("topic", ["gdd_plain", "gdd_ext", "gdd_upgraded"])
def test_recorded_records_give_the_recorded_files(tmp_path: Path, topic: str) -> None:
    with as_file(golden.folder() / "nsqd-disk" / topic) as folder:
        recorded_files = contents(folder)
    data = recorded_files[f"{topic}-0.diskqueue.000000.dat"]
    queue = DiskQueue.open(tmp_path, topic, 0, max_bytes_per_file=MAX_BYTES_PER_FILE)

    while data:
        size = extent(DISK_RECORD, data[:4])
        queue.append(data[:size])
        data = data[size:]
    queue.close()

    written = contents(tmp_path)
    written.pop(f"{topic}-0.diskqueue.meta.writer.dat.tmp")
    assert written == {name: recorded_files[name] for name in written}
    assert set(recorded_files) - set(written) == {
        "channel_meta0",
        "magic0",
        f"{topic}_0.commit.log",
    }


def test_append_returns_virtual_offsets_across_files(tmp_path: Path) -> None:
    records = recorded()

    offsets = filled(tmp_path, records)

    assert offsets == [sum(map(len, records[:number])) for number in range(len(records))]


def test_an_appended_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    queue = opened(tmp_path)

    queue.append(record(b"seen by everyone"))

    assert (tmp_path / FIRST).read_bytes() == record(b"seen by everyone")
    queue.close()


def test_a_full_file_is_finished_and_the_next_begins_with_the_next_record(tmp_path: Path) -> None:
    queue = opened(tmp_path, size=len(record(b"")))

    queue.append(record(b""))

    assert contents(tmp_path)["rolled-0.diskqueue.meta.writer.dat"] == b"1\n1,0,30\n\xae\x83"
    assert not (tmp_path / "rolled-0.diskqueue.000001.dat").exists()
    assert queue.append(record(b"next")) == 30
    assert (tmp_path / "rolled-0.diskqueue.000001.dat").read_bytes() == record(b"next")
    queue.close()


@pytest.mark.parametrize("cut", [3, -1, 0])
def test_a_record_that_lies_about_its_length_is_refused(tmp_path: Path, cut: int) -> None:
    queue = opened(tmp_path)
    wrong = record(b"body")[:cut] if cut else record(b"body") + b"more"

    with pytest.raises(ValueError, match="begins with 00 00 00"):
        queue.append(wrong)

    assert (queue.end, queue.count) == (0, 0)
    queue.close()


@pytest.mark.parametrize("limit", [90, 60])
def test_nothing_stays_of_a_record_that_could_not_be_written(tmp_path: Path, limit: int) -> None:
    queue = opened(tmp_path)
    queue.append(record(bytes(30)))

    with files_limited_to(limit), pytest.raises(OSError, match=r"too large|only 30 of 62"):
        queue.append(record(b"lost" * 8))

    assert (tmp_path / FIRST).read_bytes() == record(bytes(30))
    assert (queue.end, queue.count) == (60, 1)
    assert queue.append(record(b"kept")) == 60
    assert [each for _, each in queue.read_from(60)] == [record(b"kept")]
    queue.close()


def test_a_batch_is_stored_as_its_records_one_by_one(tmp_path: Path) -> None:
    records = recorded()
    one_by_one, batch = tmp_path / "one", tmp_path / "batch"
    filled(one_by_one, records)
    queue = opened(batch)

    assert queue.append_all(records[:2]) == 0
    assert queue.append_all(records[2:]) == sum(map(len, records[:2]))

    queue.close()
    assert contents(batch) == contents(one_by_one)


@pytest.mark.parametrize("size", [1000, 200, 100])
def test_nothing_stays_of_a_batch_that_could_not_be_written_whole(
    tmp_path: Path, size: int
) -> None:
    queue = opened(tmp_path, size=size)
    queue.append(record(b"before"))
    queue.flush()
    before = {name: data for name, data in contents(tmp_path).items() if "tmp" not in name}
    batch = [record(bytes(64)), record(bytes(65)), record(bytes(300))]

    with files_limited_to(320), pytest.raises(OSError, match=r"too large|only \d+ of"):
        queue.append_all(batch)

    after = {name: data for name, data in contents(tmp_path).items() if "tmp" not in name}
    assert after == before
    assert (queue.end, queue.count) == (36, 1)
    assert queue.append(record(b"after")) == 36
    queue.close()
    again = opened(tmp_path, size=size)
    kept = [each for _, each in again.read_from(0)]
    assert (kept, again.warnings) == ([record(b"before"), record(b"after")], ())
    again.close()


def test_a_new_channel_is_found_again_at_once(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.append(record(b"before"))

    queue.add_channel("new", ChannelPosition(queue.end, queue.count))

    assert opened(tmp_path).load_channel_positions() == {"new": ChannelPosition(36, 1)}
    queue.close()


def test_reading_starts_at_any_record_and_crosses_files(tmp_path: Path) -> None:
    records = recorded()
    offsets = filled(tmp_path, records)
    queue = opened(tmp_path)
    whole = list(zip(offsets, records, strict=True))

    for number, offset in enumerate(offsets):
        assert list(queue.read_from(offset)) == whole[number:]

    assert list(queue.read_from(queue.end)) == []
    queue.close()


def test_a_reader_goes_on_with_what_is_appended_meanwhile(tmp_path: Path) -> None:
    queue = opened(tmp_path, size=100)
    queue.append(record(b"0"))
    reader = queue.read_from(0)
    read = [next(reader)[1]]

    for number in range(1, 20):
        queue.append(record(b"%d" % number))
        read.append(next(reader)[1])

    assert next(reader, None) is None
    assert read == [record(b"%d" % number) for number in range(20)]
    queue.close()


@pytest.mark.parametrize("offset", [-1, 880])
def test_an_offset_outside_the_queue_is_refused(tmp_path: Path, offset: int) -> None:
    filled(tmp_path, recorded())
    queue = opened(tmp_path)

    with pytest.raises(QueueFault, match=f"rolled-0: no record at offset {offset}.* 0 to 879"):
        queue.read_from(offset)

    queue.close()


def test_an_offset_within_a_record_is_refused_when_it_shows(tmp_path: Path) -> None:
    filled(tmp_path, recorded())
    queue = opened(tmp_path)

    with pytest.raises(QueueFault, match=r"000000\.dat: .*length at byte 2"):
        next(queue.read_from(2))

    queue.close()


@given(
    sizes=st.lists(st.integers(0, 90), max_size=30),
    limit=st.integers(1, 300),
    closes=st.sets(st.integers(0, 30)),
)
def test_what_was_appended_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], limit: int, closes: set[int]
) -> None:
    directory = tmp_path_factory.mktemp("queue")
    records = [record(bytes(size), number) for number, size in enumerate(sizes)]
    queue = opened(directory, size=limit)
    for number, each in enumerate(records):
        if number in closes:
            queue.close()
            queue = opened(directory, size=limit)
        queue.append(each)

    read = list(queue.read_from(0))
    queue.close()

    assert [each for _, each in read] == records
    assert [offset for offset, _ in read] == [
        sum(map(len, records[:number])) for number in range(len(records))
    ]
    assert queue.warnings == ()
    for path in directory.glob("*[0-9].dat"):
        assert path.stat().st_size < limit + 30 + 90
