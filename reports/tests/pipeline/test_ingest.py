"""Bundles taken into Delta tables by Spark: each once, the good ones whatever the others are."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from deltalake import DeltaTable
from history_fixture import bundle, rows, versions, with_lines, write_table
from pyspark.sql import SparkSession

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.history import read_published, read_published_as_of, read_table
from wireproof_reports.pipeline.ingest import How, IngestResult, ingest
from wireproof_reports.pipeline.migrate import OLD_VERSION, migrate
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.vacuum import vacuum
from wireproof_reports.pipeline.watch import watch
from wireproof_spec.history import FORMAT, TABLES

pytest_plugins = ("quick_spark",)
pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


def test_good_bundles_are_taken_once_and_others_refused_with_their_reason(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = tmp_path / "history [1]"
    good = bundle(landing / "a b.jsonl")
    (landing / "same.jsonl.gz").write_bytes(gzip.compress(good.read_bytes()))
    later = bundle(landing / "later.jsonl", seed=2, started="2026-11-22T09:00:00Z")
    with_lines(later, later, b"no json")
    cut = landing / "cut.jsonl"
    cut.write_bytes(bundle(tmp_path / "c.jsonl", seed=3).read_bytes()[:-400])

    first = ingest(spark, [str(landing)], str(history))
    seen = versions(history)
    second = ingest(spark, [str(landing)], str(history))

    assert (first.bundles, first.already, first.results) == (2, 1, 6)
    assert [(bad.file, bad.line) for bad in first.quarantined] == [("later.jsonl", 5)]
    assert [one.path for one in first.refused] == [str(cut)]
    assert (second.bundles, second.already, second.refused) == (0, 3, first.refused)
    assert (
        versions(history)
        == seen
        == {
            "results": 0,
            "runs": 0,
            "grammar": 0,
            "quarantine": 0,
        }
    )
    assert {str(row["day"]) for row in rows(history, "results")} == {"2026-11-21", "2026-11-22"}
    assert {row["batch"] for row in rows(history, "runs")} == {1}
    told = {(row["file"], row["line"], str(row["reason"])) for row in rows(history, "quarantine")}
    assert {(file, line) for file, line, _ in told} == {("cut.jsonl", 0), ("later.jsonl", 5)}
    assert first.refused[0].reason in {reason for _, _, reason in told}
    state = read_published(spark, str(history))
    assert state.note.rows == {"results": 6, "grammar": 18, "quarantine": 2, "runs": 2}
    assert read_table(spark, str(history), "results", state).count() == 6


@pytest.mark.spark
def test_a_strict_ingest_takes_nothing_when_one_is_damaged(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    bundle(landing / "a.jsonl")
    path = bundle(landing / "b.jsonl", seed=2)
    path.write_bytes(path.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))

    with pytest.raises(BundleFault, match=r"b\.jsonl was changed.*nothing was taken \(--strict\)"):
        ingest(spark, [str(landing)], str(tmp_path / "h"), how=How(strict=True))

    assert not (tmp_path / "h").exists()


@pytest.mark.spark
def test_a_batch_is_one_commit_a_table(spark: SparkSession, landing: Path, tmp_path: Path) -> None:
    history = tmp_path / "h"
    for seed in range(40):
        bundle(landing / f"{seed}.jsonl", seed=seed)

    ingest(spark, [str(landing)], str(history))

    for table in ("results", "runs", "grammar"):
        assert DeltaTable(history / table).metadata().partition_columns == ["protocol", "day"]
        operations = [commit["operation"] for commit in DeltaTable(history / table).history()]
        assert operations == ["WRITE"]
        assert len(DeltaTable(history / table).file_uris()) <= 2
    assert len({row["seed"] for row in rows(history, "runs")}) == 40
    assert len(rows(history, "results")) == 120


@pytest.mark.spark
def test_a_state_stays_as_it_was_opened_while_others_are_added(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    ingest(spark, [str(bundle(landing / "1.jsonl"))], history)
    state = read_published(spark, history)
    opened = {name: read_table(spark, history, name, state) for name in ("results", "runs")}

    ingest(spark, [str(bundle(landing / "2.jsonl", seed=2))], history)

    assert {name: frame.count() for name, frame in opened.items()} == {"results": 3, "runs": 1}


@pytest.mark.spark
def test_small_files_are_merged_after_some_batches(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof_reports.pipeline.ingest.COMPACT_EVERY", 3)
    history = tmp_path / "h"
    files: list[int] = []
    for seed in range(4):
        ingest(spark, [str(bundle(landing / f"{seed}.jsonl", seed=seed))], str(history))
        named = versions(history)["results"]
        files.append(len(DeltaTable(history / "results", version=named).file_uris()))

    assert files == [1, 2, 1, 2]
    assert len(rows(history, "results")) == 12
    assert sorted(int(str(row["seed"])) for row in rows(history, "runs")) == [0, 1, 2, 3]


@pytest.mark.spark
def test_watching_once_takes_what_is_there_and_ends(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history, told = str(tmp_path / "h"), list[IngestResult]()
    for arriving in ((0, 1), (2,)):
        for seed in arriving:
            bundle(landing / f"{seed}.jsonl", seed=seed)
        watch(spark, str(landing), history, how=How(), told=told.append, once=True)

    assert [(one.bundles, one.already) for one in told] == [(2, 0), (1, 0)]
    assert len(rows(tmp_path / "h", "results")) == 9


@pytest.mark.spark
def test_older_states_can_be_asked_until_vacuum_removes_their_files(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    for seed in range(3):
        ingest(spark, [str(bundle(landing / f"{seed}.jsonl", seed=seed))], history)
    newest = read_published(spark, history)
    oldest = read_published_as_of(spark, history, "0")

    assert [read_table(spark, history, "results", s).count() for s in (oldest, newest)] == [3, 9]
    assert read_published_as_of(spark, history, "9999-12-31") == newest
    for wanted, sentence in (
        ("1999-01-01", "had no version then"),
        ("77", "the newest version of .* is 2"),
        ("yesterday", "expected a version of runs, or a date such as 2026-11-21"),
    ):
        with pytest.raises(HistoryFault, match=sentence):
            read_published_as_of(spark, history, wanted)

    done = vacuum(spark, history, keep_days=0)

    assert [version for version, _ in done.lost] == [2, 1, 0]
    assert (done.newest, done.oldest) == (3, 3)
    with pytest.raises(HistoryFault, match="vacuum removed files of version 0; the oldest"):
        read_published_as_of(spark, history, "0")
    state = read_published(spark, history)
    assert read_table(spark, history, "results", state).count() == 9
    assert ingest(spark, [str(bundle(landing / "9.jsonl", seed=9))], history).bundles == 1


@pytest.mark.spark
@pytest.mark.parametrize("change", [{"format": FORMAT + 97}, {"tables": 99}])
def test_a_history_of_a_newer_kit_is_left_alone(
    spark: SparkSession, landing: Path, tmp_path: Path, change: dict[str, int]
) -> None:
    history = tmp_path / "h"
    note = {"wireproof": "published", "kit": "7.0", "batch": 1, "versions": {}, "rows": {}}
    write_table(history, "runs", [], {**note, **change})

    with pytest.raises(HistoryFault, match=r"by wireproof 7\.0: .* 99, this version reads up to"):
        ingest(spark, [str(bundle(landing / "b.jsonl"))], str(history))

    assert sorted(path.name for path in history.iterdir()) == ["runs"]


LATER_COLUMNS = {
    table: [column.name for column in columns if column.since > OLD_VERSION]
    for table, columns in TABLES.items()
}


def make_old(spark: SparkSession, history: Path, old: Path) -> dict[str, int]:
    """Write what an older version would have left: Parquet files, and one that names them."""
    parts: list[dict[str, object]] = []
    for table in versions(history):
        frame = spark.createDataFrame(DeltaTable(history / table).to_pyarrow_table())
        kept = frame.drop(*LATER_COLUMNS[table]).coalesce(1)
        kept.write.partitionBy("protocol", "day").parquet(str(old / table))
        for path in sorted((old / table).rglob("*.parquet")):
            protocol, day = (word.partition("=")[2] for word in path.parts[-3:-1])
            count = spark.read.parquet(str(path)).count()
            part = {"table": table, "protocol": protocol, "day": day, "name": path.name}
            parts.append({**part, "rows": count, "size_bytes": 1})
    manifest = {"history": "wireproof", "format": 1, "version": 2, "kit": "0.1.0", "parts": parts}
    (old / "history.json").write_text(json.dumps(manifest))
    return {table: len(rows(history, table)) for table in versions(history)}


def plain(history: Path, table: str, left_out: set[str]) -> list[str]:
    """Return the rows of a table as sorted texts, without some columns."""
    return sorted(
        str([(name, row[name]) for name in sorted(row) if name not in left_out])
        for row in rows(history, table)
    )


@pytest.mark.spark
def test_an_old_history_is_migrated_with_nothing_lost(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    for seed, started in enumerate(("2026-11-21T09:00:00Z", "2026-11-22T09:00:00Z", "")):
        path = bundle(landing / f"{seed}.jsonl", seed=seed, started=started)
        with_lines(path, path, b"no json")
    made = tmp_path / "made"
    ingest(spark, [str(landing)], str(made))
    counts = make_old(spark, made, tmp_path / "old")

    told = migrate(spark, tmp_path / "old", str(tmp_path / "new"), kit="9")

    assert {table: rows for table, rows in told.items() if rows} == counts
    for table in counts:
        later = set(LATER_COLUMNS[table]) - {"role"}
        assert plain(tmp_path / "new", table, later) == plain(made, table, later)
        new = rows(tmp_path / "new", table)
        assert {row[name] for row in new for name in later - {"batch"}} <= {None}
    again = ingest(spark, [str(landing)], str(tmp_path / "new"))
    assert (again.bundles, again.already) == (0, 3)


@pytest.mark.spark
def test_an_old_history_with_a_file_too_few_is_not_migrated(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    ingest(spark, [str(bundle(landing / "b.jsonl"))], str(made))
    make_old(spark, made, tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / "history.json").read_text())
    for part in manifest["parts"]:
        part["rows"] += 1
    (tmp_path / "old" / "history.json").write_bytes(msgspec.json.encode(manifest))

    with pytest.raises(HistoryFault, match="tells of 4 rows of results, but its files have 3"):
        migrate(spark, tmp_path / "old", str(tmp_path / "new"))

    assert not (tmp_path / "new" / "runs").exists()
