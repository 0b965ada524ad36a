"""The same answers from a standalone cluster as from one machine, by both ways to get there."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from fleet import Shape, fleet, write_fleet
from history_fixture import bundle, note, rows, tree
from spark_cluster import HOME, QUICK, cluster, environment
from spark_servers import connect_server

from wireproof_kit.version import KIT_VERSION
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.session import Wanted, session
from wireproof_reports.pipeline.shipping import archive
from wireproof_reports.pipeline.tables import KEPT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "history-cluster.md"
SHAPE = Shape(
    seed=3,
    vendors=3,
    versions=4,
    cases=20,
    bundles=40,
    weights=(60, 9, 9, 6, 6, 3, 3, 1),
    spread_s=400_000,
)

pytestmark = [pytest.mark.process, pytest.mark.spark]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "history"
    write_fleet(folder, fleet([SHAPE]))
    return folder


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def local(history: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return aggregated(history, tmp_path_factory.mktemp("local"), *at("local[2]"))


KEEPING = """
import runpy
from wireproof_reports.pipeline import tables
tables.FEW = 0
runpy.run_module("wireproof", run_name="__main__")
"""
"""Runs wireproof as one does whose history is long: what an aggregate counts is kept."""


def aggregated(history: Path, site: Path, *where: str, code: str = "") -> dict[str, bytes]:
    """Run the command as a user would; nothing but its own words may be seen."""
    options = ["--out", str(site), *where]
    wireproof = ["-c", code] if code else ["-m", "wireproof"]
    done = subprocess.run(
        [sys.executable, *wireproof, "aggregate", str(history), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = ("progress [ ", "history  ")
    assert all(line.startswith(told) for line in done.stderr.splitlines()), done.stderr
    assert done.stdout.splitlines()[-1] == f"site  {site}"
    return answers(site)


def at(master: str) -> list[str]:
    settings = [word for item in QUICK.items() for word in ("--conf", "=".join(item))]
    return ["--master", master, *settings]


def answers(site: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(site / "data").items() if name != "index.json"}


def test_a_cluster_answers_as_one_machine_does(
    history: Path, master: str, local: dict[str, bytes], tmp_path: Path
) -> None:
    assert len(local) > 10
    assert aggregated(history, tmp_path / "site", *at(master)) == local


def test_a_connect_server_answers_as_one_machine_does(
    history: Path, local: dict[str, bytes], tmp_path: Path
) -> None:
    with connect_server(tmp_path) as url:
        assert aggregated(history, tmp_path / "site", "--remote", url) == local


def kept_twice(history: Path, folder: Path, *where: str) -> dict[str, bytes]:
    """Aggregate a copy of a history twice, from counts that are kept beside it."""
    shutil.copytree(history, folder / "kept")
    first = aggregated(folder / "kept", folder / "first", *where, code=KEEPING)
    parts = sorted((folder / "kept" / "_partials").glob("*/part=*"))
    again = aggregated(folder / "kept", folder / "again", *where, code=KEEPING)

    assert len(parts) == len(KEPT) + 1
    assert sorted((folder / "kept" / "_partials").glob("*/part=*")) == parts
    assert again == first
    return first


def test_counts_that_a_cluster_keeps_serve(
    history: Path, master: str, local: dict[str, bytes], tmp_path: Path
) -> None:
    assert kept_twice(history, tmp_path, *at(master)) == local


def test_counts_that_a_connect_server_keeps_serve(
    history: Path, local: dict[str, bytes], tmp_path: Path
) -> None:
    with connect_server(tmp_path) as url:
        assert kept_twice(history, tmp_path, "--remote", url) == local


def landing_of(folder: Path, bundles: int) -> Path:
    """Write bundles with different seeds into a new folder; return the folder."""
    folder.mkdir()
    for seed in range(bundles):
        bundle(folder / f"{seed}.jsonl", seed=seed)
    return folder


def test_bundles_are_taken_by_workers_that_have_only_what_is_sent(
    master: str, tmp_path: Path
) -> None:
    """The workers' Python has pyarrow and numpy, as Spark needs them, and nothing else of ours."""
    landing = landing_of(tmp_path / "landing", 6)
    settings = [*at(master), "--conf", f"spark.pyspark.python={bare_python(tmp_path)}"]

    words = [sys.executable, "-m", "wireproof", "ingest"]
    done = subprocess.run(
        [*words, str(landing), "--history", str(tmp_path / "h"), *settings],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(rows(tmp_path / "h", "runs")) == 6
    assert len(rows(tmp_path / "h", "results")) == 18


def test_bundles_are_taken_and_questions_answered_by_one_command(
    master: str, tmp_path: Path
) -> None:
    """Both have a session of their own in the same Java, and send workers the same code."""
    landing = landing_of(tmp_path / "landing", 3)

    on_cluster = aggregated(landing, tmp_path / "site", *at(master))

    assert on_cluster == aggregated(landing, tmp_path / "local", *at("local[2]"))
    assert len(rows(tmp_path / "site" / "history", "runs")) == 3


def test_the_lines_of_the_page_submit_both_halves(master: str, tmp_path: Path) -> None:
    """As they stand there, but for the names, and for memory: these workers have little."""
    landing_of(tmp_path / "landing", 6)
    quick = " ".join(f"--conf '{name}={value}'" for name, value in QUICK.items())
    lines = of_page("spark-submit").replace("spark://host:7077", f"{master} {quick}")
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), str(HOME / "bin"), os.environ["PATH"]]
    )

    done = subprocess.run(
        ["bash", "-ec", lines.replace("/shared/", f"{tmp_path}/")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**environment(), "PATH": path, "PYSPARK_PYTHON": str(bare_python(tmp_path))},
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert "   6 bundles added, 0 already there\n" in done.stdout
    assert len(rows(tmp_path / "history", "results")) == 18
    assert (tmp_path / "site" / "matrix.html").exists()
    index = json.loads((tmp_path / "site" / "data" / "index.json").read_text())
    assert (index["kit"], note(tmp_path / "history")["kit"]) == (KIT_VERSION, KIT_VERSION)
    one_machine = aggregated(tmp_path / "history", tmp_path / "other", *at("local[2]"))
    assert answers(tmp_path / "site") == one_machine


def of_page(word: str) -> str:
    """Return the block of commands in docs/history-cluster.md that has this word."""
    blocks = re.findall(r"(?m)(?:^    .*\n)+", PAGE.read_text())
    (found,) = [block for block in blocks if f"    {word} " in block]
    return textwrap.dedent(found)


def bare_python(folder: Path) -> Path:
    """Return a Python that finds pyarrow and numpy, and none of the project's packages."""
    packages = folder / "bare"
    packages.mkdir()
    for name in ("pyarrow", "numpy", "numpy.libs"):
        of_ours = Path(pa.__file__).parents[1] / name
        if of_ours.exists():
            (packages / name).symlink_to(of_ours)
    base = Path(sys.base_prefix) / "bin" / "python3"
    program = folder / "bare-python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {base} -s "$@"\n')
    program.chmod(0o755)
    return program


def test_workers_have_the_code_that_was_shipped(master: str, tmp_path: Path) -> None:
    code = archive(tmp_path / "wireproof.zip")

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import wireproof_reports.pipeline.target as shipped

        for _ in batches:
            found = [shipped.__file__], [shipped.version_key("1.10")]
            yield pa.RecordBatch.from_pydict({"file": found[0], "key": found[1]})

    with session(Wanted(master, settings=QUICK, code=[code]), tmp_path / "spark.log") as spark:
        rows = spark.range(2).mapInArrow(where, "file string, key string").collect()

    assert rows
    assert all("wireproof.zip" in row["file"] for row in rows)
    assert all(row["key"] == '0011.00210"' for row in rows)


def test_a_master_without_workers_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof_reports.pipeline.session.FIRST_JOB_S", 5.0)
    with (
        cluster(tmp_path, workers=0) as url,
        pytest.raises(SparkFault, match=r"no worker ran a job of one row within 5 s"),
        session(Wanted(url, settings=QUICK), tmp_path / "spark.log"),
    ):
        raise AssertionError("there was a worker")
