import json
from collections.abc import Iterable
from importlib.resources import as_file
from pathlib import Path

import pytest
from files_limit import files_limited_to
from hypothesis import given
from hypothesis import strategies as st

from wireproof_reference_impl.nsq.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.queue_channels import ChannelPosition, ChannelState
from wireproof_reference_impl.nsq.queue_place import QueueFault
from wireproof_spec.decoding import encode, extent
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.limits import MAX_BYTES_PER_FILE
from wireproof_spec.nsq.message import Message

TOPIC = "rolled"
FIRST = "rolled-0.diskqueue.000000.dat"
LAST = "rolled-0.diskqueue.000003.dat"


def record(body: bytes, number: int = 1) -> bytes:
    message = Message(1_700_000_000_000_000_000 + number, 0, number, 0, None, None, None, body)
    return encode(DISK_RECORD, DiskRecord(message, 0))


def opened(directory: Path, *, size: int = 200) -> DiskQueue:
    return DiskQueue.open(directory, TOPIC, 0, max_bytes_per_file=size)


def recorded() -> list[bytes]:
    """Return records of the sizes that were published to a real broker with files of 200."""
    bodies = [b"m%d" % number + b"x" * (20 * (number % 5)) for number in range(13)]
    return [record(body, number + 1) for number, body in enumerate(bodies)]


def filled(directory: Path, records: Iterable[bytes]) -> list[int]:
    queue = opened(directory)
    offsets = [queue.append(each) for each in records]
    queue.close()
    return offsets


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


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


def test_a_queue_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    records = recorded()
    piecemeal, at_once = tmp_path / "piecemeal", tmp_path / "at_once"
    for each in records:
        filled(piecemeal, [each])
    filled(at_once, records)

    queue = opened(piecemeal)

    assert (queue.end, queue.count, queue.warnings) == (879, 13, ())
    assert [each for _, each in queue.read_from(0)] == records
    queue.close()
    assert contents(piecemeal) == contents(at_once)


def test_a_queue_is_found_again_from_its_records_alone(tmp_path: Path) -> None:
    filled(tmp_path, recorded())
    before = contents(tmp_path)
    for path in tmp_path.glob("*meta*"):
        path.unlink()

    queue = opened(tmp_path)
    queue.close()

    assert (queue.end, queue.count) == (879, 13)
    assert [warning.file for warning in queue.warnings] == [
        FIRST,
        "rolled-0.diskqueue.000001.dat",
        "rolled-0.diskqueue.000002.dat",
    ]
    assert contents(tmp_path) == before


def test_records_written_after_the_noted_end_are_found(tmp_path: Path) -> None:
    filled(tmp_path, recorded()[:-1])
    with (tmp_path / LAST).open("ab") as file:
        file.write(recorded()[-1])

    queue = opened(tmp_path)

    assert (queue.end, queue.count, queue.warnings) == (879, 13, ())
    queue.close()


@pytest.mark.parametrize("with_meta", [True, False])
def test_a_cut_tail_is_dropped_with_a_warning(tmp_path: Path, *, with_meta: bool) -> None:
    records = recorded()
    filled(tmp_path, records)
    path = tmp_path / LAST
    tail = path.read_bytes()
    sizes = [len(each) for each in records[10:]]
    whole_at = {sum(sizes[:number]): 10 + number for number in range(len(sizes) + 1)}
    writer = tmp_path / "rolled-0.diskqueue.meta.writer.dat"
    noted = writer.read_bytes()

    for cut in range(len(tail), -1, -1):
        path.write_bytes(tail[:cut])
        writer.write_bytes(noted if with_meta else b"")
        queue = opened(tmp_path)
        end = max(size for size in whole_at if size <= cut)
        assert (queue.end, queue.count) == (720 + end, whole_at[end])
        assert path.read_bytes() == tail[:end]
        assert any("dropped" in str(warning) for warning in queue.warnings) == (cut != end)
        assert queue.append(record(b"after")) == 720 + end
        assert [each for _, each in queue.read_from(720 + end)] == [record(b"after")]
        queue.close()


def test_the_warning_names_the_file_and_what_is_missing(tmp_path: Path) -> None:
    filled(tmp_path, [record(b"whole"), record(b"cut off")])
    path = tmp_path / FIRST
    path.write_bytes(path.read_bytes()[:-4])

    queue = opened(tmp_path)
    queue.close()

    assert [str(warning) for warning in queue.warnings] == [
        f"{FIRST}: length at byte 35: expected 37 bytes, found 33; the last 33 bytes are dropped",
        f"{FIRST}: the queue was noted to end at 72, its records end before",
    ]


def test_zeros_behind_the_last_record_are_dropped(tmp_path: Path) -> None:
    filled(tmp_path, [record(b"whole")])
    with (tmp_path / FIRST).open("ab") as file:
        file.write(bytes(4096))

    queue = opened(tmp_path)
    queue.close()

    assert (queue.end, queue.count) == (35, 1)
    assert "expected at least 26, found 0" in str(queue.warnings[0])


def test_a_missing_file_is_no_queue(tmp_path: Path) -> None:
    filled(tmp_path, recorded())
    (tmp_path / "rolled-0.diskqueue.000001.dat").unlink()

    with pytest.raises(QueueFault, match=r"000001\.dat is missing before .*000002\.dat"):
        opened(tmp_path)


