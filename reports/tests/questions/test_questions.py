"""Spark's answers are those of plain loops, on invented fleets; one session for all."""

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from unittest.mock import Mock

import bundle_fixture as made
import pyarrow as pa
import pytest
from fleet import FLEETS, MOST_ROWS, Fleet, Shape, fleet, revise, write_fleet
from history_fixture import bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import ORACLES, plain
from pyarrow import parquet
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.rows import TESTED
from wireproof_reports.pipeline.session import in_words
from wireproof_reports.pipeline.table import read_state
from wireproof_reports.pipeline.tables import open_tables
from wireproof_reports.questions.verdicts import ASSERTED
from wireproof_reports.site.answers import QUESTIONS, answer, question, write_answer
from wireproof_spec.history import VIEWS
from wireproof_spec.record import CONCLUSIVE, DifferenceRecord

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

SMALL = dataclasses.replace(LARGE, cases=10, bundles=10)

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def hold(
    spark: SparkSession,
    folder: Path,
    rows: Fleet,
    *,
    kept: bool,
    names: Sequence[str] = QUESTIONS,
) -> dict[str, int]:
    """Ask questions, compare every answer, order included, and count its rows."""
    write_fleet(folder, rows)
    state = read_state(spark, str(folder))
    tables = open_tables(spark, str(folder), state, today=TODAY, keep=kept)
    counts: dict[str, int] = {}
    for name in names:
        told = [list(row) for row in json.loads(json.dumps(answer(name, tables).rows))]
        wanted = json.loads(json.dumps(list(plain(ORACLES[name](rows, TODAY)))))
        assert sorted(map(str, told)) == sorted(map(str, wanted)), name
        assert told == wanted, name
        counts[name] = len(told)
    return counts


def test_unstable_is_tested_but_no_conclusion() -> None:
    """As in the report of one run: to the coverage it decided nothing, to the matrix something."""
    words = {column.name: column.words for column in question("coverage_clauses").columns}

    assert set(ASSERTED) == CONCLUSIVE
    assert set(TESTED) == CONCLUSIVE | {"unstable"}
    assert words["asserted"] == "results that came to a conclusion"
    assert words["touched"] == "results without a conclusion, unstable ones too"


@pytest.mark.parametrize("name", QUESTIONS)
def test_of_views_without_rows_nothing_is_asked(name: str) -> None:
    nothing = Mock(spec=["rows"], rows=dict.fromkeys(VIEWS, 0))

    assert answer(name, nothing).rows == []


def test_every_question_has_an_oracle() -> None:
    assert set(ORACLES) == set(QUESTIONS)


@pytest.mark.spark
@pytest.mark.parametrize("kept", [False, True])
def test_answers_hold_on_ten_thousand_rows(
    spark: SparkSession, tmp_path: Path, *, kept: bool
) -> None:
    rows = fleet([LARGE])

    counts = hold(spark, tmp_path / "history", rows, kept=kept)

    assert 8_000 < len(rows.results) <= MOST_ROWS
    assert min(counts.values()) > 5, counts


@pytest.mark.spark
def test_a_clause_stands_as_it_was_judged_last(spark: SparkSession, tmp_path: Path) -> None:
    """Some runs were judged by another level, and with cases that belong to another clause."""
    names = ("matrix", "roles", "evidence", "coverage_clauses")

    hold(spark, tmp_path / "history", revise(fleet([SMALL, LARGE])), kept=True, names=names)


@pytest.mark.spark
@pytest.mark.parametrize("number", [2**64 - 1, 2**128 - 1])
def test_wire_integers_come_through_as_exact_text(
    spark: SparkSession, tmp_path: Path, number: int
) -> None:
    difference = DifferenceRecord("trace_id", 9, str(number), str(number - 1))
    expected = ["trace"]
    told = f"trace:{number}"
    record = made.failed(
        "trace/id/x", "ext.trace.response", "", told, expected, difference=difference
    )
    history = str(tmp_path / "history")
    ingest(spark, [str(bundle(tmp_path / "b.jsonl", [record]))], history)
    tables = open_tables(spark, history, read_state(spark, history), today=TODAY)

    line = write_answer(answer("causes", tables), tmp_path)

    assert line["total"] == 1
    assert f'"trace:{number}"' in (tmp_path / "causes.json").read_text()
    (row,) = tables.results.select("difference_expected", "difference_found").collect()
    assert tuple(row) == (str(number), str(number - 1))


def remove(part: Path) -> None:
    part.unlink()


def spoil(part: Path) -> None:
    part.write_bytes(b"PAR1 and no more")


def replace(part: Path) -> None:
    foreign = pa.Table.from_pydict({"verdict": [7], "started": ["never"]})
    with part.open("wb") as out:
        writer = parquet.ParquetWriter(out, foreign.schema)
        writer.write_table(foreign)
        writer.close()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (remove, "does not exist"),
        (spoil, "Encountered error while reading file"),
        (replace, "Expected Spark type"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_foreign_files_in_a_history_are_one_sentence(
    spark: SparkSession, tmp_path: Path, harm: Callable[[Path], None], sentence: str
) -> None:
    history = tmp_path / "history"
    write_fleet(history, fleet([SMALL]))
    harm(next((history / "kind=result").rglob("*.parquet")))

    def ask() -> None:
        with in_words(tmp_path / "spark.log"):
            state = read_state(spark, str(history))
            answer("matrix", open_tables(spark, str(history), state, today=TODAY))

    with pytest.raises(SparkFault) as fault:
        ask()

    assert sentence in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.spark
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(shapes=FLEETS, kept=st.booleans())
def test_answers_hold_on_drawn_fleets(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    shapes: list[Shape],
    *,
    kept: bool,
) -> None:
    hold(spark, tmp_path_factory.mktemp("fleet") / "history", fleet(shapes), kept=kept)
