"""Questions of one's own: those of the page are answered, from the state that is asked."""

import re
from datetime import datetime
from pathlib import Path

import pytest
from fleet import Shape, fleet, write_fleet
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.history import read_published, read_published_as_of
from wireproof_reports.questions.ask import Found, ask_sql, name_tables

PAGE = Path(__file__).resolve().parents[3] / "docs" / "questions.md"
SHAPE = Shape(
    seed=12, vendors=3, versions=3, cases=12, bundles=30, weights=(5, 5, 9, 5, 1, 1, 1, 1),
    spread_s=4_000_000,
)  # fmt: skip
FOUND = {1, 2, 4, 5}
"""What every drawn fleet has; others ask for a case by its name, or for the last week."""

pytest_plugins = ("quick_spark",)
pytestmark = [pytest.mark.process, pytest.mark.spark, pytest.mark.timeout(2000)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "history"
    write_fleet(folder, fleet([SHAPE]))
    write_fleet(folder, fleet([SHAPE, SHAPE]), batch=2)
    return folder


def asked(spark: SparkSession, history: Path, sql: str, as_of: str = "") -> Found:
    state = (
        read_published_as_of(spark, str(history), as_of)
        if as_of
        else read_published(spark, str(history))
    )
    name_tables(spark, str(history), state)
    return ask_sql(spark, sql, 1000)


def questions() -> list[str]:
    """Return the SQL of each question of the page."""
    return re.split(r"(?m)^\d+\. .*$", PAGE.read_text())[1:]


def test_each_question_of_the_page_is_answered(spark: SparkSession, history: Path) -> None:
    every = questions()
    assert len(every) == 10
    for number, sql in enumerate(every, start=1):
        found = asked(spark, history, sql)
        assert found.columns
        assert found.rows or number not in FOUND, number


def test_an_older_state_is_asked_by_its_version(spark: SparkSession, history: Path) -> None:
    sql = "select count(*) from runs"

    assert asked(spark, history, sql).rows == [[90]]
    assert asked(spark, history, sql, as_of="0").rows == [[30]]


def test_rows_beyond_the_limit_are_said_to_be_there(spark: SparkSession) -> None:
    found = ask_sql(spark, "select id from range(5) order by id", 3)

    assert (found.rows, found.is_cut) == ([[0], [1], [2]], True)


def test_times_and_bytes_are_texts(spark: SparkSession) -> None:
    found = ask_sql(spark, "select timestamp'2026-11-21 09:00:00', x'00ff', array(1, null)", 1)

    (row,) = found.rows
    assert datetime.fromisoformat(str(row[0])).isoformat() == "2026-11-21T09:00:00+00:00"
    assert row[1:] == ["00ff", [1, None]]
