"""Bundles that arrive in a folder that is watched: how it begins, waits, and ends."""

import os
import signal
from pathlib import Path

import pytest
from history_fixture import bundle, rows
from pyspark.sql import SparkSession

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline import lock
from wireproof_reports.pipeline.ingest import How, IngestResult
from wireproof_reports.pipeline.lock import locked
from wireproof_reports.pipeline.place import WATCH_LOCK, HistoryFault
from wireproof_reports.pipeline.watch import watch

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


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
def test_watching_takes_the_signs_of_a_folder_as_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, told = tmp_path / "runs[1] {a}", list[IngestResult]()
    folder.mkdir()
    bundle(folder / "1.jsonl")

    watch(spark, str(folder), str(tmp_path / "h"), how=How(), told=told.append, once=True)

    assert [one.bundles for one in told] == [1]


@pytest.mark.spark
def test_watching_strictly_ends_at_a_refused_bundle_and_continues_without_it(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history, told, strict = str(tmp_path / "h"), list[IngestResult](), How(strict=True)
    bundle(landing / "1.jsonl", seed=1)
    cut = landing / "2.jsonl"
    cut.write_bytes(bundle(tmp_path / "2", seed=2).read_bytes()[:-400])

    with pytest.raises(BundleFault, match=r"2\.jsonl is cut off .* no bundle of this batch"):
        watch(spark, str(landing), history, how=strict, told=told.append, once=True)
    assert told == []

    cut.unlink()
    watch(spark, str(landing), history, how=strict, told=told.append, once=True)

    assert [(one.bundles, len(one.refused)) for one in told] == [(1, 0)]


@pytest.mark.spark
def test_a_history_is_watched_by_one_alone(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    bundle(landing / "1.jsonl")

    with (
        locked(spark, history, 0, WATCH_LOCK),
        pytest.raises(HistoryFault, match="is already watched by another ingest"),
    ):
        watch(spark, str(landing), history, how=How(), told=lambda _: None, once=True)


@pytest.mark.spark
def test_watching_that_waits_for_another_writer_ends_at_once_when_interrupted(
    spark: SparkSession, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, told = str(tmp_path / "h"), list[IngestResult]()
    bundle(landing / "1.jsonl")
    try_lock, tries = lock._try_lock, list[bool]()  # pyright: ignore

    def interrupt(channel: object, place: Path) -> bool:
        tries.append(try_lock(channel, place))  # type: ignore[arg-type]  # as it was called
        if not tries[-1] and tries.count(False) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return tries[-1]

    with locked(spark, history, 0):
        monkeypatch.setattr(lock, "_try_lock", interrupt)
        with pytest.raises(KeyboardInterrupt):
            watch(spark, str(landing), history, how=How(), told=told.append)
    watch(spark, str(landing), history, how=How(), told=told.append, once=True)

    assert [one.bundles for one in told] == [1]


@pytest.mark.spark
def test_watching_takes_a_bundle_that_is_older_than_those_it_has_seen(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    """``mv`` keeps the time of a file; Spark passes over those a week older than the newest."""
    history, told = str(tmp_path / "h"), list[IngestResult]()
    bundle(landing / "1.jsonl")
    watch(spark, str(landing), history, how=How(), told=told.append, once=True)
    old = bundle(landing / "2.jsonl", seed=2)
    month_ago = old.stat().st_mtime - 30 * 86_400
    os.utime(old, (month_ago, month_ago))

    watch(spark, str(landing), history, how=How(), told=told.append, once=True)
    watch(spark, str(landing), history, how=How(), told=told.append, once=True)

    assert [one.bundles for one in told] == [1, 1]
