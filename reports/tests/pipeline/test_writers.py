"""Several writers of one history, killed ones among them: no batch is half in, none twice."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from history_fixture import bundle, version
from late_writer import late_writer
from pyspark.sql import DataFrame, SparkSession
from spark_cluster import QUICK
from waits import LONG_S, Stopwatch, until
from writers import commits, history_of, seeds, without_lock

from wireproof_reports.pipeline import ingest as ingesting
from wireproof_reports.pipeline.commit import add_rows, optimize
from wireproof_reports.pipeline.ingest import How, IngestResult, ingest
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.table import Note, State
from wireproof_reports.pipeline.vacuum import vacuum

KILLS = int(os.environ.get("WIREPROOF_INGEST_KILLS", "2"))
RACES = int(os.environ.get("WIREPROOF_RACES", "1"))
MOST_ARRIVING = 30

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> Path:
    return history_of(spark, tmp_path / "h", 1)


class Meeting:
    """Has writers commit at the same moment: each waits in `add_rows` until all are there.

    A writer that comes again, since its commit was refused, waits for nobody.
    """

    def __init__(self, writers: int) -> None:
        self._barrier = threading.Barrier(writers)
        self._met = threading.local()
        self.commits = 0

    def add_rows(
        self, own: SparkSession, history: str, state: State, rows: DataFrame, note: Note
    ) -> int:
        if not hasattr(self._met, "once"):
            self._met.once = True
            self._barrier.wait()
        added = add_rows(own, history, state, rows, note)
        self.commits += 1
        return added


def race(spark: SparkSession, history: Path, landings: Sequence[Sequence[str]]) -> int:
    """Have several writers add bundles at once; return the number of batches that got in.

    Every bundle must count as added by one of them, and as there already by all others.
    """
    taken: list[IngestResult] = []
    meeting = Meeting(len(landings))
    with pytest.MonkeyPatch.context() as patched:
        without_lock(patched)
        patched.setattr(ingesting, "add_rows", meeting.add_rows)
        threads = [
            threading.Thread(
                target=lambda named=named: taken.append(ingest(spark, named, str(history)))
            )
            for named in landings
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(taken) == len(landings)
    assert sum(one.bundles for one in taken) == len({path for named in landings for path in named})
    assert [one.bundles + one.already for one in taken] == [len(named) for named in landings]
    return meeting.commits


@pytest.mark.parametrize("writers", [2, 3])
def test_writers_that_race_for_the_same_bundles_add_each_once(
    spark: SparkSession, tmp_path: Path, writers: int
) -> None:
    """They share no lock. First they race to create the table, then to add to it."""
    for number in range(RACES):
        history = tmp_path / f"h{number}"
        first, second = (
            [str(bundle(tmp_path / f"{seed}.jsonl", seed=seed)) for seed in pair]
            for pair in ((1, 2), (3, 4))
        )

        assert race(spark, history, [first] * writers) == 1
        assert seeds(history) == [1, 2]
        assert race(spark, history, [second] * writers) == 1

        assert seeds(history) == [1, 2, 3, 4]
        assert version(history) == 1


def test_writers_that_race_with_different_bundles_all_get_in(
    spark: SparkSession, history: Path, tmp_path: Path
) -> None:
    """Also where one of the bundles is the same, and where a bundle is refused."""
    paths = {seed: str(bundle(tmp_path / f"{seed}.jsonl", seed=seed)) for seed in range(2, 5)}

    batches = race(spark, history, [[paths[2], paths[3]], [paths[3], paths[4]]])

    assert batches == 2
    assert seeds(history) == [1, 2, 3, 4]


def test_files_are_merged_beside_a_running_ingest(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch that is being added is refused once, since files that it had read are gone."""
    history_of(spark, history, 2)
    without_lock(monkeypatch)
    merged: list[int] = []

    def merge_first(
        own: SparkSession, place: str, state: State, rows: DataFrame, note: Note
    ) -> int:
        if not merged:
            optimize(spark, place)
            merged.append(version(history))
        return add_rows(own, place, state, rows, note)

    monkeypatch.setattr(ingesting, "add_rows", merge_first)
    taken = ingest(spark, [str(bundle(tmp_path / "3.jsonl", seed=3))], str(history))

    assert (taken.bundles, merged) == (1, [2])
    assert seeds(history) == [1, 2, 3]
    assert vacuum(spark, str(history), keep_days=0).oldest == 4
    assert seeds(history) == [1, 2, 3]


