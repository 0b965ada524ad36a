"""Bundles taken into Delta tables by Spark: each once, the good ones whatever the others are."""

import gzip
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from history_fixture import bundle, note, rows, version, with_lines, write_commit, write_history
from pyspark.sql import DataFrame, SparkSession

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles import landing as landing_module
from wireproof_reports.pipeline.bundles.landing import Refused, Seen
from wireproof_reports.pipeline.bundles.worker import Batches, Work, make_reader
from wireproof_reports.pipeline.ingest import How, ingest
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.table import (
    measure,
    read_state,
    read_state_as_of,
    read_table,
    read_view,
)
from wireproof_reports.pipeline.vacuum import vacuum
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
    seen = version(history)
    second = ingest(spark, [str(landing)], str(history))

    assert (first.bundles, first.already, first.results) == (2, 1, 6)
    assert [(bad.file, bad.line) for bad in first.quarantined] == [("later.jsonl", 5)]
    assert first.lines == 1
    assert [one.path for one in first.refused] == [str(cut)]
    assert (second.bundles, second.already, second.refused) == (0, 3, first.refused)
    assert version(history) == seen == 0
    assert {str(row["day"]) for row in rows(history, "results")} == {"2026-11-21", "2026-11-22"}
    assert {row["batch"] for row in rows(history, "runs")} == {1}
    told = {(row["file"], row["line"], str(row["reason"])) for row in rows(history, "quarantine")}
    assert {(file, line) for file, line, _ in told} == {("cut.jsonl", 0), ("later.jsonl", 5)}
    assert first.refused[0].reason in {reason for _, _, reason in told}
    state = read_state(spark, str(history))
    assert (state.version, state.note.batch) == (0, 1)
    counts = {view: many for view, many in extent(spark, history).items() if many}
    assert counts == {"results": 6, "grammar": 18, "quarantine": 2, "runs": 2}


