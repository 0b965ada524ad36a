"""One partition's queue on disk: records appended to numbered files, in the published layout.

Records are written with one call for each file and never split; a file is finished when it has
reached ``max_bytes_per_file`` after a record. What a record holds is the broker's business.
Records are with the operating system when ``append`` returns, and on the disk after ``sync``;
where the queue ends is noted by ``flush``, whenever a file is finished, and by ``close``.
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

_MUCH_BYTES = 1 << 20


class DiskQueue:
    """An append-only queue; ``open`` makes or finds it."""

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
        """Open a partition's queue in its topic's directory; the directory is made when missing.

        A queue has no files before its first record.

        ``synced``: a file is on the disk before it counts as finished.

        Raises:
            QueueFault: a file before the last one is missing or broken.
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
        """How many messages were ever appended."""
        return self._end.count

    @property
    def warnings(self) -> tuple[QueueWarning, ...]:
        """What was put right when the queue and its channels were read."""
        return tuple(self._warnings)

    def append(self, record: bytes) -> int:
        """Write a whole record, its 4-byte length included; return the offset of its start.

        Raises:
            ValueError: the record does not have the length that it begins with.
            OSError: it could not be written; nothing of it stays.
        """
        return self.append_all((record,))

    def append_all(self, records: Sequence[bytes]) -> int:
        """Write whole records in a row; return the offset of the first one's start.

        Raises:
            ValueError: a record does not have the length that it begins with.
            OSError: they could not be written; nothing of any of them stays.
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
        """Return (offset, record) from a record's start to the end, also what comes meanwhile.

        Raises:
            QueueFault: no record starts at this offset, or its file is broken.
        """
        if not self.start <= virtual_offset <= self.end:
            kept = f"it holds {self.start} to {self.end}"
            raise QueueFault(f"{self._name}: no record at offset {virtual_offset}, {kept}")
        return self._records(virtual_offset)

    def save_channels(self, names: Iterable[str]) -> None:
        """Keep which channels there are; ephemeral ones do not belong here."""
        self._channels.save_names(names)

    def load_channel_positions(self) -> dict[str, ChannelPosition]:
        """Return how far each channel had confirmed; a position past the end is moved there."""
        positions, warnings = self._channels.load(self._start, self._end)
        self._warnings.extend(warnings)
        return positions

    def add_channel(self, name: str, position: ChannelPosition) -> None:
        """Keep a new channel; it is found again from now on."""
        place = self._place(position.confirmed, position.count)
        self._channels.add(name, place, self._end)

    def save_channel_positions(self, positions: Mapping[str, ChannelPosition]) -> None:
        """Keep how far each channel has confirmed; channels not named are forgotten."""
        places = {
            channel: self._place(position.confirmed, position.count)
            for channel, position in positions.items()
        }
        self._channels.save(places, self._end)

    def sync(self) -> None:
        """Make every record outlive the machine."""
        if self._file is not None:
            self._file.sync()

    def note_growth(self) -> None:
        """Note where the queue ends, if reading it through from what is noted would take long."""
        noted = 0 if self._noted is None else self._noted.offset
        if self._end.offset - noted >= _MUCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Note where the queue ends."""
        if self._noted != self._end:
            self._folder.write_writer_meta(self._end)
            self._noted = self._end

    def close(self) -> None:
        """Note where the queue ends and let go of its file."""
        if self._synced:
            self.sync()
        self.flush()
        self._close_file()

    @property
    def _name(self) -> str:
        return f"{self._folder.topic}-{self._folder.partition}"

    def _by_file(self, records: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """Divide records into those that go to one file each."""
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
        """Undo what was written of a batch to files before the one that failed."""
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
        """Return the end, as of now, of the file in which the record at an offset stands."""
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
