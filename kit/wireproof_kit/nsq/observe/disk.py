"""Reads queue files in the target's data directory.

Words: ``stored:as-sent``, ``stored:header-changed``, ``stored:no-header``,
``stored:body-changed``, ``stored:undecodable``, ``missing``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import RESPELLED, find_difference, is_respelled
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, header_bytes
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import REDELIVERY, Wait
from wireproof_kit.wire.waiting import until
from wireproof_spec.nsq.disk import DiskRecord, RecordKind, RecordReader
from wireproof_spec.nsq.queue_names import QueueFile, read_queue_file_name
from wireproof_spec.wire_error import WireError

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record of a message queue on disk, with its file, offset in it, and bytes."""

    record: DiskRecord
    file: str
    offset: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Queue:
    """All records of a partition on disk; ``fault`` says why decoding stopped before ``rest``."""

    records: tuple[StoredRecord, ...]
    fault: WireError | None = None
    rest: bytes = b""

    def find(self, body: bytes) -> StoredRecord | None:
        """Return the first record whose body equals the given one."""
        for stored in self.records:
            if stored.record.message.body == body:
                return stored
        return None

    def find_record(self, body: bytes) -> StoredRecord | None:
        """Return the first record that contains the body anywhere in its bytes."""
        return next((stored for stored in self.records if body in stored.raw), None)


class DataDirectory:
    """Reads the records of partitions in the broker's data directory."""

    def __init__(
        self,
        broker: Broker,
        *,
        kind: RecordKind = "from-record",
        length_always: bool | None = None,
    ) -> None:
        """Read records of this kind from the directory of a broker.

        ``length_always`` says whether a length follows extend version 0; None: as the target does.
        """
        if broker.data is None:
            raise ArrangementFailed("no data directory of the target is known; give --data")
        self._root = broker.data
        self._broker = broker
        self._kind: RecordKind = kind
        self._told_length_always = length_always

    def read(self, topic: Topic) -> Queue:
        """Return the records of a partition that are on disk now.

        Raises:
            ArrangementFailed: a file cannot be read.
        """
        records: list[StoredRecord] = []
        for path in self.files(topic):
            queue = self._read_file(path, self._length_always(topic))
            records.extend(queue.records)
            if queue.fault is not None:
                return Queue(tuple(records), queue.fault, queue.rest)
        return Queue(tuple(records))

    def wait_for(self, topic: Topic, body: bytes, wait: Wait = REDELIVERY) -> Queue:
        """Wait until a body is on disk or patience has passed; return the partition's records.

        A broker may keep records in a buffer for a while.
        """

        def look() -> Queue | None:
            queue = self.read(topic)
            in_rest = queue.fault is not None and body in queue.rest
            return queue if in_rest or queue.find_record(body) else None

        seconds = self._broker.patience.seconds(wait)
        return until(look, seconds=seconds, every=0.05) or self.read(topic)

    def files(self, topic: Topic) -> list[Path]:
        """Return the record files of a partition in queue order."""
        named: list[tuple[QueueFile, Path]] = []
        for path in self._paths(topic):
            file = read_queue_file_name(path.name)
            if file and (file.topic, file.partition) == (topic.name, topic.partition):
                named.append((file, path))
        return [path for _, path in sorted(named)]

    def _paths(self, topic: Topic) -> Iterator[Path]:
        folder = self._root / topic.name
        if folder.is_dir():
            yield from folder.iterdir()

    def _length_always(self, topic: Topic) -> bool:
        if self._told_length_always is not None:
            return self._told_length_always
        return self._broker.layout(topic, ordered=False).length_always

    def _read_file(self, path: Path, length_always: bool) -> Queue:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ArrangementFailed(f"cannot read {path}: {error.strerror}") from error
        reader = RecordReader(self._kind, length_always=length_always)
        reader.feed(data)
        records: list[StoredRecord] = []
        while True:
            start = reader.offset
            try:
                record = reader.next_record()
            except WireError as error:
                return Queue(tuple(records), error, data[start : start + CHUNK])
            if not isinstance(record, DiskRecord):
                return Queue(tuple(records))
            raw = data[start : reader.offset]
            records.append(StoredRecord(record, path.name, start, raw))


def observe_stored(queue: Queue, *, body: bytes, header: Header | None = None) -> Observation:
    """Compare the stored record of a message with what was published."""
    stored = queue.find(body)
    if stored is not None:
        return _observe_header(stored, None if header is None else header_bytes(header))
    if queue.fault is not None:
        fault = queue.fault
        difference = Difference(fault.field, fault.offset, fault.expected, fault.found)
        return observed("stored:undecodable", difference=difference)
    changed = queue.find_record(body)
    if changed is not None:
        found = changed.record.message.body
        return observed(
            "stored:body-changed", difference=find_difference("body", expected=body, found=found)
        )
    return observed("missing", overdue=True)


def _observe_header(stored: StoredRecord, sent: bytes | None) -> Observation:
    extend = stored.record.message.extend
    header = (extend.data if extend else None) or None
    if header == (sent or None):
        return observed("stored:as-sent")
    if is_respelled(sent, header):
        return observed("stored:as-sent", note=RESPELLED)
    difference = find_difference("json_header", expected=sent or b"", found=header or b"")
    return observed(
        "stored:no-header" if header is None else "stored:header-changed", difference=difference
    )
