"""A disk that is full: one sentence, and history and site as they were before."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from history_fixture import bundle, rows, tree
from pyspark.sql import SparkSession
from spark_cluster import QUICK

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.session import in_words
from wireproof_reports.site import analysis as aggregate
from wireproof_reports.site.analysis import AnalysisRequest

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FULL = r"No space left on device|a disk is full: that of the history or that of Spark's temporary"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of 8 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, left: int = 0) -> Path:
    """Fill a disk but for some KiB; return the file that fills it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    with filler.open("rb+") as file:
        file.truncate(filler.stat().st_size - 1024 * left)
    return filler


@pytest.mark.parametrize("left", [0, 8, 24])
@pytest.mark.parametrize("before", [0, 1])
def test_a_history_whose_disk_is_full_is_as_it_was_before(
    spark: SparkSession, disk: Path, tmp_path: Path, before: int, left: int
) -> None:
    history = disk / "h"
    history.mkdir()
    paths = [str(bundle(tmp_path / f"{seed}.jsonl", seed=seed)) for seed in (1, 2)]
    for path in paths[:before]:
        ingest(spark, [path], str(history))
    filler = fill(disk, left)

    with (
        pytest.raises((SparkFault, HistoryFault), match=FULL) as fault,
        in_words(tmp_path / "log"),
    ):
        ingest(spark, paths, str(history))

    assert "\n" not in str(fault.value)
    assert len(list(history.glob("_delta_log/*.json"))) == before
    assert not before or len(rows(history, "runs")) == before
    filler.unlink()
    taken = ingest(spark, paths, str(history))
    assert (taken.bundles, taken.already) == (2 - before, before)
    assert len(rows(history, "results")) == 6


def test_a_full_disk_of_sparks_own_files_is_one_sentence(disk: Path, tmp_path: Path) -> None:
    history, path = tmp_path / "h", str(bundle(tmp_path / "1.jsonl"))
    conf = [word for item in QUICK.items() for word in ("--conf", "=".join(item))]
    fill(disk)

    done = subprocess.run(
        [sys.executable, "-m", "wireproof", "ingest", path, "--history", str(history), *conf],
        env={**os.environ, "SPARK_LOCAL_DIRS": str(disk)},
        capture_output=True,
        text=True,
        check=False,
    )

    *progress, sentence = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert sentence.startswith("wireproof: ")
    assert "a disk is full" in sentence
    assert "SPARK_LOCAL_DIRS can" in sentence
    assert all(line.startswith("progress") for line in progress), done.stderr
    assert not (history / "_delta_log").exists()


def test_a_site_whose_disk_is_full_is_as_it_was_before(
    spark: SparkSession, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, site = str(tmp_path / "h"), disk / "site"
    ingest(spark, [str(bundle(tmp_path / "1.jsonl"))], history)
    monkeypatch.setattr(aggregate, "session", lambda *_: contextlib.nullcontext(spark))
    wish = AnalysisRequest(history, site, names=("matrix", "levels"))
    aggregate.aggregate(wish)
    before = tree(site)
    fill(disk)

    with pytest.raises(HistoryFault, match=r"No space left on device\); it is as it was before"):
        aggregate.aggregate(wish)

    assert tree(site) == before
