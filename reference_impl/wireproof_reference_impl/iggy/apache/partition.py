"""One partition: batches in the order of arrival, and the stored offsets of consumers."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.apache import records
from wireproof_reference_impl.iggy.apache.records import Batch
from wireproof_reference_impl.iggy.apache.refusals import Denied, Unsound
from wireproof_reference_impl.iggy.streams.storage import PartitionFiles, Rows
from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND


class Partition:
    """The batches of a partition; `created_us` is when it was made."""

    def __init__(
        self, number: int, files: PartitionFiles, *, created_us: int, segment_size: int
    ) -> None:
        self.id = number
        self.created_us = created_us
        self.batches: list[Batch] = []
        self.damaged: set[int] = set()
        """Base offsets of batches that do not fit their checksums."""
        self.next_offset = 0
        self.segment = 0
        """The first offset of the segment that is written to."""
        self.size = 0
        self._segment_bytes = 0
        self._segment_size = segment_size
        self.files = files
        self._offsets = {kind: dict(files.offsets(kind)) for kind in (CONSUMER_KIND, GROUP_KIND)}
        self._load()

    @property
    def newest(self) -> int:
        """The newest offset; 0 also if there is no message."""
        return max(0, self.next_offset - 1)

    def append(self, batch: Batch, now_us: int) -> Batch:
        """Stamp a batch, store it and return it.

        Raises:
            OSError: the batch could not be stored.
        """
        stamped = self.stamp(batch, now_us)
        data = self.log_record(stamped)
        if self._segment_bytes >= self._segment_size:
            self.segment, self._segment_bytes = self.next_offset, 0
        rows = Rows([data], [self._segment_bytes], [stamped.base_timestamp])
        self.files.append(self.segment, rows)
        self._segment_bytes += len(data)
        self._keep(stamped, len(data), len(batch.frames))
        return stamped

    def stamp(self, batch: Batch, now_us: int) -> Batch:
        """Return a batch with the partition, the next offset and a time that does not fall."""
        last_us = self.batches[-1].base_timestamp if self.batches else 0
        return replace(
            batch,
            partition_id=self.id,
            base_offset=self.next_offset,
            base_timestamp=max(now_us, last_us),
        )

    def log_record(self, batch: Batch) -> bytes:
        """Return the bytes of a stamped batch as they are written to the log."""
        return records.write_batch(batch)

    def select(self, start: int, count: int) -> list[Batch]:
        """Return the batches with up to `count` messages from an offset on, each cut to them.

        Raises:
            Denied: one of the batches is damaged.
        """
        last = min(start + count, self.next_offset) - 1
        found: list[Batch] = []
        for batch in self.batches:
            if batch.base_offset > last:
                break
            part = self.cut(batch, start, last)
            if batch.base_offset in self.damaged and self._reaches(batch, start):
                raise Denied(statuses.INVALID_MESSAGE_CHECKSUM)
            if part.frames:
                found.append(part)
        return found

    def cut(self, batch: Batch, start: int, last: int) -> Batch:
        """Return the frames of a batch that lie in a range; base offset and deltas are kept."""
        frames = tuple(frame for frame in batch.frames if start <= batch.offset(frame) <= last)
        return replace(batch, frames=frames)

    def stored_offset(self, kind: int, consumer: int) -> int | None:
        """Return the stored offset of a consumer or a group (`kind`), or None."""
        return self._offsets[kind].get(consumer)

    def store_offset(self, kind: int, consumer: int, offset: int) -> None:
        """Store the offset of a consumer or a group (`kind`).

        Raises:
            Denied: the partition has no such offset.
        """
        if offset >= self.next_offset:
            raise Denied(statuses.INVALID_OFFSET, committed=True)
        self.files.save_offset(kind, consumer, offset)
        self._offsets[kind][consumer] = offset

    def delete_offset(self, kind: int, consumer: int) -> None:
        """Delete the stored offset of a consumer or a group (`kind`).

        Raises:
            Denied: none is stored.
        """
        if consumer not in self._offsets[kind]:
            raise Denied(statuses.CONSUMER_OFFSET_NOT_FOUND, committed=True)
        self.files.remove_offset(kind, consumer)
        del self._offsets[kind][consumer]

    def _reaches(self, batch: Batch, start: int) -> bool:
        """Return True if a batch has an offset that is not before `start`."""
        following = [each.base_offset for each in self.batches]
        at = following.index(batch.base_offset) + 1
        end = following[at] if at < len(following) else self.next_offset
        return start < end

    def _keep(self, batch: Batch, size: int, count: int) -> None:
        self.batches.append(batch)
        self.next_offset = batch.base_offset + count
        self.size += size

    def _load(self) -> None:
        for segment in self.files.segments():
            self.segment, self._segment_bytes = segment.start, segment.size
            for record in split_records(b"".join(segment.records)):
                self._load_record(record)

    def _load_record(self, record: bytes) -> None:
        head = records.read_head(record)
        try:
            frames = records.read_frames(record)
        except Unsound:
            frames = ()
        batch = Batch(*head[:4], frames)
        sums = [records.frame_checksum(frame.data) for frame in frames]
        if sums != [frame.checksum for frame in frames] or records.make_head(batch) != head:
            self.damaged.add(head.base_offset)
        self._keep(batch, len(record), head.messages)


def split_records(log: bytes) -> Iterator[bytes]:
    """Yield the records of a log; an incomplete one at the end is left out."""
    at = 0
    while len(log) - at >= records.HEADER_SIZE:
        length = records.read_head(log[at:]).length
        if not records.HEADER_SIZE <= length <= len(log) - at:
            return
        yield log[at : at + length]
        at += length


def count_messages(batches: Sequence[Batch]) -> int:
    """Return the number of messages in some batches."""
    return sum(len(batch.frames) for batch in batches)
