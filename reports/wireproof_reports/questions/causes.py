"""Root causes by reach: how many vendors violate the same clause in the same way."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CLAUSE,
    FIRST,
    LAST,
    PROTOCOL,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import fails

KEYS = ("protocol", "clause", "cause_field", "cause_value")


def ask(tables: Tables) -> DataFrame:
    """Return the failures grouped by clause, first differing field and class of value."""
    by_run = (
        tables.odd.where(fails())
        .groupBy(*KEYS, "vendor", "version", "bundle")
        .agg(
            F.count(F.lit(1)).alias("cases"),
            F.min("started").alias("first"),
            F.max("started").alias("last"),
        )
    )
    causes = by_run.groupBy(*KEYS).agg(
        F.sort_array(F.collect_set("vendor")).alias("names"),
        F.size(F.collect_set(F.struct("vendor", "version"))).alias("versions"),
        F.count(F.lit(1)).alias("runs"),
        F.sum("cases").alias("cases"),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
    )
    told = causes.select(
        "protocol",
        "clause",
        F.col("cause_field").alias("field"),
        F.col("cause_value").alias("value"),
        F.size("names").alias("vendors"),
        "versions",
        "runs",
        "cases",
        "first",
        "last",
        "names",
    )
    reach = [F.desc(name) for name in ("vendors", "versions", "runs", "cases")]
    return told.orderBy(*reach, "protocol", "clause", "field", "value")


QUESTION = Question(
    "Root causes",
    "Which causes of failure reach furthest?",
    (
        PROTOCOL,
        CLAUSE,
        AnswerColumn("field", "text", "first differing field"),
        AnswerColumn("value", "text", "what was observed, or its kind"),
        AnswerColumn("vendors", "integer", "vendors that have it"),
        AnswerColumn("versions", "integer", "versions that have it"),
        AnswerColumn("runs", "integer", "runs that showed it"),
        AnswerColumn("cases", "integer", "failing results"),
        FIRST,
        LAST,
        AnswerColumn("names", "texts", "the vendors"),
    ),
    ask,
)