def test_a_broken_file_before_others_is_left_alone_and_named(tmp_path: Path) -> None:
    filled(tmp_path, recorded())
    path = tmp_path / FIRST
    broken = path.read_bytes()[:-1]
    path.write_bytes(broken)

    with pytest.raises(QueueFault, match=r"000000\.dat: length at byte .*later files follow"):
        opened(tmp_path)

    assert path.read_bytes() == broken


def test_a_queue_whose_first_files_were_cleaned_starts_later(tmp_path: Path) -> None:
    records = recorded()
    offsets = filled(tmp_path, records)
    (tmp_path / FIRST).unlink()
    start = {"SegOffset": {"FileNum": 1, "Pos": 0}, "VirtualOffset": 248, "TotalMsgCnt": 4}
    (tmp_path / "rolled-0.diskqueue.meta.extra.dat").write_text(json.dumps(start))

    queue = opened(tmp_path)

    assert (queue.start, queue.end, queue.count) == (248, 879, 13)
    assert next(queue.read_from(offsets[5])) == (offsets[5], records[5])
    with pytest.raises(QueueFault):
        queue.read_from(0)
    queue.close()


def test_partitions_of_one_directory_do_not_mix(tmp_path: Path) -> None:
    queues = [
        DiskQueue.open(tmp_path, TOPIC, partition, max_bytes_per_file=50)
        for partition in (0, 1, 10)
    ]
    for number, queue in enumerate(queues):
        queue.append(record(b"%d" % number))
        queue.append(record(b"%d" % number))
        queue.close()

    for number, partition in enumerate((0, 1, 10)):
        queue = DiskQueue.open(tmp_path, TOPIC, partition, max_bytes_per_file=50)
        assert [each for _, each in queue.read_from(0)] == [record(b"%d" % number)] * 2
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


def test_channel_positions_are_kept_in_the_files_of_the_deployed_broker(tmp_path: Path) -> None:
    offsets = filled(tmp_path, recorded())
    queue = opened(tmp_path)
    positions = {
        "all": ChannelPosition(queue.end, queue.count),
        "some": ChannelPosition(offsets[6], 6),
        "none": ChannelPosition(0, 0),
    }

    queue.save_channel_positions(positions)
    queue.close()

    name = "rolled-0:some.diskqueue.meta.v2.reader.dat"
    in_file = offsets[6] - 248
    expected = f"6\n13\n1,{in_file},{offsets[6]}\n3,159,879\n".encode() + b"\xae\x83"
    assert (tmp_path / name).read_bytes() == expected
    queue = opened(tmp_path)
    assert queue.load_channel_positions() == positions
    queue.save_channel_positions({"some": positions["some"]})
    queue.close()
    assert opened(tmp_path).load_channel_positions() == {"some": positions["some"]}


def test_a_position_past_a_dropped_tail_is_moved_to_the_end(tmp_path: Path) -> None:
    filled(tmp_path, [record(b"whole"), record(b"cut off")])
    queue = opened(tmp_path)
    queue.save_channel_positions({"ch": ChannelPosition(queue.end, queue.count)})
    queue.close()
    path = tmp_path / FIRST
    path.write_bytes(path.read_bytes()[:-4])

    queue = opened(tmp_path)

    assert queue.load_channel_positions() == {"ch": ChannelPosition(35, 1)}
    assert "confirmed up to 72, outside the queue; moved to 35" in str(queue.warnings[-1])
    queue.close()


def test_a_channel_with_a_broken_position_begins_anew(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.append(record(b"not finished, as far as anyone knows"))
    queue.save_channel_positions({"ch": ChannelPosition(0, 0)})
    (tmp_path / "rolled-0:ch.diskqueue.meta.v2.reader.dat").write_bytes(b"0\n0\n0,0,0\n0,0,")

    assert queue.load_channel_positions() == {"ch": ChannelPosition(0, 0)}
    assert [warning.file for warning in queue.warnings] == [
        "rolled-0:ch.diskqueue.meta.v2.reader.dat"
    ]
    queue.close()


def test_channels_are_listed_as_the_deployed_broker_lists_them(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    assert queue.load_channels() == ()

    queue.save_channels([ChannelState("new"), ChannelState("old", paused=True)])

    assert (tmp_path / "channel_meta0").read_bytes() == (
        b'[{"name":"new","paused":false,"skipped":false,"zanTestSkipped":false},'
        b'{"name":"old","paused":true,"skipped":false,"zanTestSkipped":false}]'
    )
    assert queue.load_channels() == (ChannelState("new"), ChannelState("old", paused=True))
    queue.close()


@pytest.mark.parametrize("content", [b"", b"{", b"3", b"[{}]", b'[{"name":1}]', b"[1]", b"\xff"])
def test_a_broken_list_of_channels_is_a_warning(tmp_path: Path, content: bytes) -> None:
    queue = opened(tmp_path)
    (tmp_path / "channel_meta0").write_bytes(content)

    assert queue.load_channels() == ()
    assert [warning.file for warning in queue.warnings] == ["channel_meta0"]
    queue.close()
