"""A history's tables as Spark sees them: only what the manifest names, under explicit types."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from wireproof_reports.history.manifest import NAME, Manifest, parse_manifest, read_manifest
from wireproof_spec.history import PARTITIONS, TABLES, Column, Kind

_TYPES: dict[Kind, T.DataType] = {
    "text": T.StringType(),
    "texts": T.ArrayType(T.StringType()),
    "count": T.LongType(),
    "flag": T.BooleanType(),
    "time": T.TimestampType(),
    "bytes": T.BinaryType(),
}


@dataclass(frozen=True, slots=True)
class Tables:
    """All that questions are asked of; ``today`` is the day for which they are answered."""

    results: DataFrame
    runs: DataFrame
    grammar: DataFrame
    findings: DataFrame
    campaigns: DataFrame
    quarantine: DataFrame
    today: date


def open_tables(spark: SparkSession, history: str, manifest: Manifest, *, today: date) -> Tables:
    """Return the tables of a history that lies in a folder or at a URL that Spark knows."""
    frames = {name: _table(spark, history, manifest, name) for name in TABLES}
    return Tables(**frames, today=today)


def manifest_of(spark: SparkSession, history: str) -> Manifest:
    """Read a history's manifest; through Spark where it is no folder of this machine.

    Raises:
        HistoryFault: there is none, it is damaged, or a newer version wrote it.
    """
    if not is_url(history):
        return read_manifest(Path(history))
    row = spark.read.text(f"{history.rstrip('/')}/{NAME}", wholetext=True).first()
    return parse_manifest(history, str(row[0] if row else "").encode())


def is_url(history: str) -> bool:
    """Tell whether a history is named by a URL, such as ``s3a://bucket/history``."""
    return "://" in history


def spark_schema(columns: Iterable[Column]) -> T.StructType:
    """Return the types of these columns and of the folders that rows lie in."""
    protocol, day = PARTITIONS
    fields = [T.StructField(column.name, _TYPES[column.kind]) for column in columns]
    partition = [T.StructField(protocol, T.StringType()), T.StructField(day, T.DateType())]
    return T.StructType([*fields, *partition])


def _table(spark: SparkSession, history: str, manifest: Manifest, name: str) -> DataFrame:
    root = history.rstrip("/") if is_url(history) else Path(history).resolve().as_uri()
    schema = spark_schema(TABLES[name])
    places = [f"{root}/{part.place}" for part in manifest.of(name)]
    if not places:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("basePath", f"{root}/{name}")
    return reader.parquet(*places)
