"""What aggregates keep: answers are those of a full recomputation, whatever was kept."""

import dataclasses
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from fleet import Fleet, Shape, fleet, write_fleet
from pyspark.sql import SparkSession
from quick_spark import quick_session

from wireproof_reports.pipeline import partials
from wireproof_reports.pipeline.history import read_published, read_published_as_of
from wireproof_reports.pipeline.partials import Part, chain
from wireproof_reports.pipeline.tables import KEPT, open_tables
from wireproof_reports.questions.answers import QUESTIONS, answer

TODAY = date(2026, 7, 1)
SHAPE = Shape(
    seed=5,
    vendors=3,
    versions=3,
    cases=20,
    bundles=12,
    weights=(60, 9, 9, 6, 6, 3, 3, 1),
    spread_s=400_000,
)


def part(since: int, upto: int) -> Part:
    return Part(since, upto, f"{since}-{upto}")


@pytest.mark.parametrize(
    ("parts", "upto", "found"),
    [
        ([], 5, []),
        ([(0, 3), (3, 4)], 5, [(0, 3), (3, 4)]),
        ([(0, 3), (3, 7)], 5, [(0, 3)]),
        ([(0, 1), (0, 4), (1, 2), (4, 5)], 5, [(0, 4), (4, 5)]),
        ([(1, 5)], 5, []),
    ],
)
def test_a_chain_is_without_gaps_and_without_overlaps(
    parts: list[tuple[int, int]], upto: int, found: list[tuple[int, int]]
) -> None:
    assert chain([part(*each) for each in parts], upto) == [part(*each) for each in found]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with quick_session(tmp_path_factory.mktemp("spark") / "spark.log") as started:
        yield started


def halves(whole: Fleet) -> tuple[Fleet, Fleet]:
    """Return the rows of every third bundle apart from those of the others."""
    some = {row["bundle"] for row in whole.runs[::3]}
    names = [each.name for each in dataclasses.fields(Fleet)]
    rows = {name: getattr(whole, name) for name in names}
    return (
        Fleet(**{name: [r for r in of if r["bundle"] not in some] for name, of in rows.items()}),
        Fleet(**{name: [r for r in of if r["bundle"] in some] for name, of in rows.items()}),
    )


def answers(spark: SparkSession, history: Path, as_of: str = "", *, keep: bool) -> str:
    state = (
        read_published_as_of(spark, str(history), as_of)
        if as_of
        else read_published(spark, str(history))
    )
    tables = open_tables(spark, str(history), state, today=TODAY, keep=keep)
    return json.dumps({name: answer(name, tables).rows for name in QUESTIONS}, indent=1)


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_kept_answers_are_those_of_a_full_recomputation(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    first, second = halves(fleet([SHAPE]))
    write_fleet(history, first)
    old = answers(spark, history, keep=False)
    assert answers(spark, history, keep=True) == old
    write_fleet(history, second, batch=2)
    new = answers(spark, history, keep=False)
    assert new != old
    assert answers(spark, history, keep=True) == new
    for each in KEPT:
        found = partials._parts(spark, str(history), f"_partials/{each.name}")  # pyright: ignore
        assert [(one.since, one.upto) for one in chain(found, 2)] == [(0, 1), (1, 2)]
    monkeypatch.setattr(partials, "MOST_IN_CHAIN", 1)
    write_fleet(history, dataclasses.replace(second, results=[], runs=[]), batch=3)
    assert answers(spark, history, keep=True) == answers(spark, history, keep=False)
    assert answers(spark, history, "0", keep=True) == old
