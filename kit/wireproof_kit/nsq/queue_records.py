"""The records of queues on disk, file after file, with the offsets that run across files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wireproof_kit.decoded import Broken, Decoded, Entry, Heading, JsonObject, Note
from wireproof_kit.nsq.annotation import parts_of
from wireproof_kit.nsq.byte_source import ByteSource, take_many, take_value
from wireproof_kit.nsq.message_fields import message_fields
from wireproof_kit.nsq.queue_directory import StoredFile, stored_queues
from wireproof_kit.transcript import Part
from wireproof_spec.decoding import Schema, spans
from wireproof_spec.nsq.disk import DiskRecord
from wireproof_spec.nsq.queue_names import queue_file_name
from wireproof_spec.wire_error import WireError

Records = Schema[DiskRecord]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from; ``start`` is the virtual offset of the first byte."""

    topic: str | None = None
    partition: int | None = None
    file: str | None = None
    start: int = 0


@dataclass(slots=True)
class Reached:
    """How far a queue has been read; ``count`` is None when its first files are not there.

    ``broken``: something in it could not be read, and nothing behind that was.
    """

    offset: int
    count: int | None
    messages: int = 0
    broken: bool = False


def directory_records(directory: Path, schema: Records) -> Iterator[Entry]:
    """Return the records of all queues in a directory, topic by topic, partition by partition."""
    for topic, partition, files in stored_queues(directory):
        reached = _beginning(files[0])
        yield from _queue_records(files, schema, reached)
        if reached.broken:
            return
        said = f"{reached.messages} messages up to offset {reached.offset}"
        yield Heading(f"end of topic {topic}   partition {partition}   {said}")


def file_records(file: StoredFile, schema: Records) -> Iterator[Entry]:
    """Return the records of one file of a queue."""
    yield from _file_records(file, schema, _beginning(file))


def source_records(source: ByteSource, schema: Records, origin: Origin) -> Iterator[Entry]:
    """Return each record; after a broken one, nothing."""
    for found in _runs(source, schema, origin):
        yield from (found,) if isinstance(found, Broken) else found


def _runs(
    source: ByteSource, schema: Records, origin: Origin
) -> Iterator[Sequence[Decoded] | Broken]:
    """Return the records a batch at a time: one by one they would take half as long again."""
    while source.peek(1):
        yield [
            _decoded(StoredRecord(record, data, start, schema, origin))
            for record, data, start in take_many(source, schema)
        ]
        if not source.peek(1):
            return
        start = source.offset
        taken = take_value(source, schema)
        if isinstance(taken, Broken):
            yield taken
            return
        yield [_decoded(StoredRecord(*taken, start, schema, origin))]


def _queue_records(
    files: Sequence[StoredFile], schema: Records, reached: Reached
) -> Iterator[Entry]:
    for due, file in enumerate(files, files[0].queue.number):
        if file.queue.number != due:
            reached.broken = True
            yield _gap(file, due, reached.offset)
            return
        yield from _file_records(file, schema, reached)
        if reached.broken:
            return


def _beginning(file: StoredFile) -> Reached:
    start = file.start_offset()
    return Reached(-1 if start is None else start, 0 if file.queue.number == 0 else None)


def _file_records(file: StoredFile, schema: Records, reached: Reached) -> Iterator[Entry]:
    if reached.offset < 0:
        yield Note(f"nothing tells at which offset {file.name} begins; counted from 0")
        reached.offset = 0
    queue = file.queue
    origin = Origin(queue.topic, queue.partition, file.name, reached.offset)
    place = f"topic {queue.topic}   partition {queue.partition}   offset {origin.start}"
    yield Heading(f"{file.name}   {place}")
    messages = 0
    with file.path.open("rb") as opened:
        source = ByteSource(opened, size=file.path.stat().st_size)
        for found in _runs(source, schema, origin):
            if isinstance(found, Broken):
                reached.broken = True
                yield replace(found, where=file.name)
                return
            yield from found
            messages += len(found)
    reached.offset += source.offset
    reached.messages += messages
    if reached.count is not None:
        reached.count += messages
    yield from _compared(file, origin.start, reached)


def _compared(file: StoredFile, start: int, reached: Reached) -> Iterator[Note]:
    """Note when what was noted of a finished file is not what stands in it."""
    try:
        meta = file.offset_meta()
    except WireError as error:
        yield Note(f"the offset meta of {file.name} cannot be read: {error}")
        return
    if meta is None:
        return
    if (meta.start_offset, meta.end_offset) != (start, reached.offset):
        noted = f"{meta.start_offset} to {meta.end_offset}"
        yield Note(f"{file.name} is noted as offsets {noted}, it has {start} to {reached.offset}")
    if reached.count is not None and meta.total_count != reached.count:
        noted = f"{meta.total_count} messages up to its end"
        yield Note(f"{file.name} is noted with {noted}, there are {reached.count}")


def _gap(file: StoredFile, due: int, offset: int) -> Broken:
    queue = file.queue
    error = WireError(
        clause="ext.disk.layout",
        field="file",
        offset=offset,
        expected=queue_file_name(queue.topic, queue.partition, due),
        found=queue.name,
    )
    where = f"topic {queue.topic}, partition {queue.partition}"
    return Broken(offset, b"", error, list, where)


def _decoded(record: "StoredRecord") -> Decoded:
    return Decoded(
        "message", record.title, record.start, record.data, record.parts, record.objects
    )


class StoredRecord:
    """A record, its bytes and where they stand; what is told of it is made when asked for."""

    __slots__ = ("data", "origin", "record", "schema", "start")

    def __init__(
        self, record: DiskRecord, data: bytes, start: int, schema: Records, origin: Origin
    ) -> None:
        """`start` counts from the first byte of its file."""
        self.record = record
        self.data = data
        self.start = start
        self.schema = schema
        self.origin = origin

    def title(self) -> str:
        """Return the offset in the queue, the size and the ids."""
        message = self.record.message
        ids = f"internal_id {message.internal_id}   trace_id {message.trace_id}"
        return f"offset {self.origin.start + self.start}   {len(self.data)} bytes   {ids}"

    def parts(self) -> list[Part]:
        """Return the fields with their bytes."""
        return parts_of(spans(self.schema, self.data), self.data)

    def objects(self) -> Sequence[JsonObject]:
        """Return the record as a JSON object."""
        return [
            {
                "kind": "message",
                "topic": self.origin.topic,
                "partition": self.origin.partition,
                "file": self.origin.file,
                "offset": self.start,
                "queue_offset": self.origin.start + self.start,
                "raw_size": len(self.data),
                **message_fields(self.record.message),
                "indicator": self.record.indicator,
            }
        ]
