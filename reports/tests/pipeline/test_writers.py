"""Several writers of one history, killed ones among them: no batch is half in, none twice."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from history_fixture import bundle, versions
from late_writer import late_writer
from pyspark.sql import SparkSession
from spark_cluster import QUICK
from waits import LONG_S, Stopwatch, until
from writers import ELSEWHERE, as_another, commits, dead, left_behind, seeds

from wireproof_reports.pipeline import attempt as a
from wireproof_reports.pipeline import history as h
from wireproof_reports.pipeline import owner
from wireproof_reports.pipeline.columns import spark_schema, worker_columns
from wireproof_reports.pipeline.ingest import How, ingest
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.vacuum import unreachable, vacuum
from wireproof_reports.pipeline.worker import Batches, Work
from wireproof_spec.history import TABLES

KILLS = int(os.environ.get("WIREPROOF_INGEST_KILLS", "2"))
MOST_ARRIVING = 30

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> Path:
    ingest(spark, [str(bundle(tmp_path / "1.jsonl", seed=1))], str(tmp_path / "h"))
    return tmp_path / "h"


def test_what_a_killed_ingest_left_is_taken_back(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = versions(history)
    left_behind(spark, history, dead(), monkeypatch)
    assert versions(history) == before
    assert seeds(history) == [1]

    taken = ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert taken.bundles == 1
    assert seeds(history) == [1, 2]
    assert unreachable(spark, str(history), keep_days=0) == []


def test_the_first_ingest_may_be_the_killed_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lives longer than the next one thinks, and publishes only when that one has begun."""
    history = tmp_path / "h"
    empty = {name: spark.createDataFrame([], spark_schema(TABLES[name])) for name in TABLES}
    with monkeypatch.context() as patched:
        patched.setattr(a, "own_name", dead)
        with a.begin(spark, str(history)) as first:
            first.append("results", empty["results"], 0)
    publish = a.Attempt.publish

    def publish_after(attempt: a.Attempt, *given: object, **more: object) -> h.Published:
        with pytest.raises(a.Conflict):
            publish(first, empty["runs"])
        return publish(attempt, *given, **more)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(a.Attempt, "publish", publish_after)
    ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert seeds(history) == [2]
    assert h.read_published(spark, str(history)).count("runs") == 1


def test_a_history_whose_only_ingest_was_killed_is_empty(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = str(tmp_path / "h")
    with a.begin(spark, history) as attempt:
        attempt.restore()

    assert h.read_published(spark, history) == h.NOTHING
    assert ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], history).bundles == 1


def test_of_two_that_make_a_table_at_once_one_comes_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both begin with no table; each makes its rows only when the other has begun, too."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    schema = spark_schema(worker_columns("results"))
    outcomes: list[str] = []

    def append(number: int) -> None:
        attempt = a.Attempt(spark, str(tmp_path / "h"), h.NOTHING, "")
        rows = spark.range(1, numPartitions=1).mapInArrow(meet(meeting, number), schema)
        try:
            attempt.append("results", rows, 0)
        except a.Conflict as error:
            outcomes.append(str(error))
        else:
            outcomes.append("in")

    both = [threading.Thread(target=append, args=(number,)) for number in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()

    assert sorted(outcomes) == ["in", "results"]
    assert len(h.entries(spark, str(tmp_path / "h"), "results", 5)) == 1


def meet(meeting: Path, number: int) -> Work:
    """Return a worker's function that has no rows, and waits until another has been called."""

    def wait(_batches: Batches) -> Batches:
        (meeting / str(number)).touch()
        until(lambda: len(list(meeting.iterdir())) == 2, "other worker", LONG_S)
        yield from ()

    return wait


def test_an_ingest_waits_for_one_that_lives(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        name = owner.own_name().rsplit(" ", 2)[0]
        name = f"{name} {other.pid} {owner._start(other.pid)}"  # pyright: ignore
        left_behind(spark, history, name, monkeypatch)
        path = str(bundle(tmp_path / "2.jsonl", seed=2))
        with pytest.raises(HistoryFault, match=f"in use by another ingest .process {other.pid} "):
            ingest(spark, [path], str(history), how=How(wait_s=0.0))
        assert seeds(history) == [1]

        other.communicate(b"\n")
    assert ingest(spark, [path], str(history)).bundles == 1
    assert seeds(history) == [1, 2]


def test_of_another_machine_a_user_must_say_that_it_was_killed(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = left_behind(spark, history, ELSEWHERE, monkeypatch)
    path = str(bundle(tmp_path / "2.jsonl", seed=2))

    with pytest.raises(
        HistoryFault, match=r"process 7 on elsewhere at .* ingest` with --take-over"
    ):
        ingest(spark, [path], str(history))
    assert ingest(spark, [path], str(history), how=How(take_over=True)).bundles == 1

    runs = h.read_table(spark, str(history), "runs", slow.state).drop("batch")
    with pytest.raises(a.Conflict):
        slow.publish(runs, 1)
    assert seeds(history) == [1, 2]


def test_of_another_machine_it_is_taken_over_though_nothing_is_new(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(spark, history, ELSEWHERE, monkeypatch)

    taken = ingest(spark, [str(tmp_path / "1.jsonl")], str(history), how=How(take_over=True))

    assert (taken.bundles, taken.already) == (0, 1)
    assert vacuum(spark, str(history)).lost == ()
    assert seeds(history) == [1]


def test_who_has_only_undone_what_was_left_keeps_nobody_waiting(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = bundle(tmp_path / "2.jsonl", seed=2)
    cut.write_bytes(cut.read_bytes()[:-400])
    assert len(ingest(spark, [str(cut)], str(history)).refused) == 1
    left_behind(spark, history, dead(), monkeypatch)

    assert len(ingest(spark, [str(cut)], str(history)).refused) == 1

    with as_another(monkeypatch), a.begin(spark, str(history), wait_s=0.0):
        pass
    assert seeds(history) == [1]


def test_one_that_comes_between_is_noticed_and_the_batch_made_again(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_another(
        monkeypatch, lambda: left_behind(spark, history, dead(), monkeypatch), locked=True
    )
    taken = ingest(spark, [str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert taken.bundles == 1
    assert seeds(history) == [1, 2]


def test_a_bundle_that_another_ingest_took_meanwhile_is_left_out(
    spark: SparkSession, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(bundle(tmp_path / f"{seed}.jsonl", seed=seed)) for seed in (2, 3)]
    before_another(monkeypatch, lambda: ingest(spark, paths[:1], str(history)), locked=False)

    taken = ingest(spark, paths, str(history))

    assert (taken.bundles, taken.already, taken.results) == (1, 1, 3)
    assert seeds(history) == [1, 2, 3]


def before_another(
    monkeypatch: pytest.MonkeyPatch, come_between: Callable[[], object], *, locked: bool
) -> None:
    """Have somebody come between once: when the next ingest has the lock, or before."""
    begin = a.begin
    came: list[bool] = []

    @contextmanager
    def interrupted(*given: object, **more: object) -> Generator[a.Attempt]:
        if not came and not locked:
            came.append(True)
            come_between()
        with begin(*given, **more) as attempt:  # type: ignore[arg-type]  # as it was called
            if not came:
                came.append(True)
                come_between()
            yield attempt

    monkeypatch.setattr("wireproof_reports.pipeline.ingest.begin", interrupted)


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