def test_an_ingest_that_others_always_outrun_gives_up_with_a_sentence(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "TRIES", 2)
    came: list[int] = []

    def outrun(own: SparkSession, place: str, state: State, rows: DataFrame, note: Note) -> int:
        came.append(10 + len(came))
        with pytest.MonkeyPatch.context() as patched:
            without_lock(patched)
            patched.setattr(ingesting, "add_rows", add_rows)
            history_of(spark, history, came[-1])
        return add_rows(own, place, state, rows, note)

    monkeypatch.setattr(ingesting, "add_rows", outrun)
    with pytest.raises(HistoryFault, match="wrote to it during each of 2 attempts; no bundle"):
        ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert seeds(history) == [1, *came]


def test_java_that_outlives_a_killed_ingest_is_waited_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    history, path = str(tmp_path / "h"), str(bundle(tmp_path / "1.jsonl", seed=1))
    with late_writer(tmp_path, history, path, QUICK, lies=tmp_path / "h") as go_on:
        with pytest.raises(HistoryFault, match="is in use by another ingest"):
            ingest(spark, [path], history, how=How(wait_s=0.0))
        go_on()

    taken = ingest(spark, [path], history)

    assert (taken.bundles, taken.already) == (0, 1)
    assert seeds(tmp_path / "h") == [1]


def test_two_ingests_at_once_are_one_after_the_other(history: Path, tmp_path: Path) -> None:
    processes: list[subprocess.Popen[str]] = []
    for number in (1, 2):
        folder = tmp_path / f"landing-{number}"
        folder.mkdir()
        for seed in range(2, 5):
            bundle(folder / f"{seed}.jsonl", seed=10 * number + seed)
        words = command(str(folder), "--history", str(history))
        processes.append(subprocess.Popen(words, stderr=subprocess.PIPE, text=True))

    ended = [process.communicate()[1] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], ended
    assert seeds(history) == [1, 12, 13, 14, 22, 23, 24]


def command(*arguments: str) -> list[str]:
    quick = ["--master", "local[2]", "--conf", "spark.driver.memory=600m"]
    return [sys.executable, "-m", "wireproof", "ingest", *arguments, *quick, "-q"]


def test_killed_at_random_while_bundles_arrive(tmp_path: Path) -> None:
    """Kill the watching ingest, its Java with it or not, as bundles arrive; let one last end.

    Every second one is killed while it writes, however long Spark takes to start.
    """
    landing, history = tmp_path / "landing", tmp_path / "h"
    landing.mkdir()
    chance = random.Random(20_261_124)
    arrived = 0

    def arrive() -> None:
        nonlocal arrived
        arrived += 1
        path = bundle(tmp_path / "coming", seed=arrived)
        path.rename(landing / f"{arrived}.jsonl")

    arrive()
    watching = [*command(str(landing), "--history", str(history)), "--watch"]
    for number in range(KILLS):
        process = subprocess.Popen(watching, start_new_session=True, stderr=subprocess.DEVNULL)
        before, watch = commits(history), Stopwatch()
        kill_at = time.monotonic() + chance.uniform(6, 30)
        while process.poll() is None and time.monotonic() < kill_at:
            if arrived < MOST_ARRIVING * (number + 1):
                arrive()
            time.sleep(1)
            if number % 2 == 0 and commits(history) == before:
                assert watch.seconds() < LONG_S
                kill_at = time.monotonic() + chance.uniform(0, 6)
        assert process.poll() is None
        if number % 2:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
    # No plain ingest: it would add a bundle that the checkpoint has seen, and no batch published.
    done = subprocess.run([*watching, "--once"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert seeds(history) == list(range(1, arrived + 1))


def test_watching_ends_after_the_batch_when_interrupted(tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of the terminal, while a batch is being written."""
    landing, history = tmp_path / "landing", tmp_path / "h"
    landing.mkdir()
    bundle(landing / "1.jsonl", seed=1)
    words = [*command(str(landing), "--history", str(history))[:-1], "--watch"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        before = commits(history)
        bundle(tmp_path / "2", seed=2).rename(landing / "2.jsonl")
        until(lambda: commits(history) != before, "commit", LONG_S)
        os.killpg(process.pid, signal.SIGINT)
        rest, _ = process.communicate()

    assert first == rest == f"history  {history}   1 bundle added; 3 results\n"
    assert process.returncode == 0
    assert seeds(history) == [1, 2]
