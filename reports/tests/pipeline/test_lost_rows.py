"""Rows that Spark loses between a bundle and its batch: they are noticed, and nothing stays."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from history_fixture import bundle, rows, version
from pyspark.sql import DataFrame, SparkSession

from wireproof_reports.pipeline.bundles.incoming import TargetNaming
from wireproof_reports.pipeline.bundles.worker import Batches, Work, make_reader
from wireproof_reports.pipeline.commit import add_rows
from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.place import HistoryFault

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def read_first(
    naming: TargetNaming, expected: Mapping[str, str], *outcomes: Any, **how: Any
) -> Work:
    """Return a reader that passes over all bundles but one, as a fault of Spark would have it."""
    return make_reader(naming, dict(list(expected.items())[:1]), *outcomes, **how)


def lose_a_row(
    naming: TargetNaming, expected: Mapping[str, str], *outcomes: Any, **how: Any
) -> Work:
    """Return a reader after which a row is lost."""

    def read(batches: Batches) -> Batches:
        for batch in make_reader(naming, expected, *outcomes, **how)(batches):
            yield pa.RecordBatch.from_pylist(batch.to_pylist()[1:], batch.schema)

    return read


@pytest.mark.spark
@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (read_first, "Spark read 13 rows of 1 bundles and kept 13 where 2 bundles were to be"),
        (lose_a_row, "Spark read 26 rows of 2 bundles and kept 2[45] where 2 bundles"),
    ],
)
@pytest.mark.parametrize("before", [0, 1])
def test_rows_that_spark_loses_are_noticed_before_anything_is_added(
    spark: SparkSession,
    landing: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reader: Callable[..., Work],
    words: str,
    before: int,
) -> None:
    history = tmp_path / "h"
    for seed in range(7, 7 + before):
        ingest(spark, [str(bundle(tmp_path / "b.jsonl", seed=seed))], str(history))
    for seed in range(2):
        bundle(landing / f"{seed}.jsonl", seed=seed)
    with monkeypatch.context() as patched:
        patched.setattr("wireproof_reports.pipeline.ingest.make_reader", reader)
        with pytest.raises(HistoryFault, match=f"{words}.*nothing of this batch was added"):
            ingest(spark, [str(landing)], str(history))

    assert version(history) == before - 1
    assert len(rows(history, "runs")) == before
    assert len(rows(history, "results")) == 3 * before
    assert ingest(spark, [str(landing)], str(history)).bundles == 2
    assert len(rows(history, "results")) == 3 * (before + 2)


@pytest.mark.spark
@pytest.mark.parametrize("before", [0, 1])
def test_rows_that_are_lost_when_they_are_written_are_noticed_and_the_batch_is_taken_back(
    spark: SparkSession,
    landing: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
) -> None:
    history = tmp_path / "h"
    for seed in range(7, 7 + before):
        ingest(spark, [str(bundle(tmp_path / "b.jsonl", seed=seed))], str(history))
    path = str(bundle(landing / "1.jsonl"))

    def lose(own: Any, history: str, state: Any, rows: DataFrame, note: Any) -> int:
        return add_rows(own, history, state, rows.limit(rows.count() - 1), note)

    with monkeypatch.context() as patched:
        patched.setattr("wireproof_reports.pipeline.ingest.add_rows", lose)
        with pytest.raises(HistoryFault, match=r"wrote 12 rows of 13; the batch was taken back"):
            ingest(spark, [path], str(history))

    assert len(rows(history, "runs")) == before
    assert ingest(spark, [path], str(history)).bundles == 1
    assert len(rows(history, "results")) == 3 * (before + 1)
