"""Reading a bundle's file, plain or compressed with gzip, within limits that protect the reader.

Somebody else may have made the file. The limits are ours: each is ten times and more what the
largest run of a real broker has needed (9 MB, a line of 324 KB, 420,000 values, 21 MB inflated in
one case), and a file within all of them is read in about a gigabyte of memory.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from wireproof_spec.fuzz_record import FindingRecord, SentRecord
from wireproof_spec.record import BundleRecord, CaseRecord, HeaderRecord, WayRecord
from wireproof_spec.step_record import StepRecord as Step

GZIP_MAGIC = b"\x1f\x8b"
MIB = 1 << 20
LONGEST_LINE = 32 * MIB
MOST_BYTES = 256 * MIB
MOST_LINES = 50_000
MOST_VALUES = 5_000_000
"""JSON values of a bundle. A value of two bytes takes a hundred in memory, so bytes alone do not
bound it. The limits of bytes must be larger: they are checked where this one could be exceeded."""
MOST_VALUES_IN_LINE = 250_000
MOST_INFLATED = 512 * MIB
"""Bytes of all deflated steps of a bundle together."""


class BundleTooLarge(Exception):
    """Raised for a bundle that exceeds a limit; ``str()`` says which, without the file's name."""


UNREADABLE = (OSError, EOFError, zlib.error, BundleTooLarge)
"""What opening or reading raises when the file cannot be read or its compression is damaged."""

DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a line raises when it is no record."""


def open_bundle(path: Path) -> BinaryIO:
    """Open a bundle for reading its lines; the first bytes show whether it is compressed."""
    file = path.open("rb")
    try:
        return unpack(file)
    except BaseException:
        file.close()
        raise


def unpack(file: BinaryIO) -> BinaryIO:
    """Return a bundle file for reading its lines; decompress if its first bytes are those of gzip.

    Closing what is returned closes the file.
    """
    is_compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    file.seek(0)
    if not is_compressed:
        return file
    inflating = gzip.GzipFile(fileobj=file, mode="rb")
    # Closed with it, as gzip closes files that it opens itself.
    inflating.myfileobj = file  # type: ignore[assignment]  # it closes it, and does nothing else
    return cast(BinaryIO, inflating)


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of an open bundle, one at a time.

    Raises:
        BundleTooLarge: a line, or all lines so far, are beyond a limit.
    """
    size = values = number = 0
    uncounted: list[bytes] = []
    while line := file.readline(LONGEST_LINE + 1):
        number, size = number + 1, size + len(line)
        # A line has at most one value more than it has bytes. To count the values of every line
        # took a tenth of an ingest.
        if len(line) + 1 > MOST_VALUES_IN_LINE:
            _hold(f"line {number} has", len(line), LONGEST_LINE, "bytes")
            _hold(f"line {number} has", count_values(line), MOST_VALUES_IN_LINE, "values")
        uncounted.append(line)
        if size + number > MOST_VALUES:
            values += sum(map(count_values, uncounted))
            uncounted.clear()
            _hold("it holds", size, MOST_BYTES, "bytes, uncompressed")
            _hold("it holds", values, MOST_VALUES, "values")
        if number > MOST_LINES:
            _hold("it holds", number, MOST_LINES, "lines")
        yield line


def read_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the rest of an open bundle in large pieces.

    Raises:
        BundleTooLarge: all pieces so far are beyond the limit of bytes.
    """
    size = 0
    while piece := file.read(MIB):
        size += len(piece)
        _hold("it holds", size, MOST_BYTES, "bytes, uncompressed")
        yield piece


def count_values(line: bytes) -> int:
    """Return an upper bound of the JSON values in a line: JSON's signs within texts count, too."""
    return 1 + len(line) - len(line.translate(None, b",[{"))  # half the time of three counts


def count_inflated(record: BundleRecord) -> int:
    """Return the number of bytes that the deflated steps of a record claim to hold."""
    return sum([step.length for step in _steps(record) if step.deflate])


def refuse_inflated(inflated: int) -> None:
    """Check the total size of a bundle's compressed steps after decompression, in bytes.

    Raises:
        BundleTooLarge: the size is over the limit.
    """
    _hold("its deflated steps hold", inflated, MOST_INFLATED, "bytes")


def why_unreadable(error: BaseException) -> str:
    """Return in a few words why a bundle could not be read, from the error that was raised."""
    if isinstance(error, IsADirectoryError):
        inside = sorted(Path(str(error.filename)).glob("*.jsonl*"))
        return f"it is a folder; expected a bundle{f', such as {inside[-1]}' if inside else ''}"
    return getattr(error, "strerror", None) or str(error)


def why_damaged(error: BaseException) -> str:
    """Return in a few words why a line of a bundle is no record, from the error raised."""
    return "its JSON is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _hold(what: str, found: int, most: int, unit: str) -> None:
    if found > most:
        raise BundleTooLarge(f"{what} more than {most:,} {unit}; expected the bundle of one run")


def _steps(record: BundleRecord) -> Sequence[Step | SentRecord]:
    if isinstance(record, CaseRecord):
        return record.transcript.steps
    if isinstance(record, WayRecord):
        return record.result.transcript.steps
    if isinstance(record, HeaderRecord):
        transcripts = [claim.transcript for claim in record.claims.values()]
        transcripts += [bound.transcript for bound in record.readings.values()]
        return [step for transcript in transcripts for step in transcript.steps]
    if isinstance(record, FindingRecord):
        sent = (step for case in record.cases for step in case.sent)
        return [*record.transcript.steps, *sent]
    return []
