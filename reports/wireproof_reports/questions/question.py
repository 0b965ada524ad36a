"""What a question is: its title, the columns of its answer, and how Spark is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from wireproof_reports.pipeline.tables import Tables

Kind = Literal["text", "integer", "number", "boolean", "day", "time", "texts", "counts"]


@dataclass(frozen=True, slots=True)
class Answered:
    """One column of an answer; ``words`` say what it tells, with its unit."""

    name: str
    kind: Kind
    words: str


@dataclass(frozen=True, slots=True)
class Question:
    """``ask`` returns the answer in the order to be shown, its columns named as here."""

    title: str
    asks: str
    columns: tuple[Answered, ...]
    ask: Callable[[Tables], DataFrame]


PROTOCOL = Answered("protocol", "text", "protocol")
VENDOR = Answered("vendor", "text", "who made the target")
VERSION = Answered("version", "text", "version of the target")
CASE = Answered("case", "text", "case id")
CLAUSE = Answered("clause", "text", "clause id")
LEVEL = Answered("level", "text", "must, should, may or observed")
ORIGIN = Answered("origin", "text", "text, base, premise, inference or deployed; empty if untold")
FIRST = Answered("first", "time", "start of the first run that showed it")
LAST = Answered("last", "time", "start of the last run that showed it")
