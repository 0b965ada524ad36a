"""Fuzz findings, each listed once for all campaigns."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import FIRST, LAST, PROTOCOL, AnswerColumn, Question

KEYS = ("protocol", "finding")
_TOLD = ("violated", "words", "state", "frame", "field", "answer", "mutation", "seed", "index")


def ask(tables: Tables) -> DataFrame:
    """Return the fuzz findings grouped by id, described as in their last campaign."""
    folded = tables.findings.groupBy(*KEYS).agg(
        F.max(F.struct("started", "bundle", *_TOLD)).alias("newest"),
        F.sort_array(F.collect_set("vendor")).alias("vendors"),
        F.size(F.collect_set(F.struct("vendor", "version"))).alias("versions"),
        F.size(F.collect_set("bundle")).alias("campaigns"),
        F.sum("seen").alias("seen"),
        F.sum("shown").alias("shown"),
        F.sum("runs").alias("runs"),
        F.min("started").alias("first"),
        F.max("started").alias("last"),
    )
    told = folded.select(
        "*",
        *(F.col(f"newest.{name}").alias(name) for name in _TOLD),
        F.col("newest.bundle").alias("bundle"),
    )
    reach = [F.desc(F.size("vendors")), F.desc("versions"), F.desc("campaigns")]
    ordered = told.orderBy(*reach, "protocol", "finding")
    return ordered.select(*(column.name for column in QUESTION.columns))


QUESTION = Question(
    "Findings",
    "What has the fuzzer found, in whose brokers, over all campaigns?",
    (
        PROTOCOL,
        AnswerColumn(
            "finding", "text", "hash of what was violated, state, frame, field and answer"
        ),
        AnswerColumn("violated", "text", "what was owed and not done"),
        AnswerColumn("words", "text", "the same in words"),
        AnswerColumn("state", "text", "state of the connection"),
        AnswerColumn("frame", "text", "frame that was sent"),
        AnswerColumn("field", "text", "field that was malformed"),
        AnswerColumn("answer", "text", "class of the answer"),
        AnswerColumn("mutation", "text", "how the field was made wrong"),
        AnswerColumn("vendors", "texts", "vendors that have it"),
        AnswerColumn("versions", "integer", "versions that have it"),
        AnswerColumn("campaigns", "integer", "campaigns that found it"),
        AnswerColumn("seen", "integer", "cases that showed it"),
        AnswerColumn("shown", "integer", "repetitions that showed it again"),
        AnswerColumn("runs", "integer", "repetitions tried"),
        FIRST,
        LAST,
        AnswerColumn("seed", "text", "seed of the last campaign that found it"),
        AnswerColumn("index", "text", "index of its first case there"),
        AnswerColumn("bundle", "text", "SHA-256 of that campaign's bundle"),
    ),
    ask,
    views=("findings",),
)
