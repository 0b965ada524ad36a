"""Clause coverage of all runs: which clauses were asserted, only touched, or never run."""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault, law_of
from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import CLAUSE, LEVEL, PROTOCOL, AnswerColumn, Question
from wireproof_reports.questions.verdicts import ASSERTED, as_judged, cases, how_many

_LAW = "protocol string, clause string, law_level string"


def ask(tables: Tables) -> DataFrame:
    """Return how many vendors and cases asserted each clause of the catalogue."""
    asserted = F.col("verdict").isin(*ASSERTED)
    by_vendor = tables.counts.groupBy("protocol", "clause", "vendor").agg(
        cases(asserted).alias("asserted"),
        cases(~asserted).alias("touched"),
        F.max(as_judged("level")).alias("judged"),
    )
    met = by_vendor.groupBy("protocol", "clause").agg(
        F.max("judged")["level"].alias("level"),
        how_many(F.col("asserted") > 0).alias("vendors"),
        F.sum("asserted").alias("asserted"),
        F.sum("touched").alias("touched"),
    )
    law = tables.results.sparkSession.createDataFrame(list(_law(tables)), _LAW)
    all_clauses = met.join(law, ["protocol", "clause"], "full").select(
        "protocol",
        "clause",
        F.coalesce("level", "law_level").alias("level"),
        *(F.coalesce(name, F.lit(0)).alias(name) for name in ("vendors", "asserted", "touched")),
    )
    standing = (
        F.when(F.col("asserted") > 0, F.lit("asserted"))
        .when(F.col("touched") > 0, F.lit("touched"))
        .otherwise(F.lit("never met"))
    )
    return all_clauses.withColumn("standing", standing).orderBy("protocol", "clause")


def _law(tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Return the clauses of all protocols in the history."""
    for row in tables.runs.select("protocol").distinct().collect():
        protocol = str(row[0])
        try:
            catalogue = law_of("the history", protocol)
        except BundleFault:
            continue
        for clause in catalogue.clauses():
            yield protocol, clause.id, clause.level


QUESTION = Question(
    "Clause coverage",
    "Which clauses has the fleet asserted, and which has nobody?",
    (
        PROTOCOL,
        CLAUSE,
        LEVEL,
        AnswerColumn("vendors", "integer", "vendors against whom it was asserted"),
        AnswerColumn("asserted", "integer", "results that came to a conclusion"),
        AnswerColumn("touched", "integer", "results without a conclusion, unstable ones too"),
        AnswerColumn("standing", "text", "asserted, touched or never met"),
    ),
    ask,
    views=("results", "runs"),
)
