"""What aggregates keep: answers are those of a full recomputation, whatever was kept."""

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest
from fleet import Fleet, Shape, fleet, write_fleet
from history_fixture import tree
from pyspark.sql import DataFrame, SparkSession
from waits import LONG_S

from wireproof_reports.pipeline import partials, tables
from wireproof_reports.pipeline.bundles.worker import Batches
from wireproof_reports.pipeline.columns import view_schema
from wireproof_reports.pipeline.partials import Part, Partial, chain, parts_of, read_kept
from wireproof_reports.pipeline.table import (
    read_state,
    read_state_as_of,
    read_view,
)
from wireproof_reports.pipeline.tables import FLIPS, KEPT, Tables, open_tables
from wireproof_reports.pipeline.vacuum import vacuum
from wireproof_reports.questions import flips
from wireproof_reports.questions.sql import name_views
from wireproof_reports.site import analysis as aggregate
from wireproof_reports.site.analysis import AnalysisRequest
from wireproof_reports.site.answers import QUESTIONS, answer, question

QUIET = pytest.mark.filterwarnings("ignore::ResourceWarning")
OF_EACH = ("matrix", "levels", "durations", "evidence", "flips")
"""A question to each thing that is kept."""
TODAY = date(2026, 7, 1)
SHAPE = Shape(
    seed=5,
    vendors=3,
    versions=3,
    cases=20,
    bundles=20,
    weights=(60, 9, 9, 6, 6, 3, 3, 1),
    spread_s=400_000,
)


def part(since: int, upto: int) -> Part:
    return Part(since, upto, f"{since}-{upto}", revision=partials.REVISION)


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


@pytest.mark.parametrize(
    ("notes", "found"),
    [
        ([part(1, 2), part(0, 1)], [(1, 2), (0, 1)]),
        ([part(2, 3), ["1-2"], part(1, 2), part(0, 1)], [(2, 3), (1, 2)]),
        ([["0-2"], part(0, 2), ["0-1"], part(1, 2), part(0, 1)], [(0, 2)]),
        ([[], part(0, 1)], []),
        ([Part(1, 2, "foreign", revision=99), part(0, 1)], [(0, 1)]),
    ],
)
def test_parts_that_were_deleted_or_are_of_another_revision_are_left_out(
    notes: list[Part | list[str]], found: list[tuple[int, int]]
) -> None:
    assert parts_of(notes) == [part(*each) for each in found]


def halves(whole: Fleet) -> tuple[Fleet, Fleet]:
    """Return the rows of every third bundle apart from those of the others."""
    some = {row["bundle"] for row in whole.runs[::3]}
    names = [each.name for each in dataclasses.fields(Fleet)]
    rows = {name: getattr(whole, name) for name in names}
    return (
        Fleet(**{name: [r for r in of if r["bundle"] not in some] for name, of in rows.items()}),
        Fleet(**{name: [r for r in of if r["bundle"] in some] for name, of in rows.items()}),
    )


