"""Counts clauses by role (the part of the target they concern) and by origin."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    LEVEL,
    ORIGIN,
    PROTOCOL,
    ROLE,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import (
    TARGET,
    as_judged,
    how_many,
    standings,
    version_order,
)

KEYS = (*TARGET, "role", "origin", "level")


def ask(tables: Tables) -> DataFrame:
    """Return how many clauses of each role, origin and level conform or fail."""
    of_clause = tables.counts.groupBy(*TARGET, "clause").agg(
        F.max(as_judged("role", "origin", "level")).alias("judged")
    )
    standing = of_clause.select(*TARGET, "clause", "judged.*").join(
        standings(tables), [*TARGET, "clause"]
    )
    conform, fail = (F.col("standing").isin(*words) for words in (_GOOD, _BAD))
    counted = standing.groupBy(*KEYS).agg(
        how_many(conform).alias("conforming"),
        how_many(fail).alias("failing"),
        how_many(~conform & ~fail).alias("open"),
    )
    told = F.when(F.col("target_role") != "", F.col("target_role"))
    judged = tables.runs.groupBy(*TARGET).agg(F.sort_array(F.collect_set(told)).alias("judged_as"))
    joined = counted.join(F.broadcast(judged), [*TARGET]).join(version_order(tables), "version")
    ordered = joined.orderBy(
        "protocol", "vendor", "version_key", "version", "role", "origin", "level"
    )
    return ordered.select(*(column.name for column in QUESTION.columns))


_GOOD, _BAD = ("conforms", "reading"), ("fails", "known")

QUESTION = Question(
    "Roles and origins",
    "How many clauses does each version follow, by part of the target and origin of the clause?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        AnswerColumn(
            "judged_as",
            "texts",
            "broker, client, proxy, adapter, document; empty in rows of older versions",
        ),
        ROLE,
        ORIGIN,
        LEVEL,
        AnswerColumn("conforming", "integer", "clauses that conform, in whatever reading"),
        AnswerColumn("failing", "integer", "clauses that fail, known or not"),
        AnswerColumn("open", "integer", "clauses without a verdict, or unstable"),
    ),
    ask,
)
