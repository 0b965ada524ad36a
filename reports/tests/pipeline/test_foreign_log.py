"""A log that is damaged or of somebody else, and one of a clock that jumped."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from history_fixture import bundle, rows, tree, version
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.session import in_words
from wireproof_reports.pipeline.table import read_state, read_state_as_of, read_view
from wireproof_reports.pipeline.vacuum import vacuum

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two batches; Spark keeps the state of each that it has opened."""
    folder = tmp_path_factory.mktemp("made")
    for seed in (1, 2):
        ingest(spark, [str(bundle(folder / f"{seed}.jsonl", seed=seed))], str(folder / "h"))
    return folder / "h"


@pytest.fixture
def history(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "h")
    return tmp_path / "h"


def commit(history: Path, number: int) -> Path:
    return history / "_delta_log" / f"{number:020}.json"


def cut(history: Path) -> None:
    commit(history, 1).write_bytes(commit(history, 1).read_bytes()[:-100])


def lose_a_checkpoint(history: Path) -> None:
    """The log begins after a checkpoint that is not there."""
    commit(history, 0).unlink()
    last = {"version": 0, "size": 9}
    (history / "_delta_log" / "_last_checkpoint").write_text(json.dumps(last))


def need_newer(history: Path, **protocol: object) -> None:
    """Add a commit by which the table needs a newer Delta."""
    info = {"timestamp": 1, "inCommitTimestamp": LATE_MS, "operation": "UPGRADE PROTOCOL"}
    lines = [{"commitInfo": {**info, "operationParameters": {}}}, {"protocol": protocol}]
    commit(history, 2).write_text("".join(json.dumps(line) + "\n" for line in lines))


def have_other_columns(history: Path) -> None:
    shutil.rmtree(history)
    write_deltalake(history, pa.table({"name": pa.array(["mine"])}))


LATE_MS = 4_000_000_000_000
DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut, r"(?i)json|damaged"),
    "checkpoint": (lose_a_checkpoint, r"DELTA_"),
    "columns": (have_other_columns, r"is no history: no commit of its Delta table is one of"),
    "protocol": (
        lambda history: need_newer(
            history, minReaderVersion=99, minWriterVersion=99, readerFeatures=[], writerFeatures=[]
        ),
        r"DELTA_INVALID_PROTOCOL_VERSION",
    ),
    "feature": (
        lambda history: need_newer(
            history,
            minReaderVersion=3,
            minWriterVersion=7,
            readerFeatures=["ofTomorrow"],
            writerFeatures=["ofTomorrow"],
        ),
        r"DELTA_UNSUPPORTED_FEATURES_FOR_READ.*ofTomorrow",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_log_that_cannot_be_read_is_one_sentence_and_stays_as_it_is(
    spark: SparkSession, history: Path, tmp_path: Path, kind: str
) -> None:
    damage, words = DAMAGE[kind]
    damage(history)
    before = tree(history / "_delta_log")
    path = str(bundle(tmp_path / "3.jsonl", seed=3))

    for ask in (
        lambda: ingest(spark, [path], str(history)),
        lambda: read_view(spark, str(history), "runs", read_state(spark, str(history))).count(),
    ):
        with pytest.raises((HistoryFault, SparkFault), match=words) as fault, in_words(tmp_path):
            ask()
        assert "\n" not in str(fault.value)

    assert tree(history / "_delta_log") == before


def jump(history: Path, number: int, to: datetime) -> None:
    """Have a commit made when the clock showed another time."""
    lines = [json.loads(line) for line in commit(history, number).read_bytes().splitlines()]
    ms = int(to.timestamp() * 1000)
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"] |= {"inCommitTimestamp": ms, "timestamp": ms}
    commit(history, number).write_text("".join(json.dumps(line) + "\n" for line in lines))
    for checksum in (history / "_delta_log").glob("*.crc"):
        checksum.unlink()


def test_states_are_told_apart_and_vacuumed_though_the_clock_went_forward_and_back(
    spark: SparkSession, history: Path, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    jump(history, 1, now + timedelta(days=3_650))

    ingest(spark, [str(bundle(tmp_path / "3.jsonl", seed=3))], str(history))

    states = [read_state_as_of(spark, str(history), str(number)) for number in range(3)]
    assert [state.version for state in states] == [0, 1, 2]
    times = [state.when for state in states if state.when is not None]
    assert times == sorted(set(times))
    today = read_state_as_of(spark, str(history), (now + timedelta(days=1)).isoformat())
    assert today == states[0]
    assert read_state_as_of(spark, str(history), "9999-12-31") == states[2]
    assert read_state(spark, str(history)) == states[2]

    kept = vacuum(spark, str(history), keep_days=30)
    counts = [read_view(spark, str(history), "runs", state).count() for state in states]
    done = vacuum(spark, str(history), keep_days=0)

    assert (kept.oldest, counts) == (0, [1, 2, 3])
    assert [number for number, _ in done.lost] == [2, 1, 0]
    with pytest.raises(HistoryFault, match="vacuum removed files of version 0; the oldest"):
        read_state_as_of(spark, str(history), "0")
    assert version(history) == done.newest
    assert len(rows(history, "runs")) == 3