def extent(spark: SparkSession, history: Path) -> dict[str, int]:
    """Return how many rows Spark finds in each view."""
    return dict(measure(read_table(spark, str(history), read_state(spark, str(history)))).rows)


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
def test_files_that_another_tool_merged_are_the_same_rows(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = tmp_path / "h"
    for seed in (1, 2):
        bundle(landing / f"{seed}.jsonl", seed=seed)
        ingest(spark, [str(landing)], str(history))

    spark.sql(f"OPTIMIZE delta.`{history}`").collect()  # pyright: ignore[reportUnknownMemberType]  # args
    merged = read_state(spark, str(history))
    bundle(landing / "3.jsonl", seed=3)
    taken = ingest(spark, [str(landing)], str(history))

    assert (merged.version, merged.note.batch) == (2, 2)
    assert (taken.bundles, taken.already) == (1, 2)
    assert (version(history), note(history)["batch"]) == (3, 3)
    assert extent(spark, history)["results"] == len(rows(history, "results")) == 9


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
def test_a_batch_is_one_commit(spark: SparkSession, landing: Path, tmp_path: Path) -> None:
    history = tmp_path / "h"
    for number, seeds in enumerate((range(40), range(40, 50))):
        for seed in seeds:
            bundle(landing / f"{seed}.jsonl", seed=seed)
        ingest(spark, [str(landing)], str(history))

        assert version(history) == number
    table = DeltaTable(history)
    assert table.metadata().partition_columns == ["kind", "protocol", "day"]
    assert [commit["operation"] for commit in table.history()] == ["MERGE", "WRITE"]
    assert {commit["isolationLevel"] for commit in table.history()} == {"Serializable"}
    assert len(table.file_uris()) <= 2 * 2 * len(("result", "run", "grammar"))
    assert len({row["seed"] for row in rows(history, "runs")}) == 50
    assert len(rows(history, "results")) == 150


@pytest.mark.spark
def test_a_state_stays_as_it_was_opened_while_others_are_added(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    ingest(spark, [str(bundle(landing / "1.jsonl"))], history)
    state = read_state(spark, history)
    opened = {name: read_view(spark, history, name, state) for name in ("results", "runs")}

    ingest(spark, [str(bundle(landing / "2.jsonl", seed=2))], history)

    assert {name: frame.count() for name, frame in opened.items()} == {"results": 3, "runs": 1}


@pytest.mark.spark
def test_small_files_are_merged_after_some_batches(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof_reports.pipeline.ingest.COMPACT_EVERY", 3)
    history, files = tmp_path / "h", list[int]()
    for seed in range(4):
        ingest(spark, [str(bundle(landing / f"{seed}.jsonl", seed=seed))], str(history))
        files.append(len(DeltaTable(history).file_uris()))

    assert files == [3, 6, 3, 6]
    assert len(rows(history, "results")) == 12
    assert sorted(int(str(row["seed"])) for row in rows(history, "runs")) == [0, 1, 2, 3]


@pytest.mark.spark
def test_each_bundle_is_read_once(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are counted before they are added; to read them again would cost as much."""
    read = tmp_path / "read"

    def counting(*arguments: Any, **how: Any) -> Work:
        def work(batches: Batches) -> Batches:
            with read.open("a") as file:
                file.write("x")
            yield from make_reader(*arguments, **how)(batches)

        return work

    monkeypatch.setattr("wireproof_reports.pipeline.ingest.make_reader", counting)
    for seed in (1, 2):
        path = bundle(landing / f"{seed}.jsonl", seed=seed)
        ingest(spark, [str(path)], str(tmp_path / "h"))
        assert read.read_text() == "x" * seed


@pytest.mark.spark
def test_a_bundle_that_is_moved_after_it_was_hashed_is_refused(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a worker is lost and its bundles are read again later."""
    look_at = landing_module.look_at

    def move_after(frames: Sequence[DataFrame]) -> tuple[list[Seen], list[Refused]]:
        found = look_at(frames)
        (landing / "1.jsonl").rename(tmp_path / "elsewhere")
        return found

    monkeypatch.setattr(landing_module, "look_at", move_after)
    for seed in range(2):
        bundle(landing / f"{seed}.jsonl", seed=seed)

    taken = ingest(spark, [str(landing)], str(tmp_path / "h"))

    assert (taken.bundles, [one.path for one in taken.refused]) == (1, [str(landing / "1.jsonl")])
    assert [row["line"] for row in rows(tmp_path / "h", "quarantine")] == [0]
    assert len(rows(tmp_path / "h", "results")) == 3


@pytest.mark.spark
def test_older_states_can_be_asked_until_vacuum_removes_their_files(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    for seed in range(3):
        ingest(spark, [str(bundle(landing / f"{seed}.jsonl", seed=seed))], history)
    newest = read_state(spark, history)
    oldest = read_state_as_of(spark, history, "0")

    assert [read_view(spark, history, "results", s).count() for s in (oldest, newest)] == [3, 9]
    assert read_state_as_of(spark, history, "9999-12-31") == newest
    assert oldest.when is not None
    shutil.copytree(history, tmp_path / "copy")  # its files are newer than their states
    copied = read_state_as_of(spark, str(tmp_path / "copy"), oldest.when.isoformat())
    assert copied == oldest
    for wanted, sentence in (
        ("1999-01-01", "the first version of .* is 0, of 20"),
        ("77", "the newest version of .* is 2"),
        ("yesterday", "expected a version, or a date such as 2026-11-21"),
    ):
        with pytest.raises(HistoryFault, match=sentence):
            read_state_as_of(spark, history, wanted)

    done = vacuum(spark, history, keep_days=0)

    assert [version for version, _ in done.lost] == [2, 1, 0]
    assert (done.newest, done.oldest) == (4, 3)
    assert len(list((tmp_path / "h").rglob("kind=run/*/*/*.parquet"))) == 1
    with pytest.raises(HistoryFault, match="vacuum removed files of version 0; the oldest"):
        read_state_as_of(spark, history, "0")
    state = read_state(spark, history)
    assert read_view(spark, history, "results", state).count() == 9
    assert ingest(spark, [str(bundle(landing / "9.jsonl", seed=9))], history).bundles == 1


@pytest.mark.spark
@pytest.mark.parametrize("change", [{"format": FORMAT + 96}, {"columns": 99}])
def test_a_history_of_a_newer_kit_is_left_alone(
    spark: SparkSession, landing: Path, tmp_path: Path, change: dict[str, int]
) -> None:
    history = tmp_path / "h"
    write_commit(history, {}, {"wireproof": "added", "kit": "7.0", "batch": 1, **change})

    with pytest.raises(
        HistoryFault, match=r"by wireproof 7\.0 with .* 99; this version reads up to"
    ):
        ingest(spark, [str(bundle(landing / "b.jsonl"))], str(history))

    assert version(history) == 0
    assert not rows(history, "runs")


@pytest.mark.spark
def test_columns_that_an_older_version_did_not_write_are_added(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history, made = tmp_path / "h", tmp_path / "made"
    ingest(spark, [str(bundle(landing / "1.jsonl"))], str(made))
    old = {view: rows(made, view) for view in ("results", "runs")}
    write_history(history, old, without=["origin", "role", "path"])
    before = read_state(spark, str(history))

    seen = read_view(spark, str(history), "results", before).select("origin", "role").collect()
    ingest(spark, [str(bundle(landing / "2.jsonl", seed=2))], str(history))

    assert [tuple(row) for row in seen] == [(None, None)] * 3
    roles = {(row["batch"], row["role"]) for row in rows(history, "results")}
    assert roles == {(1, None), (2, "broker")}
    paths = {row["batch"]: row["path"] for row in rows(history, "runs")}
    assert paths == {1: None, 2: str(landing / "2.jsonl")}
