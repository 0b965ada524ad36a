"""The disk grammar against queue directories of a real broker, as their manifest has them."""

import json
from typing import Any

import pytest

from wireproof_spec import strict_json
from wireproof_spec.decoding import decode, encode
from wireproof_spec.json_schema import check
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.disk import (
    DISK_RECORD,
    DiskRecord,
    RecordKind,
    RecordReader,
    disk_record_schema,
)
from wireproof_spec.nsq.message import Extend
from wireproof_spec.nsq.names import EXT_INDICATOR
from wireproof_spec.nsq.queue_files import (
    COMMIT_LOG_RECORD,
    COMMIT_LOG_RECORD_SIZE,
    WRITER_META,
    WriterMeta,
)
from wireproof_spec.nsq.queue_names import (
    channel_meta_name,
    commit_log_name,
    magic_name,
    queue_file_name,
    queue_start_name,
    writer_meta_name,
)
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

DISK = golden.folder() / "nsqd-disk"
TOPICS: dict[str, dict[str, Any]] = json.loads((DISK / "manifest.json").read_bytes())["topics"]
EACH = pytest.mark.parametrize("topic", TOPICS)


def file(topic: str, name: str) -> bytes:
    return (DISK / topic / name).read_bytes()


def queue(topic: str) -> bytes:
    return file(topic, queue_file_name(topic, 0, 0))


def records(data: bytes, kind: RecordKind, *, step: int | None = None) -> list[DiskRecord]:
    reader = RecordReader(kind)
    found: list[DiskRecord] = []
    step = step or len(data)
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
        while (record := reader.next_record()) is not NEED_MORE:
            found.append(record)
    reader.finish()
    return found


def as_published(message: dict[str, Any]) -> dict[str, object]:
    """Say what the manifest expects on disk of a published message."""
    disk, header = message["on_disk"], message["header"]
    version = disk["ext_version"]
    extend = None if version is None else Extend(version, header.encode() if version else None)
    return {
        "timestamp_ns": disk["timestamp_ns"],
        "indicator": int(disk["attempts_field"], 16) >> 12,
        "attempts": int(disk["attempts_field"], 16) & 0xFFF,
        "internal_id": disk["internal_id"],
        "trace_id": message["trace_id"],
        "extend": extend,
        "body": bytes.fromhex(message["body_hex"]),
        "raw_size": disk["raw_size"],
    }


def as_read(record: DiskRecord) -> dict[str, object]:
    message = record.message
    return {
        "timestamp_ns": message.timestamp_ns,
        "indicator": record.indicator,
        "attempts": message.attempts,
        "internal_id": message.internal_id,
        "trace_id": message.trace_id,
        "extend": message.extend,
        "body": message.body,
        "raw_size": record.raw_size,
    }


@EACH
@pytest.mark.parametrize("step", [None, 1, 7])
def test_a_queue_is_read_to_its_manifest(topic: str, step: int | None) -> None:
    found = records(queue(topic), "from-record", step=step)

    assert list(map(as_read, found)) == list(map(as_published, TOPICS[topic]["messages"]))


@EACH
def test_a_queue_is_built_back(topic: str) -> None:
    found = records(queue(topic), "from-record")

    assert b"".join(encode(DISK_RECORD, record) for record in found) == queue(topic)


@EACH
def test_records_lie_where_the_manifest_says(topic: str) -> None:
    reader = RecordReader("from-record")
    reader.feed(queue(topic))
    for message in TOPICS[topic]["messages"]:
        assert reader.offset == message["on_disk"]["virtual_offset"]
        assert reader.next_record() is not NEED_MORE
        answer = message.get("response")
        if answer:
            assert answer["queue_offset"] + answer["raw_size"] == reader.offset


def test_kinds_hold_for_topics_of_one_kind() -> None:
    assert records(queue("gdd_plain"), "plain") == records(queue("gdd_plain"), "from-record")
    assert records(queue("gdd_ext"), "ext") == records(queue("gdd_ext"), "from-record")


@pytest.mark.parametrize(("topic", "kind"), [("gdd_plain", "ext"), ("gdd_ext", "plain")])
def test_the_wrong_kind_is_refused_at_the_attempts(topic: str, kind: RecordKind) -> None:
    with pytest.raises(WireError) as caught:
        records(queue(topic), kind)

    assert (caught.value.field, caught.value.offset) == ("message.attempts", 12)


def test_an_upgraded_topic_changes_kind_within_one_file() -> None:
    indicators = [record.indicator for record in records(queue("gdd_upgraded"), "from-record")]

    assert indicators == [0, 0, EXT_INDICATOR, EXT_INDICATOR, EXT_INDICATOR]


def test_an_upgraded_topic_is_refused_as_plain_at_its_third_record() -> None:
    with pytest.raises(WireError) as caught:
        records(queue("gdd_upgraded"), "plain")

    assert (caught.value.field, caught.value.offset) == ("message.attempts", 92 + 12)


@EACH
def test_the_commit_log_tells_of_every_message(topic: str) -> None:
    log = file(topic, commit_log_name(topic, 0))
    pieces = [log[at : at + 48] for at in range(0, len(log), COMMIT_LOG_RECORD_SIZE)]
    commits = [decode(COMMIT_LOG_RECORD, piece) for piece in pieces]
    found = records(queue(topic), "from-record")

    assert [encode(COMMIT_LOG_RECORD, commit) for commit in commits] == pieces
    assert sum(commit.message_count for commit in commits) == len(found)
    offset, number = 0, 1
    for commit in commits:
        batch = found[number - 1 : number - 1 + commit.message_count]
        assert commit.log_id == batch[0].message.internal_id
        assert commit.last_log_id == batch[-1].message.internal_id
        assert commit.queue_offset == offset
        assert commit.size_bytes == sum(record.raw_size for record in batch)
        assert commit.first_message_number == number
        offset += commit.size_bytes
        number += commit.message_count


@EACH
def test_the_writer_meta_points_to_the_end(topic: str) -> None:
    data = file(topic, writer_meta_name(topic, 0))
    end = len(queue(topic))

    meta = decode(WRITER_META, data)

    assert meta == WriterMeta(len(TOPICS[topic]["messages"]), 0, end, end)
    assert encode(WRITER_META, meta) == data


@EACH
def test_the_json_files_follow_their_schemas(topic: str) -> None:
    start = strict_json.read(file(topic, queue_start_name(topic, 0)))
    channels = strict_json.read(file(topic, channel_meta_name(0)))

    assert check("nsq/queue-start", start.value) == ()
    assert check("nsq/channel-meta", channels.value) == ()


@EACH
def test_every_file_bears_a_known_name(topic: str) -> None:
    known = {
        queue_file_name(topic, 0, 0),
        queue_start_name(topic, 0),
        writer_meta_name(topic, 0),
        channel_meta_name(0),
        commit_log_name(topic, 0),
        magic_name(0),
    }

    assert {entry.name for entry in (DISK / topic).iterdir()} == known
    assert {f"{topic}/{name}" for name in known} == {
        entry["file"] for entry in TOPICS[topic]["files"]
    }


def test_the_published_drawing_takes_a_length_even_without_data() -> None:
    schema = disk_record_schema("ext", length_always=True)
    record = records(queue("gdd_ext"), "ext")[0]

    with pytest.raises(WireError) as caught:
        encode(schema, record)
    assert caught.value.field == "message.extend.data"
