"""What a verdict comes to, and other words that several questions share."""

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
    """Tell whether the case conformed, under whatever reading."""
    return F.col("verdict").isin(*CONFORMING)


def fails() -> Column:
    """Tell whether the case failed, known or not."""
    return F.col("verdict").isin(*FAILING)


def is_tested() -> Column:
    """Tell whether the case came to something; repeats that disagree are something, too."""
    return F.col("verdict").isin(*TESTED)


def cases(condition: Column) -> Column:
    """Add up counted results for which the condition holds."""
    return F.sum(F.when(condition, F.col("cases")).otherwise(F.lit(0)))


def how_many(condition: Column) -> Column:
    """Count the rows for which the condition holds."""
    return F.sum(F.when(condition, F.lit(1)).otherwise(F.lit(0)).cast("long"))


def version_order(tables: Tables) -> DataFrame:
    """Return the versions with the text by which they sort; there are few of them."""
    keys = tables.runs.groupBy("version").agg(F.max("version_key").alias("version_key"))
    return F.broadcast(keys)