def by_time(whole: Fleet) -> tuple[Fleet, Fleet]:
    """Return the rows of what ran first apart from those of what ran later."""
    starts = sorted(str(row["started"]) for row in whole.runs if row["started"])
    middle = starts[len(starts) // 2]
    names = [each.name for each in dataclasses.fields(Fleet)]
    rows = {name: getattr(whole, name) for name in names}
    late = {row["bundle"] for row in whole.runs if row["started"] and str(row["started"]) > middle}
    return (
        Fleet(**{name: [r for r in of if r["bundle"] not in late] for name, of in rows.items()}),
        Fleet(**{name: [r for r in of if r["bundle"] in late] for name, of in rows.items()}),
    )


def opened(spark: SparkSession, history: Path, as_of: str = "", *, keep: bool) -> Tables:
    state = (
        read_state_as_of(spark, str(history), as_of) if as_of else read_state(spark, str(history))
    )
    return open_tables(spark, str(history), state, today=TODAY, keep=keep)


def answers(
    spark: SparkSession,
    history: Path,
    as_of: str = "",
    names: Sequence[str] = QUESTIONS,
    *,
    keep: bool,
) -> dict[str, str]:
    tables = opened(spark, history, as_of, keep=keep)
    return {name: json.dumps(answer(name, tables).rows) for name in names}


def late_cases(spark: SparkSession, history: Path) -> int:
    """Return of how many cases the rows of all parts must be sorted together."""
    kept = opened(spark, history, keep=True).flips
    assert kept is not None
    return flips._add_parts(kept).where("late").count()  # pyright: ignore


def spans(spark: SparkSession, history: Path, partial: Partial) -> list[tuple[int, int]]:
    """Return the batches of each part that is kept, without those that vacuum has deleted."""
    found = partials._find(spark, str(history), f"_partials/{partial.name}")  # pyright: ignore
    return sorted((one.since, one.upto) for one in found.parts)


def on_spark(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that asks Spark many questions."""
    marks = (pytest.mark.process, pytest.mark.spark, QUIET)
    for mark in marks:
        mark(test)
    return test


@on_spark
def test_kept_answers_are_those_of_a_full_recomputation(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    first, second = halves(fleet([SHAPE]))
    write_fleet(history, first)
    old = answers(spark, history, names=OF_EACH, keep=False)
    assert answers(spark, history, names=OF_EACH, keep=True) == old
    write_fleet(history, second, batch=2)
    new = answers(spark, history, keep=False)
    assert any(new[name] != old[name] for name in OF_EACH)
    assert answers(spark, history, keep=True) == new
    assert late_cases(spark, history) > 0
    for each in (*KEPT, FLIPS):
        assert spans(spark, history, each) == [(0, 1), (1, 2)]
    monkeypatch.setattr(partials, "MOST_IN_CHAIN", 1)
    write_fleet(history, dataclasses.replace(second, results=[], runs=[]), batch=3)
    assert answers(spark, history, names=OF_EACH, keep=True) == {n: new[n] for n in OF_EACH}
    assert late_cases(spark, history) == 0
    assert answers(spark, history, "0", OF_EACH, keep=True) == old


@on_spark
def test_what_another_version_counted_is_counted_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other version counts each result twice, and has a column more."""
    history = tmp_path / "history"
    write_fleet(history, fleet([SHAPE]))
    state = read_state(spark, str(history))
    (days,) = [one for one in KEPT if one.name == "days"]

    def twice(results: DataFrame) -> DataFrame:
        return days.count(results.unionByName(results)).selectExpr("*", "cases as more")

    def kept(partial: Partial) -> list[str]:
        results = read_view(spark, str(history), "results", state)
        found = read_kept(spark, str(history), partial, results, state.note.batch)
        return sorted(map(str, found.collect()))

    with monkeypatch.context() as patched:
        patched.setattr(partials, "REVISION", partials.REVISION + 1)
        other = kept(dataclasses.replace(days, count=twice))
    mine = kept(days)

    results = read_view(spark, str(history), "results", state)
    assert mine == sorted(map(str, days.count(results).collect()))
    assert len(mine) == len(other)
    assert mine != other
    assert kept(days) == mine


COLUMNS = {
    "counts": "protocol vendor version case case_hash clause level origin role verdict reading "
    "cases repeats unlike last",
    "days": "protocol vendor version day group level origin verdict cases",
    "steps": "protocol vendor version interface step cases",
    "odd": "protocol vendor version bundle started case clause verdict cause_field cause_value "
    "deviation deviation_expires accepted observation reason difference_field "
    "difference_expected difference_found same runs again",
    "flips": "protocol vendor version case case_hash cases conformed first end last flips "
    "first_good end_good",
}


@on_spark
def test_other_columns_of_kept_counts_need_another_revision(spark: SparkSession) -> None:
    """Change both together: counts of the same revision with other columns cannot be read."""
    empty = spark.createDataFrame([], view_schema("results"))

    found = {one.name: " ".join(one.count(empty).columns) for one in (*KEPT, FLIPS)}

    assert (partials.REVISION, found) == (3, COLUMNS)


@on_spark
def test_batches_with_nothing_to_count_are_kept_too(spark: SparkSession, tmp_path: Path) -> None:
    """Delta makes no commit of no rows; an aggregate waited for it without end."""
    history = tmp_path / "history"
    whole = fleet([SHAPE])
    write_fleet(history, whole)
    before = answers(spark, history, names=("matrix",), keep=True)
    passing = dict(whole.results[0], bundle=whole.runs[0]["bundle"], verdict="pass", deviation="")
    write_fleet(history, Fleet([passing], [], [], [], []), batch=2)
    write_fleet(history, Fleet([], [], [], whole.findings[:1], []), batch=3)

    kept = answers(spark, history, names=("matrix",), keep=True)

    assert kept == answers(spark, history, names=("matrix",), keep=False)
    assert kept != before
    for each in (*KEPT, FLIPS):
        assert spans(spark, history, each) == [(0, 1), (1, 3)]


@on_spark
def test_two_first_aggregates_at_once_share_what_one_has_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both make the table; to the slower one it is as if the first had come earlier."""
    history, meeting = tmp_path / "history", tmp_path / "meeting"
    meeting.mkdir()
    write_fleet(history, fleet([SHAPE]))
    state = read_state(spark, str(history))
    results = read_view(spark, str(history), "results", state)
    (days,) = [one for one in KEPT if one.name == "days"]
    found: list[list[str]] = []

    def keep(number: int) -> None:
        def meet(batches: Batches) -> Batches:
            # In a process of Spark's, which has no modules of tests.
            (meeting / str(number)).touch()
            deadline = time.monotonic() + LONG_S
            while len(list(meeting.iterdir())) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            yield from batches

        def count(rows: DataFrame) -> DataFrame:
            return days.count(rows.coalesce(1).mapInArrow(meet, rows.schema))

        partial = dataclasses.replace(days, count=count)
        kept = read_kept(spark, str(history), partial, results, state.note.batch)
        found.append(sorted(map(str, kept.collect())))

    both = [threading.Thread(target=keep, args=(number,)) for number in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()

    assert found == [sorted(map(str, days.count(results).collect()))] * 2
    assert spans(spark, history, days) == [(0, 1)]


@on_spark
def test_vacuum_deletes_what_no_aggregate_of_the_newest_state_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    first, second = halves(fleet([SHAPE]))
    write_fleet(history, first)
    old = answers(spark, history, names=OF_EACH, keep=True)
    write_fleet(history, second, batch=2)
    monkeypatch.setattr(partials, "MOST_IN_CHAIN", 1)
    new = answers(spark, history, names=OF_EACH, keep=True)
    opened_before = opened(spark, history, keep=True)
    every = (*KEPT, FLIPS)
    assert [spans(spark, history, one) for one in every] == [[(0, 1), (0, 2)]] * len(every)

    vacuum(spark, str(history), keep_days=1)

    assert json.dumps(answer("matrix", opened_before).rows) == new["matrix"]
    assert [spans(spark, history, one) for one in every] == [[(0, 2)]] * len(every)
    vacuum(spark, str(history), keep_days=0)
    for one in every:
        files = (history / "_partials" / one.name).glob("part=*/*.parquet")
        assert len({file.parent for file in files}) == 1
    assert answers(spark, history, names=OF_EACH, keep=True) == new
    write_fleet(history, dataclasses.replace(first, results=[], runs=[]), batch=3)
    monkeypatch.setattr(partials, "MOST_IN_CHAIN", 9)
    assert answers(spark, history, names=OF_EACH, keep=True) == new
    assert spans(spark, history, FLIPS) == [(0, 2), (2, 3)]
    assert old != new


@on_spark
@pytest.mark.parametrize("damaged", ["counts/*/*.parquet", "days/_delta_log/*.json"])
def test_damaged_counts_are_told_and_counted_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str
) -> None:
    history, said = tmp_path / "history", list[str]()
    write_fleet(history, fleet([SHAPE]))
    monkeypatch.setattr(tables, "FEW", 0)
    monkeypatch.setattr(aggregate, "session", lambda *_: contextlib.nullcontext(spark))
    wish = AnalysisRequest(str(history), tmp_path / "site", today=TODAY, names=OF_EACH)

    def ask() -> dict[str, bytes]:
        aggregate.aggregate(wish, warn=said.append)
        found = tree(wish.out / "data")
        return {name: found[f"{name}.json"] for name in OF_EACH}

    before = ask()
    assert said == []
    for file in (history / "_partials").glob(damaged):
        file.write_bytes(b"{")
        file.with_name(f".{file.name}.crc").unlink()

    assert ask() == before
    (sentence,) = said
    assert sentence.startswith(
        f"cannot use the counts that earlier aggregates kept in file://{history}/_partials"
    )
    assert "counted anew" in sentence


def files_of(frame: DataFrame) -> set[str]:
    """Return the files that the plan of a query reads."""
    return {path.rpartition("/")[2] for path in frame.inputFiles()}


@on_spark
def test_after_a_small_ingest_only_its_files_are_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "CACHED", -1)  # Spark does not tell the files of a cached frame
    history = tmp_path / "history"
    first, second = by_time(fleet([SHAPE]))
    write_fleet(history, first)
    opened(spark, history, keep=True)
    old = files_of(opened(spark, history, keep=False).results)
    write_fleet(history, second, batch=2)
    every = opened(spark, history, keep=False)
    new = files_of(every.results) - old
    added = every.results.where("batch > 1")
    assert old
    assert new
    assert files_of(added) == new
    for each in (*KEPT, FLIPS):
        assert files_of(each.count(added)) == new, each.name

    kept = opened(spark, history, keep=True)
    for name in set(QUESTIONS) - {"flips"}:
        assert not files_of(question(name).ask(kept)) & (old | new), name
    assert late_cases(spark, history) == 0
    assert answer("flips", kept).rows == answer("flips", every).rows


@on_spark
def test_a_question_of_ones_own_opens_the_days_that_it_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    write_fleet(history, fleet([SHAPE, dataclasses.replace(SHAPE, seed=6)]))
    name_views(spark, str(history), read_state(spark, str(history)))
    every = spark.sql("select * from results").inputFiles()
    day = "2026-01-02"

    found = spark.sql(
        f"select vendor, count(*) from results where protocol = 'p1' and day = '{day}' group by 1"
    ).inputFiles()

    assert 0 < len(found) < len(every)
    assert all(f"/protocol=p1/day={day}/" in path for path in found)
