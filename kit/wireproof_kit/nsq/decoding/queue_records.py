"""Decodes the records of queues on disk, with the virtual offsets that span files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import TypeAlias, cast

from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, Heading, JsonObject, Note
from wireproof_kit.nsq.decoding.annotation import parts_of
from wireproof_kit.nsq.decoding.byte_source import ByteSource, take_many, take_value
from wireproof_kit.nsq.decoding.message_fields import message_fields
from wireproof_kit.nsq.decoding.queue_directory import StoredFile, stored_queues
from wireproof_kit.wire.transcript import Part
from wireproof_spec.decoding import Schema, spans
from wireproof_spec.nsq.disk import DiskRecord
from wireproof_spec.nsq.queue_names import queue_file_name
from wireproof_spec.wire_error import WireError

Records = Schema[DiskRecord]
Batch: TypeAlias = Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from; ``start`` is the queue offset of the source's first byte."""

    topic: str | None = None
    partition: int | None = None
    file: str | None = None
    start: int = 0


@dataclass(slots=True)
class QueueProgress:
    """How far a queue was decoded; ``count`` is None if the first files are missing.

    ``broken``: a record could not be decoded, and the records after it were not read.
    """

    offset: int
    count: int | None
    messages: int = 0
    broken: bool = False


def directory_records(directory: Path, schema: Records) -> Iterator[Entry]:
    """Yield the decoded records of all queues in a directory, by topic and partition."""
    return chain.from_iterable(_directory_records(directory, schema))


def file_records(file: StoredFile, schema: Records) -> Iterator[Entry]:
    """Yield the decoded records of one file of a queue."""
    return chain.from_iterable(_file_records(file, schema, _read_beginning(file)))


def source_records(source: ByteSource, schema: Records, origin: Origin) -> Iterator[Entry]:
    """Yield the decoded records of a source, up to and including the first broken one."""
    return chain.from_iterable(_source_records(source, schema, origin))


# A batch at a time: one by one, handed on from each to the next, they would take twice as long.


def _source_records(source: ByteSource, schema: Records, origin: Origin) -> Iterator[Batch]:
    """Yield the records of a source, followed by a broken one if there is one."""
    formatter = RecordFormatter(schema, origin)
    while source.peek(1):
        records, pieces, starts = take_many(source, schema)
        yield list(map(Decoded, repeat("message"), starts, pieces, records, repeat(formatter)))
        if not source.peek(1):
            return
        start = source.offset
        taken = take_value(source, schema)
        if isinstance(taken, Broken):
            yield [taken]
            return
        record, data = taken
        yield [Decoded("message", start, data, record, formatter)]


def _directory_records(directory: Path, schema: Records) -> Iterator[Batch]:
    for topic, partition, files in stored_queues(directory):
        reached = _read_beginning(files[0])
        yield from _queue_records(files, schema, reached)
        if reached.broken:
            return
        said = f"{reached.messages} messages up to offset {reached.offset}"
        yield [Heading(f"end of topic {topic}   partition {partition}   {said}")]


def _queue_records(
    files: Sequence[StoredFile], schema: Records, reached: QueueProgress
) -> Iterator[Batch]:
    for due, file in enumerate(files, files[0].queue.number):
        if file.queue.number != due:
            reached.broken = True
            yield [_gap(file, due, reached.offset)]
            return
        yield from _file_records(file, schema, reached)
        if reached.broken:
            return


def _read_beginning(file: StoredFile) -> QueueProgress:
    start = file.start_offset()
    return QueueProgress(-1 if start is None else start, 0 if file.queue.number == 0 else None)


def _file_records(file: StoredFile, schema: Records, reached: QueueProgress) -> Iterator[Batch]:
    if reached.offset < 0:
        yield [Note(f"nothing tells at which offset {file.name} begins; counted from 0")]
        reached.offset = 0
    queue = file.queue
    origin = Origin(queue.topic, queue.partition, file.name, reached.offset)
    place = f"topic {queue.topic}   partition {queue.partition}   offset {origin.start}"
    yield [Heading(f"{file.name}   {place}")]
    messages = 0
    with file.path.open("rb") as opened:
        source = ByteSource(opened, size=file.path.stat().st_size)
        for found in _source_records(source, schema, origin):
            if found and isinstance(found[0], Broken):
                reached.broken = True
                yield [replace(found[0], where=file.name)]
                return
            yield found
            messages += len(found)
    reached.offset += source.offset
    reached.messages += messages
    if reached.count is not None:
        reached.count += messages
    yield list(_compare_metadata(file, origin.start, reached))


def _compare_metadata(file: StoredFile, start: int, reached: QueueProgress) -> Iterator[Note]:
    """Yield a note when the metadata of a completed file does not match its content."""
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


@dataclass(frozen=True, slots=True)
class RecordFormatter:
    """Formats the records of one source as titles, dump parts and JSON."""

    schema: Records
    origin: Origin

    def title(self, entry: Decoded) -> str:
        """Return the record's offset in the queue, its size and its ids."""
        message = _record(entry).message
        ids = f"internal_id {message.internal_id}   trace_id {message.trace_id}"
        return f"offset {self.origin.start + entry.offset}   {len(entry.data)} bytes   {ids}"

    def parts(self, entry: Decoded) -> Sequence[Part]:
        """Return the fields of the record with their bytes."""
        return parts_of(spans(self.schema, entry.data), entry.data)

    def objects(self, entry: Decoded) -> Sequence[JsonObject]:
        """Return the record as a JSON object."""
        record, origin = _record(entry), self.origin
        return [
            {
                "kind": "message",
                "topic": origin.topic,
                "partition": origin.partition,
                "file": origin.file,
                "offset": entry.offset,
                "queue_offset": origin.start + entry.offset,
                "raw_size": len(entry.data),
                **message_fields(record.message),
                "indicator": record.indicator,
            }
        ]


def _record(entry: Decoded) -> DiskRecord:
    return cast(DiskRecord, entry.value)
