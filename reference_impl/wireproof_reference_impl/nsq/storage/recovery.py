"""Recovers a queue from the files it left.

The record files decide; the metadata beside them only saves reading them. A file whose stored end
fits its size is finished. Any other file is read through, the last one only from the stored end of
the queue on. An incomplete record at its end is dropped.
"""

import os
from collections.abc import Iterator
from os.path import basename
from typing import BinaryIO

from msgspec import Struct, field

from wireproof_reference_impl.nsq.storage.folder import QueueFolder
from wireproof_reference_impl.nsq.storage.queue_position import (
    QueueFault,
    QueuePosition,
    QueueWarning,
)
from wireproof_reference_impl.nsq.storage.records import LENGTH_SIZE, measure_record
from wireproof_spec.wire_error import WireError


class Recovered(Struct):
    """What recovery found in a queue's files: the ends of finished files, and the queue's end."""

    start: QueuePosition
    end: QueuePosition
    finished: list[QueuePosition] = field(default_factory=list[QueuePosition])
    warnings: list[QueueWarning] = field(default_factory=list[QueueWarning])

    def finish(self, end: QueuePosition) -> None:
        """Note that a file is finished and ends here; the queue continues in the next one."""
        self.finished.append(end)
        self.end = end.next_file()


def recover(folder: QueueFolder) -> Recovered:
    """Recover a queue from the files of its folder; cut off an incomplete record at the end.

    Raises:
        QueueFault: a file before the last one is missing or damaged.
    """
    start = folder.read_start() or QueuePosition()
    recovered = Recovered(start, end=start)
    numbers = [number for number in folder.data_numbers() if number >= start.file_number]
    _refuse_gaps(folder, numbers, start)
    for number in numbers:
        end = _noted_end(folder, recovered.end)
        if end is not None:
            recovered.finish(end)
        elif number < numbers[-1]:
            recovered.finish(_read_finished(folder, recovered))
        else:
            recovered.end = _read_last(folder, recovered)
    _compare_with_writer_meta(folder, recovered)
    return recovered


def record_sizes(file: BinaryIO, size: int) -> Iterator[int]:
    """Yield the sizes of the records in the next ``size`` bytes of a file.

    Raises:
        WireError: no complete record follows; the offset counts from the first byte read.
    """
    at = 0
    while at < size:
        head = file.read(LENGTH_SIZE)
        taken = measure_record(head, size - at, at)
        yield taken
        at += taken
        file.seek(taken - LENGTH_SIZE, 1)


def _refuse_gaps(folder: QueueFolder, numbers: list[int], start: QueuePosition) -> None:
    for due, found in enumerate(numbers, start.file_number):
        if found != due:
            names = [basename(folder.data_path(number)) for number in (due, found)]
            raise QueueFault(f"{folder.directory}: {names[0]} is missing before {names[1]}")


def _noted_end(folder: QueueFolder, begin: QueuePosition) -> QueuePosition | None:
    """Return the stored end of a finished file; None if it does not fit the file."""
    size = folder.data_size(begin.file_number)
    meta = folder.read_offset_meta(begin.file_number)
    end_offset = begin.file_start + size
    if meta is None or (meta.start, meta.end) != (begin.file_start, end_offset):
        return None
    return QueuePosition(meta.messages, begin.file_number, size, end_offset)


def _read_finished(folder: QueueFolder, recovered: Recovered) -> QueuePosition:
    path = folder.data_path(recovered.end.file_number)
    end, fault = _read_through(folder, recovered.end)
    if fault is not None:
        raise QueueFault(f"{path}: {_sentence(fault)}, and later files follow it")
    text = "its noted end did not fit; noted again"
    recovered.warnings.append(QueueWarning(basename(path), text))
    folder.write_offset_meta(end)
    return end


def _read_last(folder: QueueFolder, recovered: Recovered) -> QueuePosition:
    begin = recovered.end
    noted = folder.read_writer_meta()
    if noted is not None and _fits(noted, begin, folder.data_size(begin.file_number)):
        begin = noted
    end, fault = _read_through(folder, begin)
    if fault is not None:
        path = folder.data_path(end.file_number)
        dropped = folder.data_size(end.file_number) - end.file_position
        os.truncate(path, end.file_position)
        text = f"{_sentence(fault)}; the last {dropped} bytes are dropped"
        recovered.warnings.append(QueueWarning(basename(path), text))
    return end


def _fits(noted: QueuePosition, begin: QueuePosition, size: int) -> bool:
    same_file = (noted.file_number, noted.file_start) == (begin.file_number, begin.file_start)
    return same_file and begin.file_position <= noted.file_position <= size


def _read_through(
    folder: QueueFolder, begin: QueuePosition
) -> tuple[QueuePosition, WireError | None]:
    """Return the end of a file's complete records, and the error of what follows them."""
    end = begin
    left = folder.data_size(begin.file_number) - begin.file_position
    with open(folder.data_path(begin.file_number), "rb") as file:
        file.seek(begin.file_position)
        try:
            for taken in record_sizes(file, left):
                end = end.after(taken)
        except WireError as error:
            return end, error.at(begin.file_position)
    return end, None


def _sentence(fault: WireError) -> str:
    place = f"{fault.field} at byte {fault.offset}"
    return f"{place}: expected {fault.expected}, found {fault.found}"


def _compare_with_writer_meta(folder: QueueFolder, recovered: Recovered) -> None:
    noted = folder.read_writer_meta()
    if noted is not None and noted.offset > recovered.end.offset:
        text = f"the queue was noted to end at {noted.offset}, its records end before"
        name = basename(folder.data_path(recovered.end.file_number))
        recovered.warnings.append(QueueWarning(name, text))
