"""A history read by others: DuckDB and deltalake, with nothing of this project."""

from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable
from history_fixture import bundle, with_lines
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.vacuum import vacuum

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

KINDS = {"result": 6, "run": 2, "grammar": 18, "quarantine": 2}
BY_KIND = "select kind, count(*) from rows group by all"
FAILED = """
    select r.seed, count(*) from rows c join rows r on c.bundle = r.bundle
    where c.kind = 'result' and c.verdict = 'pass' and r.kind = 'run' group by all order by all
"""


def test_others_read_a_history(spark: SparkSession, landing: Path, tmp_path: Path) -> None:
    """Before and after files were merged and removed, and at an older version."""
    history = tmp_path / "h"
    first = bundle(landing / "1.jsonl", seed=1)
    with_lines(first, first, b"no json")
    ingest(spark, [str(landing)], str(history))
    bundle(landing / "2.jsonl", seed=2)
    cut = bundle(landing / "cut.jsonl", seed=3)
    cut.write_bytes(cut.read_bytes()[:-400])
    ingest(spark, [str(landing)], str(history))

    older = DeltaTable(history, version=0).to_pyarrow_table(filters=[("kind", "=", "run")])
    assert older.column("seed").to_pylist() == ["1"]
    for _ in range(2):
        table = DeltaTable(history)
        with duckdb.connect() as duck:
            duck.register("rows", table.to_pyarrow_dataset())
            assert dict(duck.execute(BY_KIND).fetchall()) == KINDS
            assert duck.execute(FAILED).fetchall() == [("1", 3), ("2", 3)]
            files = [uri.removeprefix("file://") for uri in table.file_uris()]
            found = duck.read_parquet(files, hive_partitioning=True, union_by_name=True)
            assert dict(found.aggregate("kind, count(*)").fetchall()) == KINDS
        assert table.history()[0]["inCommitTimestamp"]
        vacuum(spark, str(history), keep_days=0)
