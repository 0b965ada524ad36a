"""Durations: p50, p95 and p99 by vendor, version and interface, and how they change.

Each duration is rounded down to one of 160 steps per decade. Percentiles then need only counts,
which are the same on any number of machines, and are less than 2.5 % below the exact values.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import DECADES, Tables
from wireproof_reports.questions.question import PROTOCOL, VENDOR, VERSION, AnswerColumn, Question
from wireproof_reports.questions.verdicts import TARGET, version_order

PERCENTILES = {"p50_us": 50, "p95_us": 95, "p99_us": 99}
KEYS = (*TARGET, "interface")


def ask(tables: Tables) -> DataFrame:
    """Count durations in steps, and read the percentiles off the counts."""
    counted = tables.steps.groupBy(*KEYS, "step").agg(F.sum("cases").alias("cases"))
    growing, whole = Window.partitionBy(*KEYS).orderBy("step"), Window.partitionBy(*KEYS)
    ranked = counted.select(
        *KEYS,
        "step",
        "cases",
        F.sum("cases").over(growing).alias("up_to"),
        F.sum("cases").over(whole).alias("all"),
    )
    # By digit first: a version's steps are hundreds, and too many to hand over one by one.
    digits = ranked.groupBy(*KEYS, _take_first_digit(F.col("step")).alias("leading")).agg(
        F.sum("cases").alias("cases"),
        *(_percentile(percent).alias(name) for name, percent in PERCENTILES.items()),
    )
    told = digits.groupBy(*KEYS).agg(
        F.sum("cases").alias("all"),
        *(F.min(name).alias(name) for name in PERCENTILES),
        F.collect_list(F.struct("leading", "cases")).alias("histogram"),
    )
    return _with_drift(told.join(version_order(tables), "version"))


def _take_first_digit(step: Column) -> Column:
    """Round down to the first digit."""
    width = F.lit(1)
    for decade in range(DECADES + 2, 0, -1):
        width = F.when(step < 10 ** (decade + 1), F.lit(10**decade)).otherwise(width)
    width = F.when(step < 10, F.lit(1)).otherwise(width)
    return step - step % width


def _percentile(percent: int) -> Column:
    """Return the smallest step that reaches `percent` of all durations (nearest rank)."""
    enough = F.col("up_to") * 100 >= F.col("all") * percent
    return F.min(F.when(enough, F.col("step")))


def _with_drift(told: DataFrame) -> DataFrame:
    consecutive = Window.partitionBy("protocol", "vendor", "interface").orderBy(
        "version_key", "version"
    )
    before = F.lag("p50_us").over(consecutive)
    drift = F.when(before > 0, F.col("p50_us") / before)
    ordered = told.withColumn("drift", drift).orderBy(
        "protocol", "vendor", "interface", "version_key", "version"
    )
    return ordered.withColumnRenamed("all", "cases").select(
        *(column.name for column in QUESTION.columns)
    )


QUESTION = Question(
    "Durations",
    "How long do cases take against each version, and does that drift?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        AnswerColumn("interface", "text", "first two words of the case ids"),
        AnswerColumn("cases", "integer", "results"),
        *(
            AnswerColumn(name, "integer", f"{name[:3]} in µs, rounded down by less than 2.5 %")
            for name in PERCENTILES
        ),
        AnswerColumn("drift", "number", "p50 divided by that of the version before"),
        AnswerColumn("histogram", "counts", "cases by the leading digit of their duration in µs"),
    ),
    ask,
)
