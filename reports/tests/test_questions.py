"""Spark's answers are those of plain loops, on invented fleets; one session for all."""

import json
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from fleet import FLEETS, MOST_ROWS, Fleet, Shape, fleet, write_history
from hypothesis import HealthCheck, given, settings
from oracle import ORACLES, plain
from pyspark.sql import SparkSession

from wireproof_reports.history.manifest import read_manifest
from wireproof_reports.questions.answers import QUESTIONS, answer
from wireproof_reports.questions.session import session
from wireproof_reports.questions.tables import open_tables

TODAY = date(2026, 7, 1)
EXAMPLES = int(os.environ.get("WIREPROOF_FLEETS", "2"))
LARGE = Shape(
    seed=7,
    vendors=5,
    versions=6,
    cases=100,
    bundles=100,
    weights=(60, 9, 6, 3, 6, 3, 1, 1),
    spread_s=400_000,
)

pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    small = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    with session("local[2]", log, settings=small) as started:
        yield started


def hold(spark: SparkSession, folder: Path, rows: Fleet) -> dict[str, int]:
    """Ask all questions, compare every answer, order included, and count its rows."""
    write_history(folder, rows)
    tables = open_tables(spark, str(folder), read_manifest(folder), today=TODAY)
    counts: dict[str, int] = {}
    for name in QUESTIONS:
        told = [list(row) for row in json.loads(json.dumps(answer(name, tables).rows))]
        wanted = json.loads(json.dumps(list(plain(ORACLES[name](rows, TODAY)))))
        assert sorted(map(str, told)) == sorted(map(str, wanted)), name
        assert told == wanted, name
        counts[name] = len(told)
    return counts


def test_every_question_has_an_oracle() -> None:
    assert set(ORACLES) == set(QUESTIONS)


def test_answers_hold_on_ten_thousand_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = fleet([LARGE])

    counts = hold(spark, tmp_path / "history", rows)

    assert 8_000 < len(rows.results) <= MOST_ROWS
    assert min(counts.values()) > 5, counts


@pytest.mark.spark
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(shapes=FLEETS)
def test_answers_hold_on_drawn_fleets(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, shapes: list[Shape]
) -> None:
    hold(spark, tmp_path_factory.mktemp("fleet") / "history", fleet(shapes))
