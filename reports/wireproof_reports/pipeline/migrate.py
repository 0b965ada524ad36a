"""A history of an older version, six Delta tables or Parquet files, copied into one of this."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault, law_of
from wireproof_reports.pipeline.bundles.landing import escape
from wireproof_reports.pipeline.columns import BATCH, SPARK, view_schema
from wireproof_reports.pipeline.commit import add_rows, own_session, undo
from wireproof_reports.pipeline.lock import writer_lock
from wireproof_reports.pipeline.place import OLD_INDEX, OLD_TABLES, HistoryFault, root_of
from wireproof_reports.pipeline.session import run_sql
from wireproof_reports.pipeline.table import ADDED, Note, quote_table, read_state
from wireproof_spec.history import KINDS, VIEWS

OLD_FORMAT, OLD_VERSION = 1, 2
WAIT_S = 600.0
_NO_DAY = "__HIVE_DEFAULT_PARTITION__"
_LAW = "protocol string, clause string, role string"


class OldPart(msgspec.Struct, frozen=True):
    """A Parquet file of a history in the oldest format, by its table, and its number of rows."""

    table: str
    protocol: str
    day: str
    name: str
    rows: int

    @property
    def place(self) -> str:
        """The path of the file below the history's folder."""
        return f"{self.table}/protocol={self.protocol}/day={self.day or _NO_DAY}/{self.name}"


class OldIndex(msgspec.Struct, frozen=True):
    """The index of a history in the oldest format: all its Parquet files."""

    history: str = ""
    format: int = 0
    version: int = 0
    parts: tuple[OldPart, ...] = ()

    def of(self, table: str) -> list[OldPart]:
        """Return the files of one table."""
        return [part for part in self.parts if part.table == table]


class Publication(msgspec.Struct, frozen=True):
    """The metadata of a commit of the old table ``runs``: versions and rows of all tables."""

    batch: int = 0
    versions: dict[str, int] = {}
    rows: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Old:
    """An old history: its rows by view, how many they must be, and the number of its batches."""

    frames: Mapping[str, DataFrame]
    counts: Mapping[str, int]
    batches: int


def migrate(spark: SparkSession, folder: Path, history: str, *, kit: str = "") -> dict[str, int]:
    """Copy all rows of an old history into a new one; return the number of rows by view.

    Raises:
        HistoryFault: the new history is not empty, or a count differs; nothing is written then.
        Conflict: another writer came between.
    """
    own = own_session(spark)
    is_index = (folder / OLD_INDEX).is_file()
    old = _read_files(own, folder) if is_index else _read_tables(own, folder)
    if not old.frames:
        raise HistoryFault(f"{folder} has no rows; there is nothing to convert")
    for view, frame in old.frames.items():
        if (found := frame.count()) != old.counts[view]:
            raise HistoryFault(
                f"{folder}: its index says that {view} has {old.counts[view]} rows, its files "
                f"have {found}; nothing was written; restore the old history from a copy"
            )
    rows = reduce(DataFrame.unionByName, (_flat(v, frame) for v, frame in old.frames.items()))
    note = Note(ADDED, kit=kit, batch=old.batches)
    with writer_lock(own, history, WAIT_S):
        state = read_state(own, history)
        if state.version >= 0:
            raise HistoryFault(
                f"{history} is not empty; migrate into a folder that does not exist"
            )
        written, total = add_rows(own, history, state, rows, note), sum(old.counts.values())
        if written != total:
            batches = range(1, note.batch + 1)
            undo(own, history, batches, f"Spark wrote {written} rows of {total}")
    return dict(old.counts)


def _flat(view: str, frame: DataFrame) -> DataFrame:
    """Return rows of a view with all columns of the table."""
    there = {*frame.columns, BATCH}
    own = {column.name for column in VIEWS[view]} | {"protocol", "day"}
    columns = [
        F.col(name.name)
        if name.name in there & own
        else F.lit(KINDS[view] if name.name == "kind" else None)
        .cast(name.dataType)
        .alias(name.name)
        for name in SPARK
    ]
    return frame.select(*columns, BATCH)


