"""Verdicts by vendor, version and clause, with the reading that was followed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CLAUSE,
    LEVEL,
    ORIGIN,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import TARGET, cases, version_order
from wireproof_spec.record import VERDICTS

KEYS = (*TARGET, "clause")
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
"""What a clause stands at, by the first of these verdicts that any of its cases has."""


def ask(tables: Tables) -> DataFrame:
    """Count verdicts by vendor, version and clause over all runs."""
    # Texts cannot be collected in place: there should be few rows left when they are.
    counted = tables.counts.groupBy(*KEYS, "level", "origin", "verdict", "reading").agg(
        F.sum("cases").alias("cases"), F.max("last").alias("last")
    )
    clauses = counted.groupBy(*KEYS).agg(
        F.min("level").alias("level"),
        F.max("origin").alias("origin"),
        *(cases(F.col("verdict") == verdict).alias(verdict) for verdict in VERDICTS),
        F.sort_array(F.collect_set(F.when(F.col("reading") != "", F.col("reading")))).alias(
            "readings"
        ),
        F.max("last").alias("last"),
    )
    joined = clauses.join(version_order(tables), "version")
    return joined.orderBy("protocol", "vendor", "version_key", "version", "clause").select(
        *KEYS,
        "level",
        "origin",
        *VERDICTS,
        "readings",
        _compute_standing().alias("standing"),
        "last",
    )


def _compute_standing() -> Column:
    standing = F.lit("")
    for verdict, words in reversed(STANDINGS.items()):
        standing = F.when(F.col(verdict) > 0, F.lit(words)).otherwise(standing)
    return standing


QUESTION = Question(
    "Matrix",
    "Which clauses does each version of each vendor's broker follow, and in which reading?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        CLAUSE,
        LEVEL,
        ORIGIN,
        *(
            AnswerColumn(verdict, "integer", f"results with verdict {verdict}")
            for verdict in VERDICTS
        ),
        AnswerColumn("readings", "texts", "registered readings followed, as decision=reading"),
        AnswerColumn("standing", "text", "what all of them come to; the worst counts"),
        AnswerColumn("last", "time", "start of the last run"),
    ),
    ask,
)
