"""Merging small files: a merge that is killed before its publication changes nothing."""

from pathlib import Path

import pytest
from history_fixture import bundle, rows
from pyspark.sql import SparkSession
from writers import OF_EACH_BUNDLE, commits, dead, seeds, unlocked

from wireproof_reports.pipeline import attempt as a
from wireproof_reports.pipeline.ingest import IngestResult, ingest

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.timeout(900),
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
    history = tmp_path / "h"
    for seed in (1, 2):
        ingest(spark, [str(bundle(tmp_path / f"{seed}.jsonl", seed=seed))], str(history))
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
