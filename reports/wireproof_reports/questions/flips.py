"""Flips: how often the outcome of a case changed between consecutive runs of a version.

Only cases that both conformed and failed can have flips. They are found first, by counting, and
only their rows are sorted by time. Where parts of a history are kept, each says how its cases
changed within it; changes between parts are added. A late run may lie between the runs of another
part: the rows of such cases are sorted all together.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import OUTCOMES, Tables
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
    cases,
    conforms,
    how_many,
    is_tested,
    version_order,
)

KEYS = OUTCOMES


def ask(tables: Tables) -> DataFrame:
    """Return how often cases changed their outcome from one run to the next."""
    if tables.flips is None:
        counted = _count_rows(tables.results, _select_mixed(tables))
    else:
        parts = _add_parts(tables.flips)
        late = F.broadcast(parts.where("late").select(*KEYS))
        again = _count_rows(tables.results, late)
        counted = parts.where(~F.col("late")).drop("late").unionByName(again)
    joined = counted.join(version_order(tables), "version")
    return joined.orderBy(
        F.desc("flips"), "protocol", "vendor", "version_key", "version", "case", "case_hash"
    ).select(*(column.name for column in QUESTION.columns))


def _count_rows(results: DataFrame, wanted: DataFrame) -> DataFrame:
    """Count the changes of these cases in all their results."""
    rows = results.where(is_tested()).withColumn("good", conforms())
    in_time = Window.partitionBy(*KEYS).orderBy("started", "bundle")
    before = F.lag("good").over(in_time)
    mixed = rows.join(wanted, [*KEYS], "left_semi")
    flips = mixed.select(*KEYS, "started", (F.col("good") != before).alias("flipped"))
    return flips.groupBy(*KEYS).agg(
        F.count(F.lit(1)).alias("runs"),
        how_many(F.col("flipped")).alias("flips"),
        F.max(F.when(F.col("flipped"), F.col("started"))).alias("last"),
    )


def _add_parts(parts: DataFrame) -> DataFrame:
    """Add up the changes in each part and those between two; ``late`` where parts overlap."""
    both = (F.sum("conformed") > 0) & (F.sum("conformed") < F.sum("cases"))
    mixed = parts.groupBy(*KEYS).agg(both.alias("mixed")).where("mixed").select(*KEYS)
    by_time = Window.partitionBy(*KEYS).orderBy("first", "end")
    followed = parts.join(mixed, [*KEYS], "left_semi").select(
        "*",
        (F.lag("end_good").over(by_time) != F.col("first_good")).alias("flipped"),
        (F.lag("end").over(by_time) >= F.col("first")).alias("overlaps"),
    )
    between = F.max(F.when(F.col("flipped"), F.col("first")))
    return followed.groupBy(*KEYS).agg(
        F.sum("cases").alias("runs"),
        (F.sum("flips") + how_many(F.col("flipped"))).alias("flips"),
        F.timestamp_micros(F.greatest(F.max("last"), between)).alias("last"),
        F.coalesce(F.max("overlaps"), F.lit(False)).alias("late"),
    )


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
        AnswerColumn("runs", "integer", "runs in which the case was decided"),
        AnswerColumn("flips", "integer", "changes between conforming and not"),
        LAST,
    ),
    ask,
)
