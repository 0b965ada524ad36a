"""Histories of older versions made ones of this: with nothing lost, or not at all."""

import json
import re
import tarfile
from datetime import date
from pathlib import Path

import msgspec
import pytest
from history_fixture import bundle, rows, tree, version, with_lines
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.migrate import OLD_VERSION, migrate, read_index
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.table import read_state, read_view
from wireproof_spec.history import VIEWS

OLDER = Path(__file__).parents[1] / "fixtures" / "old_history.tar.xz"
"""Two bundles, one with a line that is no record and one without a day, as the last version
before Delta's tables (90d435e) took them in."""
SIX_TABLES = Path(__file__).parents[1] / "fixtures" / "six_tables.tar.xz"
"""Two such bundles and a refused one in two batches, as the last version with six tables (e06a77c)
took them in, and the rows of a third batch, of which an ingest was killed."""

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a history; return its folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "history" if archive == SIX_TABLES else folder


@pytest.mark.parametrize(("archive", "quarantined"), [(OLDER, 1), (SIX_TABLES, 2)])
def test_a_history_that_an_older_version_wrote_is_migrated(
    spark: SparkSession, tmp_path: Path, archive: Path, quarantined: int
) -> None:
    old = unpack(archive, tmp_path / "old")
    before = tree(old)

    told = migrate(spark, old, str(tmp_path / "new"))

    counts = {view: many for view, many in told.items() if many}
    assert counts == {"results": 6, "runs": 2, "grammar": 18, "quarantine": quarantined}
    assert {view: len(rows(tmp_path / "new", view)) for view in counts} == counts
    runs = {row["seed"]: (row["day"], row["vendor"]) for row in rows(tmp_path / "new", "runs")}
    assert runs == {"2": (date(2026, 11, 22), "nsqd"), "3": (None, "nsqd")}
    cases = {
        (row["case"], row["verdict"], row["role"]) for row in rows(tmp_path / "new", "results")
    }
    names = ("layout/plain", "layout/long", "attempts/plain")
    assert cases == {(f"nsq/consume/{name}", "pass", "broker") for name in names}
    bad = [row for row in rows(tmp_path / "new", "quarantine") if row["line"]]
    assert [(row["file"], row["record"]) for row in bad] == [("2.jsonl", b"no json\n")]
    assert tree(old) == before


def test_a_migrated_history_is_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    """Its batches keep their numbers, by which aggregates know what they have counted."""
    migrate(spark, unpack(SIX_TABLES, tmp_path / "old"), str(tmp_path / "new"), kit="9")

    taken = ingest(spark, [str(bundle(tmp_path / "b.jsonl", seed=7))], str(tmp_path / "new"))

    assert taken.bundles == 1
    assert sorted(str(row["batch"]) for row in rows(tmp_path / "new", "runs")) == ["1", "2", "3"]
    assert version(tmp_path / "new") == 1


LATER_COLUMNS = {
    view: [column.name for column in columns if column.since > OLD_VERSION]
    for view, columns in VIEWS.items()
}


def make_old(spark: SparkSession, history: Path, old: Path) -> dict[str, int]:
    """Write what an older version would have left: Parquet files, and one that names them."""
    parts: list[dict[str, object]] = []
    state = read_state(spark, str(history))
    views = [view for view in VIEWS if rows(history, view)]
    for table in views:
        frame = read_view(spark, str(history), table, state)
        kept = frame.drop(*LATER_COLUMNS[table]).coalesce(1)
        kept.write.partitionBy("protocol", "day").parquet(str(old / table))
        for path in sorted((old / table).rglob("*.parquet")):
            protocol, day = (word.partition("=")[2] for word in path.parts[-3:-1])
            count = spark.read.parquet(str(path)).count()
            part = {"table": table, "protocol": protocol, "day": day, "name": path.name}
            parts.append({**part, "rows": count, "size_bytes": 1})
    manifest = {"history": "wireproof", "format": 1, "version": 2, "kit": "0.1.0", "parts": parts}
    (old / "history.json").write_text(json.dumps(manifest))
    return {view: len(rows(history, view)) for view in views}


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
    words = "its index says that results has 4 rows, its files have 3; nothing was written"
    if is_missing:
        place = read_index(tmp_path / "old").parts[-1].place
        (tmp_path / "old" / place).unlink()
        words = f"names {re.escape(place)}, which is missing; nothing was written"

    with pytest.raises(HistoryFault, match=words):
        migrate(spark, tmp_path / "old", str(tmp_path / "new"))

    assert not list((tmp_path / "new").rglob("*.parquet"))
