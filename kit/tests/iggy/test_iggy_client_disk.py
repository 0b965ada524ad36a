import threading
from pathlib import Path

import pytest

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.observe.disk import DataDirectory
from wireproof_kit.iggy.topics import Stream, Topic

TOPIC = Topic(Stream(5, "stream"), 7, "topic", 2)
PLACE = "streams/5/topics/7/partitions/2"


def folder(root: Path) -> Path:
    place = root / PLACE
    place.mkdir(parents=True)
    return place


def test_segments_come_in_their_order_with_their_indexes(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "00000000000000000010.log").write_bytes(b"second")
    (place / "00000000000000000000.log").write_bytes(b"first")
    (place / "00000000000000000000.index").write_bytes(b"i")
    (place / "00000000000000000000.timeindex").write_bytes(b"t")
    (place / "notes.log").write_bytes(b"none of ours")
    segments = DataDirectory(tmp_path, 0.0).segments(TOPIC, 2)

    assert [(each.start, each.log) for each in segments] == [(0, b"first"), (10, b"second")]
    assert (segments[0].index, segments[0].time_index) == (b"i", b"t")
    assert (segments[1].index, segments[1].time_index) == (b"", b"")


def test_a_partition_without_a_folder_has_no_segments(tmp_path: Path) -> None:
    stored = DataDirectory(tmp_path, 0.0)

    assert stored.segments(TOPIC) == []
    assert stored.wait_for(TOPIC, b"x") == []
    assert stored.offset_file(TOPIC, 1) == b""


def test_what_is_written_late_is_waited_for(tmp_path: Path) -> None:
    place = folder(tmp_path)
    log = place / "00000000000000000000.log"
    log.write_bytes(b"first")
    writer = threading.Timer(0.1, lambda: log.write_bytes(b"first, last"))
    writer.start()
    segments = DataDirectory(tmp_path, 10.0).wait_for(TOPIC, b"last", 2)
    writer.join()

    assert segments[0].log == b"first, last"


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (folder(tmp_path) / "00000000000000000000.log").mkdir()
    with pytest.raises(ArrangementFailed, match="cannot read"):
        DataDirectory(tmp_path, 0.0).segments(TOPIC, 2)


def test_without_a_data_directory_there_is_nothing_to_read() -> None:
    with pytest.raises(ArrangementFailed, match="--data"):
        DataDirectory(None, 0.0)


def test_the_offset_of_a_consumer_is_read(tmp_path: Path) -> None:
    place = folder(tmp_path) / "offsets/consumers"
    place.mkdir(parents=True)
    (place / "9").write_bytes(b"12345678")

    assert DataDirectory(tmp_path, 0.0).offset_file(TOPIC, 9, 2) == b"12345678"


def test_no_two_runs_share_streams_and_no_two_cases_topics() -> None:
    one, other = Identifiers("one"), Identifiers("OTHER")
    streams = [one.stream(), one.stream(), other.stream()]

    assert len({stream.number for stream in streams}) == 3
    assert len({stream.name for stream in streams}) == 3
    assert all(stream.name.startswith("wp_") for stream in streams)
    assert streams[2].name == streams[2].name.lower()
    assert one.topic_number() != one.topic_number()


def test_the_stream_for_topics_is_made_once() -> None:
    identifiers, made = Identifiers("one"), list[Stream]()

    def make() -> Stream:
        made.append(identifiers.stream())
        return made[-1]

    assert identifiers.home is None
    assert identifiers.shared_stream(make) == identifiers.shared_stream(make) == identifiers.home
    assert len(made) == 1

    identifiers.forget_home()
    assert identifiers.home is None
    assert identifiers.shared_stream(make) == made[1]
