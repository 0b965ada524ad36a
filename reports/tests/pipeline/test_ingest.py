"""Bundles taken into Delta tables by Spark: each once, the good ones whatever the others are."""

import gzip
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable
from history_fixture import bundle, rows, versions, with_lines, write_history, write_table
from pyspark.sql import SparkSession

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.history import read_published, read_published_as_of, read_table
from wireproof_reports.pipeline.incoming import TargetNaming
from wireproof_reports.pipeline.ingest import How, ingest
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.vacuum import vacuum
from wireproof_reports.pipeline.worker import Work, make_reader, make_unpacker
from wireproof_spec.history import FORMAT

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


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
    assert first.lines == 1
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
def test_every_copy_of_a_refused_bundle_is_refused_and_stands_in_the_table_once(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = tmp_path / "h"
    whole = bundle(landing / "whole.jsonl").read_bytes()
    (landing / "twin.jsonl").write_bytes(whole)
    for name in ("a", "b"):
        (landing / f"{name}.jsonl").write_bytes(whole[:-400])

    first = ingest(spark, [str(landing)], str(history))
    (landing / "b.jsonl").rename(landing / "c.jsonl")
    later = ingest(spark, [str(landing / "c.jsonl")], str(history))

    assert (first.bundles, first.already) == (1, 1)
    assert [one.path for one in first.refused] == [str(landing / f"{x}.jsonl") for x in "ab"]
    assert first.refused[1].reason == (
        f"{landing}/b.jsonl is a copy of a bundle that is refused: {first.refused[0].reason}"
    )
    assert (later.bundles, later.already) == (0, 0)
    assert [one.path for one in later.refused] == [str(landing / "c.jsonl")]
    assert [row["file"] for row in rows(history, "quarantine")] == ["a.jsonl"]


@pytest.mark.spark
def test_a_strict_ingest_takes_nothing_when_one_is_damaged(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    bundle(landing / "a.jsonl")
    path = bundle(landing / "b.jsonl", seed=2)
    path.write_bytes(path.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))

    with pytest.raises(
        BundleFault, match=r"b\.jsonl was changed.*no bundle of this batch was added \(--strict\)"
    ):
        ingest(spark, [str(landing)], str(tmp_path / "h"), how=How(strict=True))

    assert not (tmp_path / "h").exists()


@pytest.mark.spark
def test_a_strict_ingest_of_what_is_in_adds_nothing(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    bundle(landing / "a.jsonl")
    taken = [
        ingest(spark, [str(landing)], str(tmp_path / "h"), how=How(strict=True)) for _ in range(2)
    ]

    assert [(one.bundles, one.already) for one in taken] == [(1, 0), (0, 1)]


@pytest.mark.spark
def test_what_another_tool_merged_is_no_claim(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = tmp_path / "h"
    for seed in (1, 2):
        bundle(landing / f"{seed}.jsonl", seed=seed)
        ingest(spark, [str(landing)], str(history))

    merged = DeltaTable(history / "results").optimize.compact()
    bundle(landing / "3.jsonl", seed=3)
    taken = ingest(spark, [str(landing)], str(history))

    assert merged["numFilesRemoved"] > 0
    assert (taken.bundles, taken.already) == (1, 2)
    state = read_published(spark, str(history))
    assert read_table(spark, str(history), "results", state).count() == 9


@pytest.mark.spark
def test_bundles_that_cannot_be_opened_are_refused_alone(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    bundle(landing / "a.jsonl")
    (landing / "b.jsonl").symlink_to(landing / "gone")
    Path(os.fsdecode(os.fsencode(landing) + b"/caf\xe9.jsonl")).write_bytes(b"")

    taken = ingest(spark, [str(landing)], str(tmp_path / "h"))

    assert taken.bundles == 1
    assert sorted(one.reason.rpartition(": ")[2] for one in taken.refused) == [
        "No such file or directory",
        "its name is not UTF-8",
    ]
    quarantined = rows(tmp_path / "h", "quarantine")
    assert sorted(str(row["file"]) for row in quarantined) == ["b.jsonl", "caf\ufffd.jsonl"]


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
    files: dict[str, list[int]] = {"results": [], "grammar": [], "runs": []}
    for seed in range(4):
        ingest(spark, [str(bundle(landing / f"{seed}.jsonl", seed=seed))], str(history))
        named = versions(history)
        for table, counts in files.items():
            found = DeltaTable(history / table, version=named[table])
            counts.append(len(found.file_uris()))

    assert list(files.values()) == [[1, 2, 1, 2]] * 3
    assert len(rows(history, "results")) == 12
    assert sorted(int(str(row["seed"])) for row in rows(history, "runs")) == [0, 1, 2, 3]


@pytest.mark.spark
def test_a_bundle_that_spark_passes_over_is_noticed(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_first(naming: TargetNaming, expected: Mapping[str, str]) -> Work:
        return make_reader(naming, dict(list(expected.items())[:1]))

    monkeypatch.setattr("wireproof_reports.pipeline.ingest.make_reader", read_first)
    for seed in range(2):
        bundle(landing / f"{seed}.jsonl", seed=seed)

    with pytest.raises(HistoryFault, match="of 2 bundles Spark read 1 and refused 0; no"):
        ingest(spark, [str(landing)], str(tmp_path / "h"))

    assert not (tmp_path / "h").exists()


@pytest.mark.spark
def test_a_batch_is_not_published_without_the_runs_of_all_its_bundles(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is lost before ``runs`` is written, and one bundle was moved away meanwhile."""

    def lose_runs(table: str) -> Work:
        return (lambda _batches: iter(())) if table == "runs" else make_unpacker(table)

    history = str(tmp_path / "h")
    for seed in range(2):
        bundle(landing / f"{seed}.jsonl", seed=seed)
    with monkeypatch.context() as patched:
        patched.setattr("wireproof_reports.pipeline.ingest.make_unpacker", lose_runs)
        with pytest.raises(HistoryFault, match="that Spark had read, 0 could be read"):
            ingest(spark, [str(landing)], history)

    assert read_published(spark, history).version == -1
    assert ingest(spark, [str(landing)], history).bundles == 2


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
    for log in (tmp_path / "h").rglob("_delta_log/*.json"):
        os.utime(log)  # as in a copy, whose files are newer than their states
    assert oldest.when is not None
    assert read_published_as_of(spark, history, oldest.when.isoformat()) == oldest
    for wanted, sentence in (
        ("1999-01-01", "the first version of .* is 0, of 20"),
        ("77", "the newest version of .* is 2"),
        ("yesterday", "expected a version of runs, or a date such as 2026-11-21"),
    ):
        with pytest.raises(HistoryFault, match=sentence):
            read_published_as_of(spark, history, wanted)

    done = vacuum(spark, history, keep_days=0)

    assert [version for version, _ in done.lost] == [2, 1, 0]
    assert (done.newest, done.oldest) == (4, 4)
    assert len(list((tmp_path / "h" / "runs").rglob("protocol=*/*/*.parquet"))) == 1
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

    with pytest.raises(
        HistoryFault, match=r"by wireproof 7\.0 with .* 99; this version reads up to"
    ):
        ingest(spark, [str(bundle(landing / "b.jsonl"))], str(history))

    assert sorted(path.name for path in history.iterdir()) == ["runs"]


@pytest.mark.spark
def test_columns_that_an_older_version_did_not_write_are_added(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history, made = tmp_path / "h", tmp_path / "made"
    ingest(spark, [str(bundle(landing / "1.jsonl"))], str(made))
    old = {table: rows(made, table) for table in ("results", "runs")}
    write_history(history, old, without={"results": ["origin", "role"], "runs": ["path"]})
    before = read_published(spark, str(history))

    seen = read_table(spark, str(history), "results", before).select("origin", "role").collect()
    ingest(spark, [str(bundle(landing / "2.jsonl", seed=2))], str(history))

    assert [tuple(row) for row in seen] == [(None, None)] * 3
    roles = {(row["batch"], row["role"]) for row in rows(history, "results")}
    assert roles == {(1, None), (2, "broker")}
    paths = {row["batch"]: row["path"] for row in rows(history, "runs")}
    assert paths == {1: None, 2: str(landing / "2.jsonl")}
