from importlib.resources import as_file, files
from pathlib import Path

import pytest

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.disk import DataDirectory, observe_stored
from wireproof_kit.nsq.topics.bodies import Bodies
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.nsq.queue_names import queue_file_name

HASTY = Patience(answer=0.05, push=0.05, redelivery=0.05)
TOPIC = Topic("t", 0, extend=True, ordered=False, shared=False, address=("127.0.0.1", 1))
BODY, HEADER = b"the body", b'{"k":"v"}'


def broker(data: Path | None) -> Broker:
    return Broker(
        ("127.0.0.1", 1), transcript=Transcript(), patience=HASTY, bodies=Bodies(""), data=data
    )


def record(body: bytes, header: bytes | None = HEADER) -> bytes:
    extend = Extend(0, None) if header is None else Extend(4, header)
    message = Message(1, 0, 2, 3, extend, None, None, body)
    return encode(DISK_RECORD, DiskRecord(message, 0xA))


def stored(root: Path, *contents: bytes) -> DataDirectory:
    folder = root / "t"
    folder.mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        folder.joinpath(queue_file_name("t", 0, number)).write_bytes(content)
    folder.joinpath(queue_file_name("t", 1, 0)).write_bytes(record(b"another partition"))
    return DataDirectory(broker(root))


def test_records_of_all_files_come_in_order(tmp_path: Path) -> None:
    first, second, third = record(b"1"), record(b"2", None), record(b"3")
    queue = stored(tmp_path, first + second, third).read(TOPIC)

    assert [found.record.message.body for found in queue.records] == [b"1", b"2", b"3"]
    assert [found.offset for found in queue.records] == [0, len(first), 0]
    assert [found.raw for found in queue.records] == [first, second, third]
    assert queue.fault is None


def test_a_record_still_being_written_is_no_fault(tmp_path: Path) -> None:
    queue = stored(tmp_path, record(b"1") + record(b"2")[:-1]).read(TOPIC)

    assert len(queue.records) == 1
    assert queue.fault is None


def test_a_body_that_is_there_is_not_waited_for(tmp_path: Path) -> None:
    queue = stored(tmp_path, record(BODY)).wait_for(TOPIC, BODY)

    assert queue.find(BODY) is not None


def test_a_body_that_is_not_there_is_missing_after_patience(tmp_path: Path) -> None:
    queue = stored(tmp_path).wait_for(TOPIC, BODY)

    assert observe_stored(queue, body=BODY).value == "missing"
    assert observe_stored(queue, body=BODY).overdue


WORDS = {
    "stored:as-sent": record(BODY),
    "stored:no-header": record(BODY, None),
    "stored:header-changed": record(BODY, b'{"k":"w"}'),
    "stored:body-changed": record(b"more " + BODY),
    "stored:undecodable": b"\0\0\0\5" + BODY,
    "missing": record(b"another"),
}


@pytest.mark.parametrize(("word", "content"), WORDS.items(), ids=WORDS)
def test_each_record_has_its_word(tmp_path: Path, word: str, content: bytes) -> None:
    queue = stored(tmp_path, content).wait_for(TOPIC, BODY)

    assert observe_stored(queue, body=BODY, header=HEADER).value == word


def test_without_a_data_directory_nothing_can_be_read() -> None:
    with pytest.raises(ArrangementFailed, match="--data"):
        DataDirectory(broker(None))


@pytest.mark.parametrize(
    ("name", "count"), [("gdd_plain", 1), ("gdd_ext", 1), ("gdd_upgraded", 1)]
)
def test_recorded_queues_are_read_whole(name: str, count: int) -> None:
    topic = Topic(name, 0, extend=True, ordered=False, shared=False, address=("127.0.0.1", 1))
    with as_file(files("wireproof_spec.nsq").joinpath("golden/nsqd-disk")) as root:
        queue = DataDirectory(broker(root)).read(topic)

    assert queue.fault is None
    assert queue.records
