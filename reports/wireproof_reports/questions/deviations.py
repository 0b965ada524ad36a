"""Known deviations that expire soon: entries of deviations files with their dates."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CLAUSE,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import TARGET, version_order

SOON_DAYS = 90
FUZZ = "fuzz"
"""What an entry about findings of the fuzzer names in place of a clause."""
KEYS = (*TARGET, "deviation", "clause")


def ask(tables: Tables) -> DataFrame:
    """Return known deviations that have expired or soon expire; of each, its last run counts."""
    columns = [*KEYS, "bundle", "started", "deviation_expires"]
    findings = tables.findings.withColumn("clause", F.lit(FUZZ))
    listed = tables.odd.select(*columns).unionByName(findings.select(*columns))
    by_run = (
        listed.where(F.col("deviation") != "")
        .groupBy(*KEYS, "bundle", "started")
        .agg(F.max("deviation_expires").alias("expires"), F.count(F.lit(1)).alias("cases"))
    )
    last = by_run.groupBy(*KEYS).agg(
        F.max(F.struct("started", "bundle", "expires", "cases")).alias("run")
    )
    expires = F.to_date("run.expires")
    left = F.date_diff(expires, F.lit(tables.today)).cast("long")
    told = last.join(version_order(tables), "version").select(
        *KEYS,
        expires.alias("expires"),
        left.alias("days_left"),
        F.col("run.cases").alias("cases"),
        F.col("run.started").alias("last"),
        F.col("run.bundle").alias("bundle"),
        "version_key",
    )
    return (
        told.where(F.col("days_left") <= SOON_DAYS)
        .orderBy(
            "days_left", "protocol", "vendor", "version_key", "version", "deviation", "clause"
        )
        .select(*(column.name for column in QUESTION.columns))
    )


QUESTION = Question(
    "Deviations about to expire",
    f"Which known deviations expire within {SOON_DAYS} days, or have?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        AnswerColumn("deviation", "text", "case id or prefix that the entry lists"),
        CLAUSE,
        AnswerColumn("expires", "day", "its last day"),
        AnswerColumn("days_left", "integer", "days from today; below 0 it has expired"),
        AnswerColumn("cases", "integer", "results or findings it was about in the last run"),
        AnswerColumn("last", "time", "start of the last run that met it"),
        AnswerColumn("bundle", "text", "SHA-256 of that run's bundle"),
    ),
    ask,
    views=("results", "findings"),
)
