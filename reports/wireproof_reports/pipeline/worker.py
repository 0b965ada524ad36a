"""What Spark's workers do with bundles: hash them, read them, hand their rows over.

All are functions for ``mapInArrow``. Rows leave a worker packed: many rows of one table as one
compressed value. So Spark keeps, sorts and sends few large values instead of many small ones, and
makes rows of them only where a table is written.
"""

import gc
import hashlib
import io
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

import pyarrow as pa

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.columns import arrow_schema, record_batch
from wireproof_reports.pipeline.incoming import IncomingBundle, TargetNaming, glance_at, read_in
from wireproof_spec.history import TABLES
from wireproof_spec.record_file import UNREADABLE, unpack, why_unreadable

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]

GLANCES = pa.schema(
    [
        ("path", pa.string()),
        ("bundle", pa.string()),
        ("protocol", pa.string()),
        ("day", pa.date32()),
        ("bytes", pa.int64()),
        ("fault", pa.string()),
    ]
)
GLANCES_DDL = "path string, bundle string, protocol string, day date, bytes long, fault string"
PACKED = pa.schema(
    [("of", pa.string()), ("rows", pa.int64()), ("packed", pa.binary()), ("fault", pa.string())]
)
PACKED_DDL = "of string, rows long, packed binary, fault string"
FAULTY = "faulty"
"""In the column ``of``: no table, but a bundle that was refused, by its path."""
BUNDLE = "bundle"
"""In the column ``of``: no table, but a bundle that was read, by its hash."""

UNFIT = (OverflowError, pa.ArrowInvalid)
"""What is raised for values that the columns cannot hold, such as counts that add up to 2^63."""
ROWS_AT_ONCE = 10_000
_PIECE = 1 << 20
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4")


def glance(batches: Batches) -> Batches:
    """Yield a row for each bundle file: its hash, protocol and day, or why it is refused."""
    for path, size, opened in _files(batches):
        seen: dict[str, object] = {"path": path, "bytes": size}
        try:
            with opened() as file:
                told = glance_at(path, unpack(file))
            seen |= {"bundle": told.sha256, "protocol": told.protocol, "day": told.day}
        except (BundleFault, *UNREADABLE) as error:
            seen |= {"bundle": _raw_hash(opened), "fault": _reason(path, error)}
        yield pa.RecordBatch.from_pylist([seen], GLANCES)


def make_reader(naming: TargetNaming, expected: Mapping[str, str]) -> Work:
    """Return the function by which workers read bundles; ``expected`` maps path to hash."""

    def read(batches: Batches) -> Batches:
        packing = Packing()
        for path, _, opened in _files(batches):
            if path not in expected:
                continue
            try:
                with opened() as file, _no_collection():
                    incoming = read_in(path, unpack(file), naming)
                if incoming.glance.sha256 != expected[path]:
                    raise BundleFault(f"{path} was changed while it was read")
                yield from packing.add(incoming)
            except (BundleFault, *UNREADABLE, *UNFIT) as error:
                yield _line(FAULTY, 0, path.encode(), _reason(path, error))
        yield from packing.rest()

    return read


def make_unpacker(table: str) -> Work:
    """Return the function by which workers unpack the packed rows of a table."""
    schema = arrow_schema(table)

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column("packed"):
                with pa.ipc.open_stream(packed.as_buffer()) as stream:
                    for rows in stream:
                        yield rows.cast(schema)

    return unpack


@dataclass(slots=True)
class Packing:
    """Collects the rows of bundles by table, and packs them as bytes when there are enough."""

    waiting: dict[str, list[pa.RecordBatch]] = field(
        default_factory=lambda: {table: [] for table in TABLES}
    )

    def add(self, incoming: IncomingBundle) -> Batches:
        """Add a bundle's rows; yield the packs that are full."""
        protocol, day = incoming.glance.protocol, incoming.glance.day
        batches = {  # all of them first: of a bundle that is refused no row may be added
            table: record_batch(table, rows, incoming.shared, protocol, day)
            for table, rows in incoming.rows.items()
            if rows
        }
        for table, batch in batches.items():
            yield from self.add_rows(table, batch)
        yield _line(BUNDLE, 1, incoming.glance.sha256.encode())

    def add_rows(self, table: str, rows: pa.RecordBatch) -> Batches:
        """Add rows of one table; yield a pack if it is full."""
        waiting = self.waiting[table]
        waiting.append(rows)
        if sum(batch.num_rows for batch in waiting) >= ROWS_AT_ONCE:
            yield from self._pack(table)

    def rest(self) -> Batches:
        """Yield packs with the remaining rows."""
        for table in TABLES:
            yield from self._pack(table)

    def _pack(self, table: str) -> Batches:
        waiting, self.waiting[table] = self.waiting[table], []
        if waiting:
            whole = pa.Table.from_batches(waiting).combine_chunks()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, whole.schema, options=_WRITING) as writer:
                writer.write_table(whole)
            yield _line(table, whole.num_rows, sink.getvalue().to_pybytes())


def refused_row(path: str, bundle: str, reason: str) -> dict[str, object]:
    """Return the row of the table quarantine for a refused bundle."""
    file = path.rpartition("/")[2]
    return {"bundle": bundle, "file": file, "line": 0, "reason": reason}


def _line(of: str, rows: int, packed: bytes, fault: str = "") -> pa.RecordBatch:
    arrays = [pa.array([of]), pa.array([rows], pa.int64()), pa.array([packed], pa.binary())]
    return pa.RecordBatch.from_arrays([*arrays, pa.array([fault])], schema=PACKED)


def _files(batches: Batches) -> Iterator[tuple[str, int, Callable[[], BinaryIO]]]:
    """Return each file's path and size, and how to open it.

    A path of this machine, or one that all workers see, is opened here; of an object store the
    content comes with the row, for only Spark's file systems know how to read it.
    """
    for batch in batches:
        has_content = "content" in batch.schema.names
        for number in range(batch.num_rows):
            path = str(batch.column("path")[number].as_py())
            size = int(str(batch.column("length")[number].as_py()))
            if has_content:
                content = batch.column("content")[number].as_buffer()
                yield path, size, partial(io.BytesIO, content)
            else:
                yield path, size, partial(_open, path)


def _open(path: str) -> BinaryIO:
    return open(path, "rb")  # whoever asked for it closes it


@contextmanager
def _no_collection() -> Generator[None]:
    """Turn off Python's search for reference cycles, which took a tenth of the time.

    The records of a bundle have none.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _raw_hash(opened: Callable[[], BinaryIO]) -> str:
    """Return the SHA-256 of the unchanged bytes; empty if the file cannot be read."""
    try:
        with opened() as file:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
            return digest.hexdigest()
    except OSError:
        return ""


def _reason(path: str, error: BaseException) -> str:
    if isinstance(error, BundleFault):
        return str(error)
    return f"cannot read {path}: {why_unreadable(error)}"
