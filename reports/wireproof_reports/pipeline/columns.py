"""The types of a history's columns in Arrow and in Spark, and rows as batches of the table."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import types as T

from wireproof_reports.pipeline.rows import Row
from wireproof_spec.history import COLUMNS, KINDS, PARTITIONS, VIEWS, Column, Kind

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

_KIND, _PROTOCOL, _DAY = PARTITIONS
_OF_WORKERS = tuple(column for column in COLUMNS if column.name != BATCH)

ARROW = pa.schema(
    [
        *(pa.field(column.name, _ARROW[column.kind]) for column in _OF_WORKERS),
        pa.field(_KIND, pa.string()),
        pa.field(_PROTOCOL, pa.string()),
        pa.field(_DAY, pa.date32()),
    ]
)
"""The table's columns as Spark's workers fill them: all but the number of the batch."""


def _spark_fields(columns: Iterable[Column]) -> list[T.StructField]:
    return [T.StructField(column.name, _SPARK[column.kind]) for column in columns]


_TARGET_FIELDS = [T.StructField(_PROTOCOL, T.StringType()), T.StructField(_DAY, T.DateType())]
_PARTITION_FIELDS = [T.StructField(_KIND, T.StringType()), *_TARGET_FIELDS]
SPARK = T.StructType([*_spark_fields(_OF_WORKERS), *_PARTITION_FIELDS])
"""The same as `ARROW` in Spark's types."""


def view_schema(view: str) -> T.StructType:
    """Return the Spark types of a view: its columns, and the protocol and day of the partition."""
    return T.StructType([*_spark_fields(VIEWS[view]), *_TARGET_FIELDS])


def record_batch(
    view: str,
    rows: Sequence[Row],
    shared: Mapping[str, object],
    protocol: str | None,
    day: date | None,
) -> pa.RecordBatch:
    """Return rows of one kind and bundle as a batch of the table; all have the ``shared`` values.

    There is at least one row, and all rows have the same names. Values of columns that the view
    does not have are left out.
    """
    common: dict[str, object] = {**shared, _KIND: KINDS[view], _PROTOCOL: protocol, _DAY: day}
    own = dict(zip(rows[0], zip(*map(itemgetter(*rows[0]), rows), strict=True), strict=True))
    names = {*PARTITIONS, *(column.name for column in VIEWS[view])}
    arrays = [
        pa.nulls(len(rows), field.type)
        if field.name not in names
        else pa.repeat(pa.scalar(common[field.name], field.type), len(rows))
        if field.name in common
        else pa.array(own.get(field.name) or [None] * len(rows), field.type)
        for field in ARROW
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)
