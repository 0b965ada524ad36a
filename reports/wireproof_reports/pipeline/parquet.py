"""The history's tables as Parquet: explicit schemas, and rows of older files completed."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import pyarrow as pa
from pyarrow import parquet

from wireproof_reports.pipeline.rows import Row
from wireproof_spec.history import TABLES, Column, Kind

_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "count": pa.int64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "bytes": pa.binary(),
}
COMPRESSION = "zstd"
ROWS_AT_ONCE = 20_000


class ForeignRows(Exception):
    """A Parquet file whose columns are not those of its table; ``str()`` names them."""


def schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the types of these columns."""
    return pa.schema([pa.field(column.name, _TYPES[column.kind]) for column in columns])


class TableWriter:
    """Writes one Parquet file of a table; the file is synced to disk on close."""

    def __init__(self, path: Path, table: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.rows = 0
        self._schema = schema(TABLES[table])
        self._waiting: list[Row] = []
        self._file: BinaryIO = path.open("wb")
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression=COMPRESSION)

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows; they are buffered and written in larger pieces."""
        self._waiting.extend(rows)
        if len(self._waiting) >= ROWS_AT_ONCE:
            self._flush()

    def copy(self, source: Path) -> None:
        """Append all rows of another file of this table.

        Raises:
            ForeignRows: its columns are not those of this table.
        """
        for rows in read_completed(source, self._schema):
            self._write(rows)

    def close(self) -> int:
        """Finish the file and return its size in bytes."""
        self._flush()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self.path.stat().st_size

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._file.closed:
            self.abandon()

    def abandon(self) -> None:
        """Close the unfinished file, which is to be removed."""
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()
        self._writer.is_open = False  # or it is closed once more when it is collected
        with contextlib.suppress(OSError):
            self._file.close()

    def _flush(self) -> None:
        if self._waiting:
            self._write(pa.Table.from_pylist(self._waiting, self._schema))
            self._waiting = []

    def _write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)
        self.rows += rows.num_rows


def read_completed(path: Path, wanted: pa.Schema) -> Iterator[pa.Table]:
    """Yield a file's rows in pieces; columns that an older file lacks are null.

    Raises:
        ForeignRows: it has a column that is unknown, or of another type.
    """
    with parquet.ParquetFile(path) as file:
        unknown = set(file.schema_arrow.names) - set(wanted.names)
        if unknown:
            raise ForeignRows(f"{path}: column {min(unknown)} is unknown to this version")
        for number in range(file.num_row_groups):
            yield _complete(path, file.read_row_group(number), wanted)


def column(path: Path, name: str) -> list[object]:
    """Return one column of a file."""
    with parquet.ParquetFile(path) as file:
        return file.read([name]).column(name).to_pylist()


def _complete(path: Path, rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    for name in wanted.names:
        if name not in rows.column_names:
            missing = pa.field(name, _type_of(wanted, name))
            rows = rows.append_column(missing, pa.nulls(rows.num_rows, _type_of(wanted, name)))
    try:
        return rows.select(wanted.names).cast(wanted)
    except pa.ArrowInvalid as error:
        raise ForeignRows(f"{path}: {error}") from error


def _type_of(wanted: pa.Schema, name: str) -> pa.DataType:
    return wanted.field(name).type
