"""A history's tables in Spark: only files that the manifest names, with explicit types."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from wireproof_reports.pipeline.manifest import NAME, Manifest, parse_manifest, read_manifest
from wireproof_spec.history import PARTITIONS, TABLES, Column, Kind

_TYPES: dict[Kind, T.DataType] = {
    "text": T.StringType(),
    "texts": T.ArrayType(T.StringType()),
    "count": T.LongType(),
    "flag": T.BooleanType(),
    "time": T.TimestampType(),
    "bytes": T.BinaryType(),
}

_TARGET = ("protocol", "vendor", "version")
_CASE = ("case", "case_hash", "clause", "level", "origin")
_TOLD_APART = (*_TARGET, *_CASE, "verdict", "reading")

FEW = 5_000_000
"""Results up to which reading them again for each question takes no longer than keeping counts."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The input of all questions; ``today`` is the date for which they are answered.

    ``counts`` has the results counted by target, case, verdict and reading; ``failing`` has those
    that failed or are listed as deviations. Most questions need no more. For a long history, both
    are computed in one pass when first used, and cached; their size depends on the distinct keys
    and not on the number of runs. For a short history, each result counts for itself.
    """

    results: DataFrame
    counts: DataFrame
    failing: DataFrame
    runs: DataFrame
    grammar: DataFrame
    findings: DataFrame
    campaigns: DataFrame
    quarantine: DataFrame
    today: date


def open_tables(
    spark: SparkSession,
    history: str,
    manifest: Manifest,
    *,
    today: date,
    kept: bool | None = None,
) -> Tables:
    """Open the tables of a history in a folder, or at a URL that Spark can read.

    ``kept`` says whether counts are cached; by default that depends on the number of results.
    """
    frames = {name: _table(spark, history, manifest, name) for name in TABLES}
    # Rows from before version 3 of the tables have no origin.
    frames["results"] = results = frames["results"].fillna("", ["origin"])
    counts, failing = _ones(results), _select_failing(results)
    if manifest.count("results") > FEW if kept is None else kept:
        counts = _counts(results).persist(StorageLevel.MEMORY_AND_DISK)
        failing = failing.persist(StorageLevel.MEMORY_AND_DISK)
    return Tables(**frames, counts=counts, failing=failing, today=today)


def manifest_of(spark: SparkSession, history: str) -> Manifest:
    """Read a history's manifest, through Spark if the history is a URL.

    Raises:
        HistoryFault: there is none, it is damaged, or a newer version wrote it.
    """
    if not is_url(history):
        return read_manifest(Path(history))
    row = spark.read.text(f"{history.rstrip('/')}/{NAME}", wholetext=True).first()
    return parse_manifest(history, str(row[0] if row else "").encode())


def is_url(history: str) -> bool:
    """Return True if a history is given as a URL, such as ``s3a://bucket/history``."""
    return "://" in history


def spark_schema(columns: Iterable[Column]) -> T.StructType:
    """Return the types of these columns and of the partition folders."""
    protocol, day = PARTITIONS
    fields = [T.StructField(column.name, _TYPES[column.kind]) for column in columns]
    partition = [T.StructField(protocol, T.StringType()), T.StructField(day, T.DateType())]
    return T.StructType([*fields, *partition])


def _ones(results: DataFrame) -> DataFrame:
    """Return results in the form of counts, each counting once."""
    return results.select(
        *_TOLD_APART,
        F.lit(1).cast("long").alias("cases"),
        F.col("runs").alias("repeats"),
        (F.col("runs") - F.col("same")).alias("unlike"),
        F.col("started").alias("last"),
    )


def _counts(results: DataFrame) -> DataFrame:
    """Count results; only keys are text columns, so Spark can aggregate in place."""
    return results.groupBy(*_TOLD_APART).agg(
        F.count(F.lit(1)).alias("cases"),
        F.sum("runs").alias("repeats"),
        F.sum(F.col("runs") - F.col("same")).alias("unlike"),
        F.max("started").alias("last"),
    )


def _select_failing(results: DataFrame) -> DataFrame:
    told = ("bundle", "started", "protocol", "vendor", "version", "case", "clause", "verdict")
    more = ("cause_field", "cause_value", "deviation", "deviation_expires")
    failed = F.col("verdict").isin("fail", "known") | (F.col("deviation") != "")
    return results.where(failed).select(*told, *more)


def _table(spark: SparkSession, history: str, manifest: Manifest, name: str) -> DataFrame:
    root = history.rstrip("/") if is_url(history) else Path(history).resolve().as_uri()
    schema = spark_schema(TABLES[name])
    places = [f"{root}/{part.place}" for part in manifest.of(name)]
    if not places:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("basePath", f"{root}/{name}")
    return reader.parquet(*places)
