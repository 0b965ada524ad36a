"""Histories of older versions made ones of this: with nothing lost, or not at all."""

import json
import re
import tarfile
from datetime import date
from pathlib import Path

import msgspec
import pytest
from deltalake import DeltaTable
from history_fixture import bundle, rows, versions, with_lines
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.migrate import OLD_VERSION, migrate, read_old
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_spec.history import TABLES

REAL = Path(__file__).parents[1] / "fixtures" / "old_history.tar.xz"
"""Two bundles, one with a line that is no record and one without a day, as the last version
before Delta's tables (90d435e) took them in."""

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def test_a_history_that_an_older_version_wrote_is_migrated(
    spark: SparkSession, tmp_path: Path
) -> None:
    with tarfile.open(REAL) as packed:
        packed.extractall(tmp_path / "old", filter="data")

    told = migrate(spark, tmp_path / "old", str(tmp_path / "new"))

    counts = {table: many for table, many in told.items() if many}
    assert counts == {"results": 6, "runs": 2, "grammar": 18, "quarantine": 1}
    assert {table: len(rows(tmp_path / "new", table)) for table in counts} == counts
    runs = {row["seed"]: (row["day"], row["vendor"]) for row in rows(tmp_path / "new", "runs")}
    assert runs == {"2": (date(2026, 11, 22), "nsqd"), "3": (None, "nsqd")}
    cases = {
        (row["case"], row["verdict"], row["role"]) for row in rows(tmp_path / "new", "results")
    }
    names = ("layout/plain", "layout/long", "attempts/plain")
    assert cases == {(f"nsq/consume/{name}", "pass", "broker") for name in names}
    (bad,) = rows(tmp_path / "new", "quarantine")
    assert (bad["file"], bad["line"], bad["record"]) == ("2.jsonl", 5, b"no json\n")


LATER_COLUMNS = {
    table: [column.name for column in columns if column.since > OLD_VERSION]
    for table, columns in TABLES.items()
}


def make_old(spark: SparkSession, history: Path, old: Path) -> dict[str, int]:
    """Write what an older version would have left: Parquet files, and one that names them."""
    parts: list[dict[str, object]] = []
    for table in versions(history):
        frame = spark.createDataFrame(DeltaTable(history / table).to_pyarrow_table())
        kept = frame.drop(*LATER_COLUMNS[table]).coalesce(1)
        kept.write.partitionBy("protocol", "day").parquet(str(old / table))
        for path in sorted((old / table).rglob("*.parquet")):
            protocol, day = (word.partition("=")[2] for word in path.parts[-3:-1])
            count = spark.read.parquet(str(path)).count()
            part = {"table": table, "protocol": protocol, "day": day, "name": path.name}
            parts.append({**part, "rows": count, "size_bytes": 1})
    manifest = {"history": "wireproof", "format": 1, "version": 2, "kit": "0.1.0", "parts": parts}
    (old / "history.json").write_text(json.dumps(manifest))
    return {table: len(rows(history, table)) for table in versions(history)}


def plain(history: Path, table: str, left_out: set[str]) -> list[str]:
    """Return the rows of a table as sorted texts, without some columns."""
    return sorted(
        str([(name, row[name]) for name in sorted(row) if name not in left_out])
        for row in rows(history, table)
    )


def test_an_old_history_is_migrated_with_nothing_lost(
    spark: SparkSession, landing: Path, tmp_path: Path
) -> None:
    for seed, started in enumerate(("2026-11-21T09:00:00Z", "2026-11-22T09:00:00Z", "")):
        path = bundle(landing / f"{seed}.jsonl", seed=seed, started=started)
        with_lines(path, path, b"no json")
    made = tmp_path / "made"
    ingest(spark, [str(landing)], str(made))
    counts = make_old(spark, made, tmp_path / "old")

    told = migrate(spark, tmp_path / "old", str(tmp_path / "new"), kit="9")

    assert {table: rows for table, rows in told.items() if rows} == counts
    for table in counts:
        later = set(LATER_COLUMNS[table]) - {"role"}
        assert plain(tmp_path / "new", table, later) == plain(made, table, later)
        new = rows(tmp_path / "new", table)
        assert {row[name] for row in new for name in later - {"batch"}} <= {None}
    again = ingest(spark, [str(landing)], str(tmp_path / "new"))
    assert (again.bundles, again.already) == (0, 3)


@pytest.mark.parametrize("is_missing", [True, False], ids=["a file", "a row"])
def test_an_old_history_with_something_missing_is_not_migrated(
    spark: SparkSession, landing: Path, tmp_path: Path, *, is_missing: bool
) -> None:
    made = tmp_path / "made"
    ingest(spark, [str(bundle(landing / "b.jsonl"))], str(made))
    make_old(spark, made, tmp_path / "old")
    manifest = json.loads((tmp_path / "old" / "history.json").read_text())
    for part in manifest["parts"]:
        part["rows"] += 1
    (tmp_path / "old" / "history.json").write_bytes(msgspec.json.encode(manifest))
    words = "says that results has 4 rows, its files have 3; nothing was written"
    if is_missing:
        place = read_old(tmp_path / "old").parts[-1].place
        (tmp_path / "old" / place).unlink()
        words = f"names {re.escape(place)}, which is missing; nothing was written"

    with pytest.raises(HistoryFault, match=words):
        migrate(spark, tmp_path / "old", str(tmp_path / "new"))

    assert not list((tmp_path / "new").rglob("*.parquet"))
