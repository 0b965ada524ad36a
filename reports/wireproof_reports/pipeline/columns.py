"""The types of the history's columns in Arrow and in Spark, and rows as batches of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import types as T

from wireproof_reports.pipeline.rows import Row
from wireproof_spec.history import PARTITIONS, TABLES, Column, Kind

_ARROW: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "count": pa.int64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "bytes": pa.binary(),
}
_SPARK: dict[Kind, T.DataType] = {
    "text": T.StringType(),
    "texts": T.ArrayType(T.StringType()),
    "count": T.LongType(),
    "flag": T.BooleanType(),
    "time": T.TimestampType(),
    "bytes": T.BinaryType(),
}

BATCH = "batch"
"""The column that is filled when rows are written: only then their batch has its number."""


def worker_columns(table: str) -> tuple[Column, ...]:
    """Return those columns of a history table that Spark's workers fill."""
    return tuple(column for column in TABLES[table] if column.name != BATCH)


def arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of what workers return for a table; partition columns are last."""
    fields = [pa.field(column.name, _ARROW[column.kind]) for column in worker_columns(table)]
    protocol, day = PARTITIONS
    return pa.schema([*fields, pa.field(protocol, pa.string()), pa.field(day, pa.date32())])


def spark_schema(columns: Iterable[Column]) -> T.StructType:
    """Return the Spark types of some columns; the partition columns are last."""
    fields = [T.StructField(column.name, _SPARK[column.kind]) for column in columns]
    protocol, day = PARTITIONS
    partition = [T.StructField(protocol, T.StringType()), T.StructField(day, T.DateType())]
    return T.StructType([*fields, *partition])


def record_batch(
    table: str, rows: Sequence[Row], shared: Mapping[str, object], protocol: str, day: date | None
) -> pa.RecordBatch:
    """Return rows of one bundle as an Arrow batch; all rows have the ``shared`` values.

    There is at least one row, and all rows have the same names.
    """
    schema = arrow_schema(table)
    common: dict[str, object] = {**shared, "protocol": protocol, "day": day}
    values = zip(*map(itemgetter(*rows[0]), rows), strict=True)
    own = dict(zip(rows[0], values, strict=True))
    arrays = [
        pa.repeat(pa.scalar(common[field.name], field.type), len(rows))
        if field.name in common
        else pa.array(own.get(field.name) or [None] * len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
