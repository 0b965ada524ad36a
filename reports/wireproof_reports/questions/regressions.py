"""Regressions and fixes between consecutive versions of a vendor.

The state of a case in a version is that of the last run that tested it; of runs that began at the
same time, the worst. Time and verdict are packed into one integer, so that the maximum is the last
state.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from wireproof_reports.pipeline.rows import TESTED
from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import (
    CASE,
    CLAUSE,
    LEVEL,
    PROTOCOL,
    VENDOR,
    AnswerColumn,
    Question,
)
from wireproof_reports.questions.verdicts import SEVERITY, TARGET, is_tested, version_order

ORDER = tuple(verdict for verdict in SEVERITY[::-1] if verdict in TESTED)
"""Verdicts from good to bad; their places are the lowest bits of a packed state."""
BITS = 8

_CASE = ("protocol", "vendor", "case")
_STATE = ("packed", "case_hash", "clause", "level")


def ask(tables: Tables) -> DataFrame:
    """Return the cases whose last verdict differs from that in the vendor's version before."""
    states = _states(tables)
    consecutive = Window.partitionBy(*_CASE).orderBy("version_key", "version")
    pairs = states.select(
        "*",
        F.lag("version").over(consecutive).alias("before"),
        F.lag("state").over(consecutive).alias("earlier"),
    ).where(F.col("before").isNotNull())
    was, now = _verdict("earlier"), _verdict("state")
    told = pairs.select(
        *_CASE,
        "before",
        F.col("version").alias("after"),
        F.col("state.clause").alias("clause"),
        F.col("state.level").alias("level"),
        _kind(was, now).alias("kind"),
        was.alias("was"),
        now.alias("now"),
        "version_key",
    ).where(F.col("kind") != "")
    return told.orderBy("protocol", "vendor", "version_key", "after", "kind", "case").select(
        *(column.name for column in QUESTION.columns)
    )


def _states(tables: Tables) -> DataFrame:
    """Return the last state of every case in every version."""
    place = F.lit(0)
    for number, verdict in enumerate(ORDER):
        place = F.when(F.col("verdict") == verdict, F.lit(number)).otherwise(place)
    moment = F.coalesce(F.unix_micros("last"), F.lit(0))
    rows = tables.counts.where(is_tested())
    packed = rows.groupBy(*TARGET, "case", "case_hash", "clause", "level").agg(
        F.max(moment * BITS + place).alias("packed")
    )
    last = packed.groupBy(*TARGET, "case").agg(F.max(F.struct(*_STATE)).alias("state"))
    return last.join(version_order(tables), "version")


def _verdict(state: str) -> Column:
    place = F.pmod(F.col(f"{state}.packed"), F.lit(BITS))  # a run may have begun before 1970
    return F.element_at(F.array(*(F.lit(verdict) for verdict in ORDER)), (place + 1).cast("int"))


def _kind(was: Column, now: Column) -> Column:
    conformed, conforms = was.isin("pass", "reading"), now.isin("pass", "reading")
    failed, fails = was.isin("fail", "known"), now.isin("fail", "known")
    same = F.col("earlier.case_hash") == F.col("state.case_hash")
    return (
        F.when(~same, F.lit("changed"))
        .when(conformed & fails, F.lit("regressed"))
        .when(failed & conforms, F.lit("fixed"))
        .when((was != "unstable") & (now == "unstable"), F.lit("unstable"))
        .when((was == "unstable") & (now != "unstable"), F.lit("settled"))
        .otherwise(F.lit(""))
    )


QUESTION = Question(
    "Regressions and fixes",
    "What became worse, and what better, from one version of a vendor to the next?",
    (
        PROTOCOL,
        VENDOR,
        AnswerColumn("before", "text", "the version before in which the case was decided"),
        AnswerColumn("after", "text", "the version after it"),
        CASE,
        CLAUSE,
        LEVEL,
        AnswerColumn(
            "kind",
            "text",
            "regressed, fixed, unstable (repeats now disagree), settled (they no longer do), or "
            "changed (the case itself, so nothing is said)",
        ),
        AnswerColumn("was", "text", "verdict of the last run that tested the version before"),
        AnswerColumn("now", "text", "verdict of the last run that tested the version after"),
    ),
    ask,
)
