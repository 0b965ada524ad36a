"""Classes of verdicts, and other expressions that several questions share."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables

CONFORMING = ("pass", "reading")
FAILING = ("fail", "known")
UNSTABLE = ("unstable",)
TESTED = (*CONFORMING, *FAILING, *UNSTABLE)
ASSERTED = (*CONFORMING, *FAILING)

TARGET = ("protocol", "vendor", "version")


def conforms() -> Column:
    """Return the condition that the case conformed under some reading."""
    return F.col("verdict").isin(*CONFORMING)


def fails() -> Column:
    """Return the condition that the case failed, known or not."""
    return F.col("verdict").isin(*FAILING)


def is_tested() -> Column:
    """Return the condition that the case has a conclusion; unstable repeats are one."""
    return F.col("verdict").isin(*TESTED)


def cases(condition: Column) -> Column:
    """Return the sum of counted results that meet a condition."""
    return F.sum(F.when(condition, F.col("cases")).otherwise(F.lit(0)))


def how_many(condition: Column) -> Column:
    """Return the number of rows that meet a condition."""
    return F.sum(F.when(condition, F.lit(1)).otherwise(F.lit(0)).cast("long"))


def version_order(tables: Tables) -> DataFrame:
    """Return the versions with their sort keys, as a small table for broadcast joins."""
    keys = tables.runs.groupBy("version").agg(F.max("version_key").alias("version_key"))
    return F.broadcast(keys)
