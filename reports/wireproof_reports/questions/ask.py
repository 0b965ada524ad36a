"""Answers the user's own question: SQL over tables at the versions of one state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from pyspark.sql import SparkSession

from wireproof_reports.pipeline.session import run_sql
from wireproof_reports.pipeline.table import State, read_table, view_of
from wireproof_reports.questions.guard import check
from wireproof_spec.history import VIEWS


@dataclass(frozen=True, slots=True)
class Found:
    """The first rows of a SQL statement's result; ``is_cut`` if there are more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    is_cut: bool


def name_views(spark: SparkSession, history: str, state: State) -> None:
    """Make the views of a state available to SQL, as temporary views of the session."""
    table = read_table(spark, history, state)
    for view in VIEWS:
        view_of(table, view).createOrReplaceTempView(view)


def ask_sql(spark: SparkSession, sql: str, most: int) -> Found:
    """Return at most `most` rows of the answer to a query over the views.

    Raises:
        NotAllowed: the text is no query, or reads anything but the views.
    """
    statement = sql.strip().rstrip(";")
    check(spark, statement, VIEWS)
    answer = run_sql(spark, statement)
    rows = answer.limit(most + 1).collect()
    shown = [[_plain(value) for value in cast(Sequence[object], row)] for row in rows[:most]]
    return Found(answer.columns, shown, len(rows) > most)


def _plain(value: object) -> object:
    """Return a value for JSON: times in UTC, bytes as hexadecimal digits."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast(Sequence[object], value)]
    return str(value)
