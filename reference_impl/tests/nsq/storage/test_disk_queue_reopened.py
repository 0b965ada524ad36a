"""What a queue finds when it is opened again, whole or not."""

import json
from pathlib import Path

import pytest
from disk_queues import FIRST, LAST, TOPIC, contents, filled, opened, record, recorded

from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault


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


@pytest.mark.parametrize("count", [0, 13])
def test_a_start_that_a_death_left_empty_is_the_beginning(tmp_path: Path, count: int) -> None:
    filled(tmp_path, recorded())
    before = contents(tmp_path)
    for path in tmp_path.iterdir() if not count else ():
        path.unlink()
    (tmp_path / "rolled-0.diskqueue.meta.extra.dat").write_bytes(b"")

    queue = opened(tmp_path)

    assert (queue.start, queue.count) == (0, count)
    for each in recorded()[count:]:
        queue.append(each)
    queue.close()
    assert contents(tmp_path) == before


def test_records_written_after_the_noted_end_are_found(tmp_path: Path) -> None:
    filled(tmp_path, recorded()[:-1])
    with (tmp_path / LAST).open("ab") as file:
        file.write(recorded()[-1])

    queue = opened(tmp_path)

    assert (queue.end, queue.count, queue.warnings) == (879, 13, ())
    queue.close()


@pytest.mark.slow
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
