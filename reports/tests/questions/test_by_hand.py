"""What `make bench-aggregate` compares with gives the same answers: SQL for Spark and DuckDB."""

from datetime import date
from pathlib import Path

import pytest
from fleet import Fleet, Shape, fleet, write_fleet
from pyspark.sql import SparkSession
from tool_modules import load_tool

from wireproof_reports.pipeline.table import read_state
from wireproof_reports.pipeline.tables import Tables, open_tables
from wireproof_reports.questions.verdicts import STANDINGS
from wireproof_reports.site.answers import answer

AFTER_ALL = date(2027, 12, 1)
"""A day at which every deviation has expired: by hand, all of them are asked for."""
SHAPE = Shape(
    seed=9, vendors=3, versions=4, cases=40, bundles=40, weights=(40, 9, 9, 6, 6, 3, 3, 1),
    spread_s=400_000,
)  # fmt: skip
tuned = load_tool("tools/bench_aggregate/tuned.py")
duck = load_tool("tools/bench_aggregate/duck.py")
ASKED = [name for name in tuned.QUERIES if name != "coverage_clauses"]
"""By hand there are no clauses that nobody ever met."""

pytestmark = [pytest.mark.process, pytest.mark.spark]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "history"
    drawn = fleet([SHAPE])
    of = {name: [row for row in rows if row["started"]] for name, rows in vars(drawn).items()}
    # By hand only results are asked: the few findings with deviations are left out.
    write_fleet(folder, Fleet(**{**of, "findings": []}))
    return folder


@pytest.fixture(scope="module")
def tables(spark: SparkSession, history: Path) -> Tables:
    tuned.open_views(spark, str(history))
    state = read_state(spark, str(history))
    return open_tables(spark, str(history), state, today=AFTER_ALL)


@pytest.mark.parametrize("name", ASKED)
def test_by_hand_there_are_as_many_rows(
    spark: SparkSession, history: Path, tables: Tables, name: str
) -> None:
    ours = len(answer(name, tables).rows)

    assert 0 < ours == tuned.ask(spark, name)
    if name in duck.QUERIES:
        assert duck.ask(duck.connect(str(history), 2), name) == ours


def test_by_hand_a_version_stands_as_its_last_run_says(
    spark: SparkSession, history: Path, tables: Tables
) -> None:
    names = [column.name for column in answer("matrix", tables).question.columns]
    at = [names.index(name) for name in ("protocol", "vendor", "version", "clause", "standing")]
    ours = {tuple(row[place] for place in at) for row in answer("matrix", tables).rows}
    words = list(STANDINGS.values())[::-1]

    by_hand = spark.sql(tuned.QUERIES["matrix"]).collect()  # pyright: ignore[reportUnknownMemberType]  # args
    by_duck = duck.connect(str(history), 2).execute(duck.QUERIES["matrix"]).fetchall()

    keys = ("protocol", "vendor", "version", "clause")
    assert {(*(row[key] for key in keys), words[row["standing"]]) for row in by_hand} == ours
    assert {(*row[:4], words[row[-2] - 1]) for row in by_duck} == ours
