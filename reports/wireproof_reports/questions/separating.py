"""Cases that separate vendors best, and cases that never fail.

Separation is the information, in bits, that the outcome of a case gives about the vendor; all
vendors weigh the same. It is the entropy of the mean failure share minus the mean entropy of the
shares.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CASE,
    CLAUSE,
    LEVEL,
    PROTOCOL,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import as_judged, cases, conforms, is_tested

KEYS = ("protocol", "case", "case_hash")


def ask(tables: Tables) -> DataFrame:
    """Return for each case how much its failure shares differ between vendors."""
    by_vendor = (
        tables.counts.where(is_tested())
        .groupBy(*KEYS, "vendor")
        .agg(
            F.sum("cases").alias("tested"),
            cases(~conforms()).alias("failed"),
            F.max(as_judged("clause", "level")).alias("judged"),
        )
    )
    share = F.col("failed") / F.col("tested")
    by_case = by_vendor.groupBy(*KEYS).agg(
        F.count(F.lit(1)).alias("vendors"),
        F.sum("tested").alias("tested"),
        F.sum("failed").alias("failed"),
        F.avg(share).alias("mean"),
        F.avg(_entropy(share)).alias("within"),
        F.max("judged").alias("judged"),
    )
    separation = F.greatest(F.round(_entropy(F.col("mean")) - F.col("within"), 9), F.lit(0.0))
    told = by_case.select(
        "*",
        "judged.clause",
        "judged.level",
        separation.alias("separation"),
        (F.col("failed") == 0).alias("never_fails"),
    )
    return told.orderBy(
        F.desc("separation"), F.desc("failed"), "protocol", "case", "case_hash"
    ).select(*(column.name for column in QUESTION.columns))


def _entropy(share: Column) -> Column:
    """Return the entropy, in bits, of a binary outcome with this share."""
    rest = 1 - share
    bits = -(share * F.log2(share) + rest * F.log2(rest))
    return F.when((share > 0) & (share < 1), bits).otherwise(F.lit(0.0))


QUESTION = Question(
    "Separating cases",
    "Which cases tell vendors apart, and which never fail?",
    (
        PROTOCOL,
        CASE,
        CLAUSE,
        LEVEL,
        AnswerColumn("vendors", "integer", "vendors against whom it was decided"),
        AnswerColumn("tested", "integer", "decided results"),
        AnswerColumn("failed", "integer", "of these, results that did not conform"),
        AnswerColumn("separation", "number", "bits that its outcome tells about the vendor"),
        AnswerColumn("never_fails", "boolean", "whether it conformed every time"),
    ),
    ask,
)
