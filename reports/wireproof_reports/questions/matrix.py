"""Verdicts by vendor, version and clause, with the reading that was followed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CLAUSE,
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
    cases,
    standings,
    version_order,
)
from wireproof_spec.record import VERDICTS

KEYS = (*TARGET, "clause")


def ask(tables: Tables) -> DataFrame:
    """Return each clause's verdicts and standing by vendor and version."""
    # Texts cannot be collected in place: there should be few rows left when they are.
    counted = tables.counts.groupBy(*KEYS, "level", "origin", "role", "verdict", "reading").agg(
        F.sum("cases").alias("cases"), F.max("last").alias("last")
    )
    clauses = counted.groupBy(*KEYS).agg(
        F.max(as_judged("level", "origin", "role")).alias("judged"),
        *(cases(F.col("verdict") == verdict).alias(verdict) for verdict in VERDICTS),
        F.sort_array(F.collect_set(F.when(F.col("reading") != "", F.col("reading")))).alias(
            "readings"
        ),
    )
    joined = clauses.join(standings(tables), [*KEYS]).join(version_order(tables), "version")
    return joined.orderBy("protocol", "vendor", "version_key", "version", "clause").select(
        *KEYS,
        "judged.level",
        "judged.origin",
        "judged.role",
        *VERDICTS,
        "readings",
        "standing",
        "last",
    )


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
        ROLE,
        *(
            AnswerColumn(verdict, "integer", f"results with verdict {verdict}")
            for verdict in VERDICTS
        ),
        AnswerColumn("readings", "texts", "registered readings followed, as decision=reading"),
        AnswerColumn(
            "standing",
            "text",
            "what each case came to in the last run that tested it, or, where none did, in its "
            "last run; the worst counts",
        ),
        AnswerColumn("last", "time", "start of the last run that showed the standing"),
    ),
    ask,
)
