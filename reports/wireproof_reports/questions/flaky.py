"""Flaky cases: cases that both conformed and failed in runs of one version, or in one run."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CASE,
    CLAUSE,
    LAST,
    LEVEL,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import (
    TARGET,
    as_judged,
    cases,
    conforms,
    fails,
    is_tested,
    version_order,
)

Z = 1.959963984540054
"""The normal distribution's two-sided 95 %."""


def bounds(hits: Column, trials: Column) -> tuple[Column, Column]:
    """Return the confidence bounds of the rate ``hits`` / ``trials``, at least one trial."""
    share = hits / trials
    middle = share + Z * Z / (2 * trials)
    half = Z * F.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    whole = 1 + Z * Z / trials
    return F.greatest((middle - half) / whole, F.lit(0.0)), F.least(
        (middle + half) / whole, F.lit(1.0)
    )


KEYS = (*TARGET, "case", "case_hash")


def ask(tables: Tables) -> DataFrame:
    """Return the cases that failed in some runs and not in others, with how often."""
    counted = (
        tables.counts.where(is_tested())
        .groupBy(*KEYS)
        .agg(
            F.sum("cases").alias("runs"),
            cases(conforms()).alias("conformed"),
            cases(fails()).alias("failed"),
            F.sum("repeats").alias("repeats"),
            F.sum("unlike").alias("unlike"),
            F.max("last").alias("last"),
            F.max(as_judged("clause", "level")).alias("judged"),
        )
    )
    unstable = F.col("runs") - F.col("conformed") - F.col("failed")
    both = (F.col("conformed") > 0) & (F.col("failed") > 0)
    odd = counted.where(both | (unstable > 0) | (F.col("unlike") > 0))
    bad = F.col("runs") - F.col("conformed")
    low, high = bounds(bad, F.col("runs"))
    told = odd.join(version_order(tables), "version").select(
        *TARGET,
        "case",
        "judged.clause",
        "judged.level",
        "runs",
        "failed",
        unstable.alias("unstable"),
        (bad / F.col("runs")).alias("share"),
        low.alias("low"),
        high.alias("high"),
        "repeats",
        "unlike",
        "last",
        "version_key",
        "case_hash",
    )
    nearness = F.abs(F.col("share") - 0.5)
    return told.orderBy(
        nearness, "protocol", "vendor", "version_key", "version", "case", "case_hash"
    ).select(*(column.name for column in QUESTION.columns))


QUESTION = Question(
    "Flaky cases",
    "Which cases come out now one way, now the other, against the same version?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        CASE,
        CLAUSE,
        LEVEL,
        AnswerColumn("runs", "integer", "runs in which the case was decided"),
        AnswerColumn("failed", "integer", "of these, runs in which it failed"),
        AnswerColumn("unstable", "integer", "of these, runs whose own repeats disagreed"),
        AnswerColumn("share", "number", "runs that did not conform, of all"),
        AnswerColumn("low", "number", "lower bound of the share, Wilson, 95 %"),
        AnswerColumn("high", "number", "upper bound of the share, Wilson, 95 %"),
        AnswerColumn("repeats", "integer", "repeats over all runs"),
        AnswerColumn("unlike", "integer", "repeats that differed from the first of their run"),
        LAST,
    ),
    ask,
)
