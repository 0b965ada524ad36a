"""Grammar coverage of all runs: which fields were sent, and with how many values."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from wireproof_reports.pipeline.tables import Tables
from wireproof_reports.questions.question import PROTOCOL, AnswerColumn, Question

KEYS = ("protocol", "frame", "field", "way")


def ask(tables: Tables) -> DataFrame:
    """Return how often all bundles together sent each field of each frame."""
    fields = tables.grammar.groupBy(*KEYS).agg(
        F.sum("sent").alias("sent"),
        F.max("values").alias("values"),
        F.count(F.lit(1)).alias("runs"),
        F.size(F.collect_set("vendor")).alias("vendors"),
    )
    return fields.orderBy(*KEYS)


QUESTION = Question(
    "Grammar coverage",
    "Which fields of which frames were sent, whole, cut and wrong on purpose?",
    (
        PROTOCOL,
        AnswerColumn("frame", "text", "command or request"),
        AnswerColumn("field", "text", "field as the published text names it"),
        AnswerColumn("way", "text", "whole, cut, or wrong on purpose"),
        AnswerColumn("sent", "integer", "how often it was sent"),
        AnswerColumn("values", "integer", "different values in the run that had most"),
        AnswerColumn("runs", "integer", "runs that sent it"),
        AnswerColumn("vendors", "integer", "vendors that were sent it"),
    ),
    ask,
    views=("grammar",),
)
