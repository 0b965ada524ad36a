"""Levels reached over time: by vendor, version, clause group and day."""

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import PROTOCOL, VENDOR, VERSION, AnswerColumn, Question
from wireproof_reports.questions.verdicts import ASSERTED, TARGET, cases, conforms, version_order
from wireproof_spec.clauses.catalogue import LEVELS
from wireproof_spec.clauses.origin import BINDING

KEYS = (*TARGET, "day", "group")
PARTS = (*LEVELS, *(f"must_{origin}" for origin in BINDING))
NOT_JUDGED, NONE = "not judged", "none"


def ask(tables: Tables) -> DataFrame:
    """Return conforming and asserted cases of each day and level, and the musts by origin."""
    days = tables.days.groupBy(*KEYS).agg(*_counts())
    joined = days.join(_not_judged(tables), _same_keys(days), "left").join(
        version_order(tables), "version"
    )
    judged = F.col("unjudged").isNull()
    return joined.orderBy("protocol", "vendor", "version_key", "version", "day", "group").select(
        *KEYS,
        *(f"{part}_{name}" for part in PARTS for name in ("conforming", "asserted")),
        judged.alias("judged"),
        F.when(judged, _find_reached()).otherwise(F.lit(NOT_JUDGED)).alias("reached"),
    )


def _counts() -> Iterator[Column]:
    asserted = F.col("verdict").isin(*ASSERTED)
    for part, is_of_it in zip(PARTS, _parts(), strict=True):
        for name, condition in (("conforming", conforms()), ("asserted", asserted)):
            yield cases(condition & is_of_it).alias(f"{part}_{name}")


def _parts() -> Iterator[Column]:
    """Return the conditions of all parts: each level, and the musts of each origin."""
    yield from (F.col("level") == level for level in LEVELS)
    yield from ((F.col("level") == "must") & (F.col("origin") == name) for name in BINDING)


def _not_judged(tables: Tables) -> DataFrame:
    """Return the groups that a run of the day did not judge, with renamed columns for a join."""
    rows = tables.runs.select(*TARGET, "day", F.explode("not_judged").alias("group")).distinct()
    renamed = rows.select(*(F.col(name).alias(f"{name}_") for name in KEYS))
    return F.broadcast(renamed.withColumn("unjudged", F.lit(True)))


def _same_keys(days: DataFrame) -> Column:
    """Compare keys; two unknown days count as equal."""
    same = F.lit(True)
    for name in KEYS:
        same = same & days[name].eqNullSafe(F.col(f"{name}_"))
    return same


def _find_reached() -> Column:
    """Return the last level up to which all asserted cases conform."""
    reached, holds = F.lit(NONE), F.lit(True)
    for level in LEVELS:
        conforming, asserted = F.col(f"{level}_conforming"), F.col(f"{level}_asserted")
        holds = holds & (conforming == asserted)
        reached = F.when(holds & (asserted > 0), F.lit(level)).otherwise(reached)
    return reached


QUESTION = Question(
    "Levels over time",
    "Which level did each clause group reach, version by version and day by day?",
    (
        PROTOCOL,
        VENDOR,
        VERSION,
        AnswerColumn("day", "day", "day on which the runs began"),
        AnswerColumn("group", "text", "clause group"),
        *(
            AnswerColumn(f"{part}_{name}", "integer", f"{part.replace('_', ' ')} cases {words}")
            for part in PARTS
            for name, words in (("conforming", "that conform"), ("asserted", "asserted"))
        ),
        AnswerColumn("judged", "boolean", "whether every run of the day judged the group"),
        AnswerColumn("reached", "text", "highest level up to which all cases conform"),
    ),
    ask,
)
