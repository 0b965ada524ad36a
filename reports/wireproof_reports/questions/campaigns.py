"""Fuzz campaigns: how many cases each version was sent, and how many findings there were."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    LAST,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import TARGET, version_order


def ask(tables: Tables) -> DataFrame:
    """Return, for each version of a target, the totals of its fuzz campaigns and its findings."""
    campaigns = tables.campaigns.groupBy(*TARGET).agg(
        F.count(F.lit(1)).alias("campaigns"),
        F.sum("executed").alias("executed"),
        F.sum("duration_ms").alias("duration_ms"),
        F.max("started").alias("last"),
    )
    findings = tables.findings.groupBy(*TARGET).agg(
        F.size(F.collect_set("finding")).alias("findings")
    )
    rate = F.when(
        F.col("duration_ms") > 0,
        F.col("executed").cast("double") * 1000 / F.col("duration_ms"),
    )
    told = (
        campaigns.join(findings, list(TARGET), "left")
        .join(version_order(tables), "version")
        .withColumn("findings", F.coalesce("findings", F.lit(0)))
        .withColumn("cases_per_s", rate)
    )
    ordered = told.orderBy("protocol", "vendor", "version_key", "version")
    return ordered.select(*(column.name for column in QUESTION.columns))


QUESTION = Question(
    "Campaigns",
    "How much has each version been fuzzed?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        AnswerColumn("campaigns", "integer", "campaigns"),
        AnswerColumn("executed", "integer", "cases sent"),
        AnswerColumn("duration_ms", "integer", "how long, in ms"),
        AnswerColumn("cases_per_s", "number", "cases a second"),
        AnswerColumn("findings", "integer", "different findings"),
        LAST,
    ),
    ask,
    views=("campaigns",),
)
