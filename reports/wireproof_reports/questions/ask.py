"""Answers the user's own question: SQL over tables at the versions of one state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.history import Published, read_table
from wireproof_reports.pipeline.session import run_sql
from wireproof_spec.history import TABLES


@dataclass(frozen=True, slots=True)
class Found:
    """The first rows of a SQL statement's result; ``is_cut`` if there are more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    is_cut: bool


def name_tables(spark: SparkSession, history: str, state: Published) -> None:
    """Make the tables of a published state available to SQL, as views of the session."""
    for table in TABLES:
        read_table(spark, history, table, state).createOrReplaceTempView(table)


class NotAQuestion(Exception):
    """Raised for SQL that would change something; ``str()`` is a sentence for the user."""


_READS = ("describe", "desc ", "show", "explain")


def ask_sql(spark: SparkSession, sql: str, most: int) -> Found:
    """Return at most `most` rows of the result of a SQL statement that changes nothing.

    Raises:
        NotAQuestion: the statement is no query, and nothing that describes tables.
    """
    statement = sql.strip().rstrip(";")
    if not statement.lower().startswith(_READS):
        _refuse_command(spark, statement)
    answer = run_sql(spark, statement)
    rows = answer.limit(most + 1).collect()
    shown = [[_plain(value) for value in cast(Sequence[object], row)] for row in rows[:most]]
    return Found(answer.columns, shown, len(rows) > most)


def _refuse_command(spark: SparkSession, statement: str) -> None:
    """Raise an error if a statement is a command: only queries may stand in brackets."""
    try:
        run_sql(spark, f"EXPLAIN SELECT * FROM (\n{statement}\n)")
    except ParseException as error:
        run_sql(spark, f"EXPLAIN {statement}")  # is it SQL at all? If not, this says where
        raise NotAQuestion(
            "--sql takes queries only (SELECT, WITH, VALUES, DESCRIBE, SHOW, EXPLAIN); "
            "this statement is a command"
        ) from error


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
