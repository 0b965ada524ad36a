"""Merging small files: a merge that is killed before its publication changes nothing."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest
from history_fixture import bundle, rows
from pyspark.sql import DataFrame, SparkSession
from writers import (
    OF_EACH_BUNDLE,
    as_another,
    commits,
    dead,
    history_of,
    left_behind,
    seeds,
    unlocked,
)

from wireproof_reports.pipeline import attempt as a
from wireproof_reports.pipeline.history import (
    KEEP_LOG,
    Published,
    read_published_as_of,
    read_table,
)
from wireproof_reports.pipeline.ingest import IngestResult, ingest
from wireproof_reports.pipeline.vacuum import unreachable, vacuum

DAY_S = 86_400

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def kill_merge(spark: SparkSession, history: Path, monkeypatch: pytest.MonkeyPatch) -> a.Attempt:
    """Merge files as a process does that shares no lock and is killed before it publishes."""
    with monkeypatch.context() as patched:
        patched.setattr(a, "own_name", dead)
        patched.setattr(a, "only_writer", unlocked)
        with a.begin(spark, str(history)) as merging:
            merging.compact()
            return merging


def test_a_merge_that_is_killed_before_it_is_published_changes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lives on: its merge of ``runs`` stays, its publication is refused."""
    history = history_of(spark, tmp_path / "h", 1, 2)
    merging = kill_merge(spark, history, monkeypatch)
    assert [commits(history, table) for table in OF_EACH_BUNDLE] == [4, 3, 3]
    assert seeds(history) == [1, 2]

    ingest(spark, [str(bundle(tmp_path / "3.jsonl", seed=3))], str(history))

    assert seeds(history) == [1, 2, 3]
    with pytest.raises(a.Conflict):
        merging.publish(None)
    with pytest.raises(a.Conflict):
        merging.compact()
    assert seeds(history) == [1, 2, 3]


def test_a_killed_merge_that_is_undone_costs_no_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed before it merges ``runs``, whose merge is not undone."""
    history = history_of(spark, tmp_path / "h", 1, 2)
    optimize = a.Attempt._optimize  # pyright: ignore[reportPrivateUsage]

    def die_at_runs(merging: a.Attempt, table: str) -> str:
        if table == "runs":
            raise InterruptedError
        return optimize(merging, table)

    with monkeypatch.context() as patched:
        patched.setattr(a.Attempt, "_optimize", die_at_runs)
        with pytest.raises(InterruptedError):
            kill_merge(spark, history, monkeypatch)

    ingest(spark, [str(bundle(tmp_path / "3.jsonl", seed=3))], str(history))

    assert unreachable(spark, str(history), keep_days=0) == []
    assert seeds(history) == [1, 2, 3]


def test_a_vacuum_keeps_files_for_all_the_days_that_it_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Delta forgets what was removed before its own retention period, and deletes such files."""
    made, history = tmp_path / "made", tmp_path / "h"
    history_of(spark, made, 1, 2)
    a.merge_files(spark, str(made), "")
    copy_of_before(made, history)

    kept = vacuum(spark, str(history), keep_days=365)

    oldest = read_published_as_of(spark, str(history), "0")
    found = [read_table(spark, str(history), name, oldest).collect() for name in OF_EACH_BUNDLE]
    assert [len(table) for table in found] == list(OF_EACH_BUNDLE.values())
    assert (kept.oldest, kept.lost) == (0, ())
    files = len(list(history.rglob("*.parquet")))

    removed = vacuum(spark, str(history), keep_days=30)

    assert [version for version, _ in removed.lost][-1] == 0
    assert len(list(history.rglob("*.parquet"))) < files
    assert seeds(history) == [1, 2]


def test_a_history_that_nobody_wrote_for_long_is_written_again_after_a_kill(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose tables keep files for no more than Delta's thirty days."""
    made, history = tmp_path / "made", tmp_path / "h"
    days = {**KEEP_LOG, "delta.deletedFileRetentionDuration": "interval 30 days"}
    monkeypatch.setattr(a, "_PROPERTIES", days)
    ingest(spark, [str(bundle(tmp_path / "1.jsonl", seed=1))], str(made))
    left_behind(spark, made, dead(), monkeypatch)
    copy_of_before(made, history)

    ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert seeds(history) == [1, 2]
    oldest = read_published_as_of(spark, str(history), "0")
    assert read_table(spark, str(history), "results", oldest).count() == OF_EACH_BUNDLE["results"]


def copy_of_before(made: Path, history: Path) -> None:
    """Copy a history as if all its commits had been made, and files removed, 100 days ago."""
    shutil.copytree(made, history)
    then = time.time() - 100 * DAY_S
    for log in history.rglob("_delta_log/*.json"):
        log.with_name(f".{log.name}.crc").unlink()  # Hadoop's checksum
        removed = r'(?<="deletionTimestamp":)\d+'
        log.write_text(re.sub(removed, str(int(then * 1000)), log.read_text()))
        os.utime(log, (then + int(log.stem),) * 2)
    for file in history.rglob("*.parquet"):
        os.utime(file, (then - DAY_S,) * 2)


def test_a_merge_that_is_given_up_leaves_nothing_that_others_wait_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process lives on, as a watching ingest does."""
    history = tmp_path / "h"
    publish = a.Attempt.publish
    given_up: list[str] = []

    def refuse_merges(attempt: a.Attempt, runs: DataFrame | None, *given: int) -> Published:
        if runs is None and not given_up:
            given_up.append("a merge")
            raise a.Conflict("runs")
        return publish(attempt, runs, *given)

    monkeypatch.setattr("wireproof_reports.pipeline.ingest.COMPACT_EVERY", 2)
    monkeypatch.setattr(a.Attempt, "publish", refuse_merges)
    history_of(spark, history, 1, 2)

    with as_another(monkeypatch), a.begin(spark, str(history), wait_s=0.0):
        pass
    assert given_up
    assert seeds(history) == [1, 2]


def test_a_killed_merge_of_the_quarantine_alone_is_taken_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "h"
    ingest(spark, [str(bundle(tmp_path / "1.jsonl", seed=1))], str(history))

    def refuse(seed: int) -> IngestResult:
        path = bundle(tmp_path / "cut.jsonl", seed=seed)
        path.write_bytes(path.read_bytes()[:-400])
        return ingest(spark, [str(path)], str(history))

    refuse(2)
    refuse(3)
    kill_merge(spark, history, monkeypatch)

    assert len(refuse(4).refused) == 1
    assert len(rows(history, "quarantine")) == 3
    assert seeds(history) == [1]
