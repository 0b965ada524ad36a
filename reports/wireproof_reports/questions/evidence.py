"""Examples of deviations: one for each cell of the matrix of versions and clauses."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CASE,
    CLAUSE,
    PROTOCOL,
    VENDOR,
    VERSION,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import TARGET, last_states, place, version_order

KEYS = (*TARGET, "clause")
NOT_PASSING = ("fail", "unstable", "known", "inconclusive", "unsupported", "error")
"""Verdicts of which there is an example; of a cell's last results the first of these is shown."""

MOST_CHARACTERS = 200
MOST_OUTCOMES = 12
"""Shown of a text, and of an accept set; what is left out is said by ``…``."""

_TEXTS = ("observation", "reason", "difference_field", "difference_expected", "difference_found")
_COUNTS = ("same", "runs")


def ask(tables: Tables) -> DataFrame:
    """Return, for each target and clause, the worst result among its cases' last ones."""
    moment = F.coalesce(F.unix_micros("started"), F.lit(-1))
    odd = last_states(tables).where(F.col("verdict").isin(*NOT_PASSING))
    rows = tables.odd.where(F.col("verdict").isin(*NOT_PASSING)).withColumn("moment", moment)
    last = rows.join(odd, [*KEYS, "case", "verdict", "moment"], "left_semi")
    seen = last.withColumn("rank", place(NOT_PASSING[::-1]))
    told = F.struct(
        "rank", "started", "bundle", "case", "verdict", "accepted", *_TEXTS, *_COUNTS, "again"
    )
    worst = seen.groupBy(*KEYS).agg(F.max(told).alias("worst"))
    files = tables.runs.select(F.col("bundle").alias("of"), _public("path"), "target_role")
    of_run = F.col("worst.bundle") == F.col("of")
    joined = worst.join(version_order(tables), "version").join(files, of_run, "left")
    return joined.orderBy("protocol", "vendor", "version_key", "version", "clause").select(
        *KEYS,
        "worst.verdict",
        "worst.case",
        _some(F.col("worst.accepted")).alias("accepted"),
        *(_cut(F.col(f"worst.{name}")).alias(name) for name in _TEXTS),
        *(F.col(f"worst.{name}") for name in _COUNTS),
        F.col("worst.started").alias("last"),
        F.col("worst.bundle").alias("bundle"),
        *(F.coalesce(name, F.lit("")).alias(name) for name in ("path", "target_role")),
        F.coalesce("worst.again", F.lit("")).alias("again"),
    )


def _public(path: str) -> Column:
    """Return an address as it is, and of a path only the name: a site may be sent to others."""
    is_address = F.col(path).rlike("^(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")
    name = F.substring_index(path, "/", -1)
    return F.when(is_address, F.col(path)).otherwise(name).alias(path)


def _cut(text: Column) -> Column:
    short = F.concat(F.substring(text, 1, MOST_CHARACTERS), F.lit("…"))
    return F.when(F.length(text) > MOST_CHARACTERS, short).otherwise(text)


def _some(outcomes: Column) -> Column:
    """Return the first outcomes of an accept set, each shortened."""
    first = F.transform(F.slice(outcomes, 1, MOST_OUTCOMES), _cut)
    rest = F.when(F.size(outcomes) > MOST_OUTCOMES, F.array(F.lit("…"))).otherwise(F.array())
    return F.concat(first, rest)


QUESTION = Question(
    "Evidence",
    "What was seen where a clause was not met, and what would have been accepted?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        CLAUSE,
        AnswerColumn("verdict", "text", "the worst verdict but for those that conform"),
        CASE,
        AnswerColumn("accepted", "texts", "what would have conformed"),
        AnswerColumn("observation", "text", "what was observed"),
        AnswerColumn("reason", "text", "why the verdict is what it is"),
        AnswerColumn("difference_field", "text", "field in which the exchange differed"),
        AnswerColumn("difference_expected", "text", "what that field should have held"),
        AnswerColumn("difference_found", "text", "what it held"),
        AnswerColumn("same", "integer", "repetitions that came out the same"),
        AnswerColumn("runs", "integer", "repetitions"),
        AnswerColumn("last", "time", "start of the last run that showed it"),
        AnswerColumn("bundle", "text", "SHA-256 of the bundle with its exchange"),
        AnswerColumn("path", "text", "name of that bundle's file, or its address in a store"),
        AnswerColumn(
            "target_role",
            "text",
            "broker, client, proxy, adapter or document; empty in rows of older versions",
        ),
        AnswerColumn(
            "again",
            "text",
            "command that shows the case again: replay, run, hazardous (run --hazardous), client "
            "or judge; empty in rows of older versions",
        ),
    ),
    ask,
)
