import pytest

from wireproof_spec.nsq.queue_names import (
    QueueFile,
    channel_meta_name,
    commit_log_name,
    magic_name,
    offset_meta_name,
    queue_file_name,
    queue_start_name,
    read_queue_file_name,
    writer_meta_name,
)


def test_names_of_one_partition() -> None:
    assert queue_file_name("t", 3, 12) == "t-3.diskqueue.000012.dat"
    assert offset_meta_name("t", 3, 12) == "t-3.diskqueue.000012.dat.offsetmeta.dat"
    assert writer_meta_name("t", 3) == "t-3.diskqueue.meta.writer.dat"
    assert queue_start_name("t", 3) == "t-3.diskqueue.meta.extra.dat"
    assert channel_meta_name(3) == "channel_meta3"
    assert magic_name(3) == "magic3"
    assert commit_log_name("t", 3) == "t_3.commit.log"


def test_files_with_large_numbers_have_longer_names() -> None:
    assert queue_file_name("t", 0, 999_990) == "t-0.diskqueue.999990.dat"
    assert queue_file_name("t", 0, 999_991) == "t-0.diskqueue.000999991.dat"


@pytest.mark.parametrize("topic", ["t", "a-1", "a.diskqueue", "#", "x-0.diskqueue.000001.dat"])
def test_a_queue_file_is_known_by_its_name(topic: str) -> None:
    name = queue_file_name(topic, 3, 1_234_567)

    assert read_queue_file_name(name) == QueueFile(topic, 3, 1_234_567)
    assert QueueFile(topic, 3, 1_234_567).name == name


@pytest.mark.parametrize(
    "name",
    [
        "t-3.diskqueue.meta.writer.dat",
        "t-3.diskqueue.000012.dat.offsetmeta.dat",
        "t-3.diskqueue.12.dat",
        "t.diskqueue.000012.dat",
        "-3.diskqueue.000012.dat",
        "t-3.diskqueue.\u0660\u0660\u0660\u0660\u0660\u0660.dat",
        "",
    ],
)
def test_other_files_are_none(name: str) -> None:
    assert read_queue_file_name(name) is None


def test_queue_files_sort_in_the_order_of_the_queue() -> None:
    files = [QueueFile("t", 1, 0), QueueFile("t", 0, 10), QueueFile("t", 0, 2)]

    assert sorted(files) == [QueueFile("t", 0, 2), QueueFile("t", 0, 10), QueueFile("t", 1, 0)]