def _read_tables(spark: SparkSession, folder: Path) -> Old:
    """Return the newest published state of six Delta tables, without what killed ingests left.

    Raises:
        HistoryFault: the tables were never published.
    """
    root = f"{root_of(str(folder))}"
    described = run_sql(spark, f"DESCRIBE HISTORY {quote_table(str(folder), OLD_TABLES)}")
    commits = described.select("version", "userMetadata").collect()
    published = ((row[0], note) for row in commits if (note := _publication(row[1])).versions)
    version, note = next(published, (-1, Publication()))
    if version < 0:
        raise HistoryFault(f"{folder} is no old history: no commit of its table runs is published")
    frames: dict[str, DataFrame] = {}
    for view, at in {**note.versions, OLD_TABLES: version}.items():
        reader = spark.read.format("delta").option("versionAsOf", str(at))
        rows = reader.load(f"{root}/{view}")
        batch = F.col(BATCH) if BATCH in rows.columns else F.lit(None)
        first = F.coalesce(batch, F.lit(1)).cast("long")
        frames[view] = rows.withColumn(BATCH, first)
    counts = {view: note.rows.get(view, 0) for view in VIEWS}
    return Old(frames, counts, max(1, note.batch))


def _publication(text: str | None) -> Publication:
    try:
        return msgspec.json.decode(text or "", type=Publication)
    except msgspec.DecodeError:
        return Publication()


def read_index(folder: Path) -> OldIndex:
    """Read the index of a history in the oldest format.

    Raises:
        HistoryFault: the index is missing or damaged, or a newer version wrote it.
    """
    try:
        old = msgspec.json.decode((folder / OLD_INDEX).read_bytes(), type=OldIndex)
    except OSError as error:
        raise HistoryFault(
            f"{folder} is no old history: its {OLD_INDEX} cannot be read ({error.strerror})"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryFault(f"{folder}: {OLD_INDEX} is damaged: {error}") from error
    if old.history != "wireproof":
        raise HistoryFault(f"{folder} is no old history: its {OLD_INDEX} is not wireproof's")
    if old.format != OLD_FORMAT or old.version > OLD_VERSION:
        raise HistoryFault(
            f"{folder}: expected in {OLD_INDEX} history format {OLD_FORMAT} and table version "
            f"{OLD_VERSION} or older, found {old.format} and {old.version}"
        )
    for part in old.parts:
        file = folder / part.place
        if not file.exists():
            raise HistoryFault(
                f"{folder}: {OLD_INDEX} names {part.place}, which is missing; nothing was "
                "written; restore the old history from a copy"
            )
        if not file.resolve().is_relative_to(folder.resolve()):
            raise HistoryFault(
                f"{folder}: {OLD_INDEX} names {part.place}, which is outside of the history; "
                "nothing was written"
            )
    return old


def _read_files(spark: SparkSession, folder: Path) -> Old:
    """Return the rows of Parquet files that an index names."""
    index = read_index(folder)
    frames = {
        view: _read_parquet(spark, folder, index, view).withColumn(BATCH, F.lit(1).cast("long"))
        for view in VIEWS
        if index.of(view)
    }
    counts = {view: sum(part.rows for part in index.of(view)) for view in VIEWS}
    return Old(frames, counts, 1)


def _read_parquet(spark: SparkSession, folder: Path, index: OldIndex, view: str) -> DataFrame:
    """Return a view's rows with the columns of this version, the clauses' roles included."""
    root = root_of(str(folder))
    places = [escape(f"{root}/{part.place}") for part in index.of(view)]
    reader = spark.read.schema(view_schema(view)).option("basePath", f"{root}/{view}")
    rows = reader.parquet(*places)
    if view != "results":
        return rows
    law = spark.createDataFrame(list(_law(index)), _LAW)
    return rows.drop("role").join(F.broadcast(law), ["protocol", "clause"], "left")


def _law(index: OldIndex) -> Iterator[tuple[str, str, str]]:
    for protocol in sorted({part.protocol for part in index.of("results")}):
        try:
            catalogue = law_of("the history", protocol)
        except BundleFault:
            continue
        for clause in catalogue.clauses():
            yield protocol, clause.id, clause.role
