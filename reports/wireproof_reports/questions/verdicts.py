"""Classes of verdicts, and other expressions that several questions share."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.rows import CONFORMING, TESTED
from wireproof_reports.pipeline.tables import Tables

FAILING = ("fail", "known")
ASSERTED = (*CONFORMING, *FAILING)
"""Verdicts that are a conclusion."""

STANDINGS = {
    "fail": "fails",
    "unstable": "unstable",
    "known": "known",
    "reading": "reading",
    "pass": "conforms",
    "inconclusive": "open",
    "unsupported": "unsupported",
    "error": "error",
}
"""What a clause stands at, by the first of these verdicts that the last run of a case came to."""
SEVERITY = tuple(STANDINGS)
"""Verdicts in the order in which they count where several say something of the same thing."""

TARGET = ("protocol", "vendor", "version")


def conforms() -> Column:
    """Return the condition that a result's case conformed under some reading."""
    return F.col("verdict").isin(*CONFORMING)


def fails() -> Column:
    """Return the condition that a result's case failed, as a known deviation or not."""
    return F.col("verdict").isin(*FAILING)


def is_tested() -> Column:
    """Return the condition that a result says how the target behaves, if only that it varies."""
    return F.col("verdict").isin(*TESTED)


def cases(condition: Column) -> Column:
    """Return a column: the sum of counted results that meet a condition."""
    return F.sum(F.when(condition, F.col("cases")).otherwise(F.lit(0)))


def as_judged(*names: str) -> Column:
    """Return a struct of counted results' columns whose maximum is that of the last run."""
    return F.struct(F.coalesce(F.unix_micros("last"), F.lit(-1)).alias("moment"), *names)


def last_states(tables: Tables) -> DataFrame:
    """Return the state of each case in each version: its verdict in the last run, and when.

    A run that tested the case counts before one that did not, as where versions are compared; of
    runs that began at the same moment the worst counts. A case that was moved to another clause
    counts for the one of that run.
    """
    rank = place(SEVERITY[::-1])
    moment = F.coalesce(F.unix_micros("last"), F.lit(-1))
    state = F.max(
        F.struct(is_tested().alias("tested"), moment.alias("moment"), rank.alias("rank"), "clause")
    )
    states = tables.counts.groupBy(*TARGET, "case").agg(state.alias("state"))
    verdict = F.element_at(F.array(*map(F.lit, SEVERITY[::-1])), F.col("state.rank") + 1)
    moment = F.col("state.moment").alias("moment")
    return states.select(*TARGET, "state.clause", "case", verdict.alias("verdict"), moment)


def standings(tables: Tables) -> DataFrame:
    """Return each clause's standing for each target: the worst last result of its cases.

    ``last`` is the start of the last run that showed it.
    """
    state = F.struct(place(SEVERITY[::-1]).alias("rank"), "moment")
    worst = last_states(tables).groupBy(*TARGET, "clause").agg(F.max(state).alias("worst"))
    words = F.array(*(F.lit(STANDINGS[verdict]) for verdict in SEVERITY[::-1]))
    standing = F.element_at(words, F.col("worst.rank") + 1).alias("standing")
    last = F.when(F.col("worst.moment") != -1, F.timestamp_micros("worst.moment")).alias("last")
    return worst.select(*TARGET, "clause", standing, last)


def place(verdicts: Sequence[str]) -> Column:
    """Return a column: the position of a row's verdict among these."""
    found = F.lit(0)
    for number, verdict in enumerate(verdicts):
        found = F.when(F.col("verdict") == verdict, F.lit(number)).otherwise(found)
    return found


def how_many(condition: Column) -> Column:
    """Return a column: the number of rows that meet a condition."""
    return F.sum(F.when(condition, F.lit(1)).otherwise(F.lit(0)).cast("long"))


def version_order(tables: Tables) -> DataFrame:
    """Return the versions of targets with their sort keys, as a small table for joins."""
    keys = tables.runs.groupBy("version").agg(F.max("version_key").alias("version_key"))
    return F.broadcast(keys)
