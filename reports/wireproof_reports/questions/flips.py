"""Flips: how often the outcome of a case changed between consecutive runs of a version.

Only cases that both conformed and failed can have flips. They are found first, by counting, and
only their rows are sorted by time.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CASE,
    LAST,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import (
    TARGET,
    cases,
    conforms,
    how_many,
    is_tested,
    version_order,
)

KEYS = (*TARGET, "case", "case_hash")


def ask(tables: Tables) -> DataFrame:
    """Count changes of the outcome in order of time."""
    rows = tables.results.where(is_tested()).withColumn("good", conforms())
    in_time = Window.partitionBy(*KEYS).orderBy("started", "bundle")
    before = F.lag("good").over(in_time)
    mixed = rows.join(_select_mixed(tables), [*KEYS], "left_semi")
    flips = mixed.select(*KEYS, "started", (F.col("good") != before).alias("flipped"))
    counted = flips.groupBy(*KEYS).agg(
        F.count(F.lit(1)).alias("runs"),
        how_many(F.col("flipped")).alias("flips"),
        F.max(F.when(F.col("flipped"), F.col("started"))).alias("last"),
    )
    joined = counted.join(version_order(tables), "version")
    return joined.orderBy(
        F.desc("flips"), "protocol", "vendor", "version_key", "version", "case", "case_hash"
    ).select(*(column.name for column in QUESTION.columns))


def _select_mixed(tables: Tables) -> DataFrame:
    """Return the cases that both conformed and failed."""
    counted = (
        tables.counts.where(is_tested())
        .groupBy(*KEYS)
        .agg(cases(conforms()).alias("good"), cases(~conforms()).alias("bad"))
    )
    return counted.where((F.col("good") > 0) & (F.col("bad") > 0)).select(*KEYS)


QUESTION = Question(
    "Flips over time",
    "How often did a case's outcome change from one run to the next of the same version?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        CASE,
        AnswerColumn("runs", "integer", "runs in which the case came to something"),
        AnswerColumn("flips", "integer", "changes between conforming and not"),
        LAST,
    ),
    ask,
)
