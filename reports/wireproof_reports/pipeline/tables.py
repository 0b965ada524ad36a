"""A history's views as questions read them, all of one state, and the counts that are kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

import msgspec
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from wireproof_reports.pipeline.failure import first_line
from wireproof_reports.pipeline.partials import Partial, read_kept
from wireproof_reports.pipeline.place import PARTIALS
from wireproof_reports.pipeline.rows import CONFORMING, TESTED
from wireproof_reports.pipeline.session import ERRORS
from wireproof_reports.pipeline.table import (
    Extent,
    State,
    empty_view,
    measure,
    path_of,
    read_table,
    view_of,
)
from wireproof_spec.clauses.catalogue import PASSING
from wireproof_spec.history import VIEWS

_TARGET = ("protocol", "vendor", "version")
_CASE = ("case", "case_hash", "clause", "level", "origin", "role")
_TOLD_APART = (*_TARGET, *_CASE, "verdict", "reading")
_OF_DAY = (*_TARGET, "day", "group", "level", "origin", "verdict")
_OF_STEP = (*_TARGET, "interface", "step")

CACHED = 100_000
"""Rows up to which the whole table is read once, and all questions read that copy."""
FEW = 5_000_000
"""Results up to which reading them again for each question takes no longer than keeping counts."""

OUTCOMES = (*_TARGET, "case", "case_hash")
"""What has one outcome in each run."""

DECADES = 12
"""Beyond 10^14 µs, three years, nothing more is rounded."""
WIDTHS = tuple(
    (below * 10**decade, width * 10**decade)
    for decade in range(DECADES)
    for below, width in ((200, 2), (500, 5), (1000, 10))
)
"""Below so many µs, durations are rounded down to multiples of so many; not at all below 100."""

Warn = Callable[[str], None]
"""Told in a sentence what could not be used, and what is done instead."""


def silent(_sentence: str) -> None:
    """Do nothing with a warning."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The views of a history that all questions read; ``today`` is the date of the answers.

    ``rows`` are the numbers of rows by view, so that nothing is asked of a view without any;
    ``cached`` is the frame of all rows where Spark keeps it until it is unpersisted.

    ``counts`` are the results counted by target, case, verdict and reading, ``days`` those by
    target, day, group and verdict, ``steps`` those by target, interface and duration; ``odd`` are
    those that do not conform or are listed as deviations, as they are. ``flips`` say of each part
    that is kept how often a case changed its outcome in it; None where nothing is kept. Most
    questions need no more, so of a long history these are kept (see `partials`); they grow with
    what is told apart, not with the runs. Of a short one each result counts for itself.
    """

    results: DataFrame
    counts: DataFrame
    days: DataFrame
    steps: DataFrame
    odd: DataFrame
    flips: DataFrame | None
    runs: DataFrame
    grammar: DataFrame
    findings: DataFrame
    campaigns: DataFrame
    quarantine: DataFrame
    rows: Mapping[str, int]
    cached: DataFrame | None
    today: date


def open_tables(
    spark: SparkSession,
    history: str,
    state: State,
    *,
    today: date,
    extent: Extent | None = None,
    keep: bool | None = None,
    warn: Warn = silent,
) -> Tables:
    """Open the views of a history in a folder, or at a URL that Spark can read.

    ``extent`` is the state's, if it is known. ``keep`` says whether counts are kept; by default
    that depends on the number of results. ``warn`` is called with a sentence if kept counts cannot
    be used.
    """
    table = read_table(spark, history, state)
    rows = (extent or measure(table)).rows
    cached = None
    if keep is not True and sum(rows.values()) <= CACHED:
        cached = table = table.persist(StorageLevel.MEMORY_AND_DISK)
    frames = {
        view: view_of(table, view) if rows[view] else empty_view(spark, view) for view in VIEWS
    }
    # Rows from before version 3 of the columns have no origin, those of unknown clauses no role.
    frames["results"] = results = frames["results"].fillna("", ["origin", "role"])
    if rows["results"] > FEW if keep is None else keep:
        told = {p.name: _keep(spark, history, p, results, state, warn) for p in (*KEPT, FLIPS)}
        return Tables(**frames, **told, rows=rows, cached=cached, today=today)
    told = {p.name: p.count(results) for p in KEPT} | {"counts": _ones(results)}
    return Tables(**frames, **told, flips=None, rows=rows, cached=cached, today=today)


def _keep(
    spark: SparkSession,
    history: str,
    partial: Partial,
    results: DataFrame,
    state: State,
    warn: Warn,
) -> DataFrame:
    """Return the kept counts of the results; if none can be kept, counts for this session."""
    try:
        return read_kept(spark, history, partial, results, state.note.batch)
    except (*ERRORS, msgspec.DecodeError) as error:
        warn(unusable(history, error, partial.name))
        return partial.count(results).persist(StorageLevel.MEMORY_AND_DISK)


def unusable(history: str, error: Exception, name: str = "") -> str:
    """Return the sentence that warns of kept counts that cannot be read or written."""
    where = path_of(history, f"{PARTIALS}/{name}".rstrip("/"))
    return (
        f"cannot use the counts that earlier aggregates kept in {where} ({first_line(error)}); "
        "they are counted anew for this aggregate alone; "
        "if they are damaged, remove the folder, and the next aggregate keeps new ones"
    )


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


def round_down(duration_us: Column) -> Column:
    """Round durations down to one of 160 steps per factor of ten, so that they can be counted."""
    width = F.lit(1)
    for below, multiple in reversed(WIDTHS):
        width = F.when(duration_us < below, F.lit(multiple)).otherwise(width)
    width = F.when(duration_us < 100, F.lit(1)).otherwise(width)
    return duration_us - duration_us % width


def _count_steps(results: DataFrame) -> DataFrame:
    # A way has the messages of many cases, and no time of its own.
    timed = results.where(~F.col("interface").endswith(PASSING.rstrip("/")))
    stepped = timed.withColumn("step", round_down(F.col("duration_us")))
    return stepped.groupBy(*_OF_STEP).agg(F.count(F.lit(1)).alias("cases"))


def _add_up_by(*keys: str) -> Callable[[DataFrame], DataFrame]:
    return lambda counts: counts.groupBy(*keys).agg(F.sum("cases").alias("cases"))


_ODD = (
    *_TARGET,
    *("bundle", "started", "case", "clause", "verdict", "cause_field", "cause_value"),
    *("deviation", "deviation_expires", "accepted", "observation", "reason"),
    *("difference_field", "difference_expected", "difference_found", "same", "runs", "again"),
)


def _select_odd(results: DataFrame) -> DataFrame:
    is_odd = ~F.col("verdict").isin(*CONFORMING) | (F.col("deviation") != "")
    return results.where(is_odd).select(*_ODD)


def _count_flips(results: DataFrame) -> DataFrame:
    """Count changes of each case's outcome, and say when the first and last one was seen.

    Only rows of cases that came out both ways are sorted. Runs that do not tell when they began
    come first, at -1. Keys apart, no column is a text, so that Spark groups in place.
    """
    moment = F.coalesce(F.unix_micros("started"), F.lit(-1)).alias("moment")
    good = F.col("verdict").isin(*CONFORMING).alias("good")
    tested = results.where(F.col("verdict").isin(*TESTED)).select(
        *OUTCOMES, "bundle", moment, good
    )
    counted = tested.groupBy(*OUTCOMES).agg(
        F.count(F.lit(1)).alias("cases"),
        F.sum(F.col("good").cast("long")).alias("conformed"),
        F.min("moment").alias("first"),
        F.max("moment").alias("end"),
    )
    is_mixed = (F.col("conformed") > 0) & (F.col("conformed") < F.col("cases"))
    mixed = tested.join(counted.where(is_mixed).select(*OUTCOMES), [*OUTCOMES], "left_semi")
    in_time = Window.partitionBy(*OUTCOMES).orderBy("moment", "bundle")
    before, after = F.lag("good").over(in_time), F.lead("good").over(in_time)
    neighbours = mixed.select("*", before.alias("before"), after.alias("after"))
    flipped = F.col("good") != F.col("before")
    changes = neighbours.groupBy(*OUTCOMES).agg(
        F.sum(flipped.cast("long")).alias("flips"),
        F.max(F.when(flipped & (F.col("moment") >= 0), F.col("moment"))).alias("last"),
        F.max(F.when(F.col("before").isNull(), F.col("good"))).alias("first_good"),
        F.max(F.when(F.col("after").isNull(), F.col("good"))).alias("end_good"),
    )
    always = F.col("conformed") > 0
    return counted.join(changes, [*OUTCOMES], "left").select(
        *(*OUTCOMES, "cases", "conformed", "first", "end", "last"),
        F.coalesce("flips", F.lit(0)).alias("flips"),
        F.coalesce("first_good", always).alias("first_good"),
        F.coalesce("end_good", always).alias("end_good"),
    )


FLIPS = Partial("flips", _count_flips, None)
KEPT = (
    Partial("counts", _count, _add_up),
    Partial("days", _count_days, _add_up_by(*_OF_DAY)),
    Partial("steps", _count_steps, _add_up_by(*_OF_STEP)),
    Partial("odd", _select_odd, lambda rows: rows),
)
