"""A history's tables as questions read them: all at the versions of one published state."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.history import Published, read_table
from wireproof_reports.pipeline.partials import Partial, read_kept
from wireproof_reports.pipeline.steps import round_down
from wireproof_spec.history import TABLES

_TARGET = ("protocol", "vendor", "version")
_CASE = ("case", "case_hash", "clause", "level", "origin", "role")
_TOLD_APART = (*_TARGET, *_CASE, "verdict", "reading")
_OF_DAY = (*_TARGET, "day", "group", "level", "origin", "verdict")
_OF_STEP = (*_TARGET, "interface", "step")

FEW = 5_000_000
"""Results up to which reading them again for each question takes no longer than keeping counts."""

CONFORMING = ("pass", "reading")


@dataclass(frozen=True, slots=True)
class Tables:
    """The input of all questions; ``today`` is the date for which they are answered.

    ``counts`` are the results counted by target, case, verdict and reading, ``days`` those by
    target, day, group and verdict, ``steps`` those by target, interface and duration; ``odd`` are
    those that do not conform or are listed as deviations, as they are. Most questions need no
    more, so of a long history these are kept (see `partials`); they grow with what is told
    apart, not with the runs. Of a short one each result counts for itself.
    """

    results: DataFrame
    counts: DataFrame
    days: DataFrame
    steps: DataFrame
    odd: DataFrame
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
    keep: bool | None = None,
) -> Tables:
    """Open the tables of a history in a folder, or at a URL that Spark can read.

    ``kept`` says whether counts are cached; by default that depends on the number of results.
    """
    frames = {name: read_table(spark, history, name, state) for name in TABLES}
    # Rows from before version 3 of the tables have no origin, those of unknown clauses no role.
    frames["results"] = results = frames["results"].fillna("", ["origin", "role"])
    if state.count("results") > FEW if keep is None else keep:
        told = {p.name: _keep(spark, history, p, results, state) for p in KEPT}
    else:
        told = {p.name: p.count(results) for p in KEPT} | {"counts": _ones(results)}
    return Tables(**frames, **told, today=today)


def _keep(
    spark: SparkSession, history: str, partial: Partial, results: DataFrame, state: Published
) -> DataFrame:
    """Return the kept counts of the results; if none can be kept, counts for this session."""
    found = read_kept(spark, history, partial, results, state.note.batch)
    if found is None:
        return partial.count(results).persist(StorageLevel.MEMORY_AND_DISK)
    return found


def _ones(results: DataFrame) -> DataFrame:
    """Return results in the form of counts, where each counts as one."""
    return results.select(
        *_TOLD_APART,
        F.lit(1).cast("long").alias("cases"),
        F.col("runs").alias("repeats"),
        (F.col("runs") - F.col("same")).alias("unlike"),
        F.col("started").alias("last"),
    )


def _count(results: DataFrame) -> DataFrame:
    return _add_up(_ones(results))


def _add_up(counts: DataFrame) -> DataFrame:
    """Add counts up; Spark does so in place, for no column but the keys is a text."""
    sums = [F.sum(name).alias(name) for name in ("cases", "repeats", "unlike")]
    return counts.groupBy(*_TOLD_APART).agg(*sums, F.max("last").alias("last"))


def _count_days(results: DataFrame) -> DataFrame:
    return results.groupBy(*_OF_DAY).agg(F.count(F.lit(1)).alias("cases"))


def _count_steps(results: DataFrame) -> DataFrame:
    stepped = results.withColumn("step", round_down(F.col("duration_us")))
    return stepped.groupBy(*_OF_STEP).agg(F.count(F.lit(1)).alias("cases"))


def _add_up_by(*keys: str) -> Callable[[DataFrame], DataFrame]:
    return lambda counts: counts.groupBy(*keys).agg(F.sum("cases").alias("cases"))


_ODD = (
    *_TARGET,
    *("bundle", "started", "case", "clause", "verdict", "cause_field", "cause_value"),
    *("deviation", "deviation_expires", "accepted", "observation", "reason"),
    *("difference_field", "difference_expected", "difference_found", "same", "runs"),
)


def _select_odd(results: DataFrame) -> DataFrame:
    is_odd = ~F.col("verdict").isin(*CONFORMING) | (F.col("deviation") != "")
    return results.where(is_odd).select(*_ODD)


KEPT = (
    Partial("counts", _count, _add_up),
    Partial("days", _count_days, _add_up_by(*_OF_DAY)),
    Partial("steps", _count_steps, _add_up_by(*_OF_STEP)),
    Partial("odd", _select_odd, lambda rows: rows),
)
