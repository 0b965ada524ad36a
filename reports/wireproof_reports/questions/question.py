"""A question: its title, the columns of its answer, and the function that asks Spark."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from wireproof_reports.pipeline.tables import Tables

Kind = Literal["text", "integer", "number", "boolean", "day", "time", "texts", "counts"]


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One column of an answer's rows; ``words`` describe its content, with the unit."""

    name: str
    kind: Kind
    words: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a history; ``ask`` returns the rows of the answer in display order.

    ``columns`` describe the columns of these rows. ``views`` are those that it reads: where none
    of them has a row, neither has the answer.
    """

    title: str
    asks: str
    columns: tuple[AnswerColumn, ...]
    ask: Callable[[Tables], DataFrame]
    views: tuple[str, ...] = ("results",)


PROTOCOL = AnswerColumn("protocol", "text", "protocol")
VENDOR = AnswerColumn("vendor", "text", "who made the target")
VERSION = AnswerColumn("version", "text", "version of the target")
CASE = AnswerColumn("case", "text", "case id")
CLAUSE = AnswerColumn("clause", "text", "clause id")
LEVEL = AnswerColumn("level", "text", "must, should, may or observed")
ORIGIN = AnswerColumn(
    "origin", "text", "text, base, premise, inference or deployed; empty if untold"
)
ROLE = AnswerColumn(
    "role", "text", "part of the target: broker, lookup, client, disk, ...; empty if untold"
)
FIRST = AnswerColumn("first", "time", "start of the first run that showed it")
LAST = AnswerColumn("last", "time", "start of the last run that showed it")
