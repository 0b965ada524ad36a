"""A history's tables as questions see them: all at the versions of one published state."""

from dataclasses import dataclass
from datetime import date

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.history import Published, read_table
from wireproof_spec.history import TABLES

_TARGET = ("protocol", "vendor", "version")
_CASE = ("case", "case_hash", "clause", "level", "origin")
_TOLD_APART = (*_TARGET, *_CASE, "verdict", "reading")

FEW = 5_000_000
"""Results up to which reading them again for each question takes no longer than keeping counts."""


@dataclass(frozen=True, slots=True)
class Tables:
    """All that questions are asked of; ``today`` is the day for which they are answered.

    ``counts`` are the results counted by target, case, verdict and reading, and ``failing`` those
    that failed or are listed as deviations. Most questions need no more, so of a long history
    both are made by one pass over the results, when first asked for, and kept; they grow with
    what is told apart, not with the runs. Of a short one each result counts for itself.
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
    state: Published,
    *,
    today: date,
    kept: bool | None = None,
) -> Tables:
    """Return the tables of a history that lies in a folder or at a URL that Spark knows.

    Whether counts are kept is decided by how many results there are, unless it is said.
    """
    frames = {name: read_table(spark, history, name, state) for name in TABLES}
    # Rows from before version 3 of the tables have no origin, those of unknown clauses no role.
    frames["results"] = results = frames["results"].fillna("", ["origin", "role"])
    counts, failing = _ones(results), _select_failing(results)
    if state.count("results") > FEW if kept is None else kept:
        counts = _counts(results).persist(StorageLevel.MEMORY_AND_DISK)
        failing = failing.persist(StorageLevel.MEMORY_AND_DISK)
    return Tables(**frames, counts=counts, failing=failing, today=today)


def _ones(results: DataFrame) -> DataFrame:
    """Let every result count for itself."""
    return results.select(
        *_TOLD_APART,
        F.lit(1).cast("long").alias("cases"),
        F.col("runs").alias("repeats"),
        (F.col("runs") - F.col("same")).alias("unlike"),
        F.col("started").alias("last"),
    )


def _counts(results: DataFrame) -> DataFrame:
    """Count results; Spark does so in place, for no column but the keys is a text."""
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
