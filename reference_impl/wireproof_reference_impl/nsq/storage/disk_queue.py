"""One partition's queue on disk: records appended to numbered files, in the published layout.

Records are written with one call per file and are never split. A file is finished when a record
makes it reach ``max_bytes_per_file``. The content of records is the broker's matter. When
``append`` returns, the records are with the operating system; after ``sync`` they are on the disk.
The end of the queue is stored by ``flush``, whenever a file is finished, and by ``close``.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

from wireproof_reference_impl.nsq.storage.channels import (
    ChannelPosition,
    QueueChannels,
)
from wireproof_reference_impl.nsq.storage.file import QueueFile
from wireproof_reference_impl.nsq.storage.folder import QueueFolder
from wireproof_reference_impl.nsq.storage.queue_position import (
    QueueFault,
    QueuePosition,
    QueueWarning,
)
from wireproof_reference_impl.nsq.storage.records import LENGTH_SIZE, measure_record
from wireproof_reference_impl.nsq.storage.recovery import Recovered, recover
from wireproof_reference_impl.nsq.wire import packed
from wireproof_spec.wire_error import WireError

# Storing the end after every record would cost a second write for each; without it, a restart
# reads the file through from the last stored end.
_MUCH_BYTES = 1 << 20


class DiskQueue:
    """The append-only queue of one partition in files; ``open`` creates or finds it."""

    def __init__(
        self,
        folder: QueueFolder,
        recovered: Recovered,
        *,
        max_bytes_per_file: int,
        synced: bool = False,
    ) -> None:
        self._folder = folder
        self._synced = synced
        self._max_bytes_per_file = max_bytes_per_file
        self._start = recovered.start
        self._end = recovered.end
        self._finished = recovered.finished
        self._warnings = recovered.warnings
        self._file: QueueFile | None = None
        self._noted: QueuePosition | None = None
        self._channels = QueueChannels(folder, synced=synced)

    @classmethod
    def open(
        cls,
        directory: Path | str,
        topic: str,
        partition: int,
        *,
        max_bytes_per_file: int,
        synced: bool = False,
    ) -> Self:
        """Open a partition's queue in its topic's directory; create a missing directory.

        A queue has no files before its first record. ``synced``: a file is synced before it counts
        as finished.

        Raises:
            QueueFault: a file before the last one is missing or damaged.
        """
        folder = QueueFolder(str(directory), topic, partition)
        new = folder.is_new()
        recovered = Recovered(QueuePosition(), QueuePosition()) if new else recover(folder)
        queue = cls(folder, recovered, max_bytes_per_file=max_bytes_per_file, synced=synced)
        if new:
            queue._noted = queue._end
            return queue
        folder.write_start(queue._start)
        if synced and queue._end.file_position:
            queue._open_file().sync()
        if queue._end.file_position >= max_bytes_per_file:
            queue._finish_file()
        queue.flush()
        return queue

    @property
    def start(self) -> int:
        """The virtual offset of the first record."""
        return self._start.offset

    @property
    def end(self) -> int:
        """The virtual offset at which the next record will start."""
        return self._end.offset

    @property
    def count(self) -> int:
        """How many messages were ever appended to the queue."""
        return self._end.count

    @property
    def warnings(self) -> tuple[QueueWarning, ...]:
        """What was repaired when the queue and its channels were read."""
        return tuple(self._warnings)

    def append(self, record: bytes) -> int:
        """Write a complete record with its 4-byte length; return the offset of its start.

        Raises:
            ValueError: the record does not have the length that it declares.
            OSError: the record could not be written; nothing of it remains.
        """
        return self.append_all((record,))

    def append_all(self, records: Sequence[bytes]) -> int:
        """Write complete records; return the offset of the first one's start.

        Raises:
            ValueError: a record does not have the length that it declares.
            OSError: the records could not be written; nothing of them remains.
        """
        for record in records:
            if packed.record_size(record) != len(record):
                shown = record[:4].hex(" ")
                raise ValueError(f"a record of {len(record)} bytes begins with {shown}")
        begin, finished = self._end, len(self._finished)
        size = begin.file_position + sum(map(len, records))
        fit = size < self._max_bytes_per_file
        try:
            for batch in (records,) if fit else self._by_file(records):
                self._write(batch)
        except OSError:
            self._roll_back(begin, finished)
            raise
        return begin.offset

    def read_from(self, virtual_offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, record) from an offset to the end, including records added meanwhile.

        Raises:
            QueueFault: no record starts at this offset, or its file is damaged.
        """
        if not self.start <= virtual_offset <= self.end:
            kept = f"it holds {self.start} to {self.end}"
            raise QueueFault(f"{self._name}: no record at offset {virtual_offset}, {kept}")
        return self._records(virtual_offset)

    def save_channels(self, names: Iterable[str]) -> None:
        """Store the names of the channels; ephemeral ones must not be among them."""
        self._channels.save_names(names)

    def load_channel_positions(self) -> dict[str, ChannelPosition]:
        """Return each channel's confirmed position; one beyond the end is moved to the end."""
        positions, warnings = self._channels.load(self._start, self._end)
        self._warnings.extend(warnings)
        return positions

    def add_channel(self, name: str, position: ChannelPosition) -> None:
        """Store a new channel, which a later `open` finds again."""
        place = self._place(position.confirmed, position.count)
        self._channels.add(name, place, self._end)

    def save_channel_positions(self, positions: Mapping[str, ChannelPosition]) -> None:
        """Store each channel's confirmed position; channels that are not given are forgotten."""
        places = {
            channel: self._place(position.confirmed, position.count)
            for channel, position in positions.items()
        }
        self._channels.save(places, self._end)

    def sync(self) -> None:
        """Sync all records to the disk."""
        if self._file is not None:
            self._file.sync()

    def note_growth(self) -> None:
        """Store the end of the queue if reading from the last stored end would take long."""
        noted = 0 if self._noted is None else self._noted.offset
        if self._end.offset - noted >= _MUCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store the end of the queue."""
        if self._noted != self._end:
            self._folder.write_writer_meta(self._end)
            self._noted = self._end

    def close(self) -> None:
        """Store the end of the queue and close its file."""
        if self._synced:
            self.sync()
        self.flush()
        self._close_file()

    @property
    def _name(self) -> str:
        return f"{self._folder.topic}-{self._folder.partition}"

    def _by_file(self, records: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """Divide records into those for each file."""
        size = self._end.file_position
        batch: list[bytes] = []
        for record in records:
            batch.append(record)
            size += len(record)
            if size >= self._max_bytes_per_file:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _write(self, records: Sequence[bytes]) -> None:
        data = records[0] if len(records) == 1 else b"".join(records)
        self._open_file().write(data)
        self._end = self._end.after(len(data), count=len(records))
        if self._end.file_position >= self._max_bytes_per_file:
            self._finish_file()

    def _roll_back(self, begin: QueuePosition, finished: int) -> None:
        """Undo the part of a batch that was written to files before the one that failed."""
        if self._end == begin:
            return
        self._close_file()
        self._folder.cut(begin, last=self._end.file_number)
        del self._finished[finished:]
        self._end = begin
        self.flush()

    def _open_file(self) -> QueueFile:
        if self._file is None:
            if self._end == self._start:
                self._folder.write_start(self._start)
            path = self._folder.data_path(self._end.file_number)
            self._file = QueueFile(path, size=self._end.file_position)
        return self._file

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _finish_file(self) -> None:
        if self._synced:
            self.sync()
        self._close_file()
        self._folder.write_offset_meta(self._end)
        self._finished.append(self._end)
        self._end = self._end.next_file()
        self.flush()

    def _place(self, offset: int, count: int) -> QueuePosition:
        file = self._file_end(offset)
        return QueuePosition(count, file.file_number, offset - file.file_start, offset)

    def _file_end(self, offset: int) -> QueuePosition:
        """Return the present end of the file with the record at an offset."""
        index = bisect_right(self._finished, offset, key=lambda end: end.offset)
        return self._finished[index] if index < len(self._finished) else self._end

    def _records(self, offset: int) -> Iterator[tuple[int, bytes]]:
        while offset < self.end:
            of_file = self._file_end(offset)
            with open(self._folder.data_path(of_file.file_number), "rb") as file:
                file.seek(offset - of_file.file_start)
                for record in self._records_in(file, offset, of_file.file_number):
                    yield offset, record
                    offset += len(record)

    def _records_in(self, file: BinaryIO, offset: int, number: int) -> Iterator[bytes]:
        while (end := self._file_end(offset)).file_number == number and offset < end.offset:
            record = self._record(file, offset, end)
            yield record
            offset += len(record)

    def _record(self, file: BinaryIO, offset: int, end: QueuePosition) -> bytes:
        head = file.read(LENGTH_SIZE)
        try:
            size = measure_record(head, end.offset - offset, offset - end.file_start)
        except WireError as error:
            raise QueueFault(f"{file.name}: {error}") from None
        record = head + file.read(size - LENGTH_SIZE)
        if len(record) != size:
            raise QueueFault(f"{file.name}: the record at offset {offset} is cut")
        return record
