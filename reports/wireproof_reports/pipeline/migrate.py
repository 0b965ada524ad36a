"""A history of an older version, Parquet files that ``history.json`` names, made one of this."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault, law_of
from wireproof_reports.pipeline.attempt import Attempt, begin
from wireproof_reports.pipeline.columns import spark_schema, worker_columns
from wireproof_reports.pipeline.landing import escape
from wireproof_reports.pipeline.place import OLD, HistoryFault, root_of
from wireproof_spec.history import FIRST, LAST, PARTITIONS, TABLES

OLD_FORMAT, OLD_VERSION = 1, 2
_NO_DAY = "__HIVE_DEFAULT_PARTITION__"
_LAW = "protocol string, clause string, role string"


class OldPart(msgspec.Struct, frozen=True):
    """A Parquet file of a history in the old format: its table, its name, its number of rows."""

    table: str
    protocol: str
    day: str
    name: str
    rows: int

    @property
    def place(self) -> str:
        """The path of the file below the history's folder."""
        protocol, day = PARTITIONS
        return f"{self.table}/{protocol}={self.protocol}/{day}={self.day or _NO_DAY}/{self.name}"


class Old(msgspec.Struct, frozen=True):
    """The index of a history in the old format: all its Parquet files."""

    history: str = ""
    format: int = 0
    version: int = 0
    kit: str = ""
    parts: tuple[OldPart, ...] = ()

    def of(self, table: str) -> list[OldPart]:
        """Return the files of one table."""
        return [part for part in self.parts if part.table == table]

    def count(self, table: str) -> int:
        """Return the number of rows of one table."""
        return sum(part.rows for part in self.of(table))


def read_old(folder: Path) -> Old:
    """Read the index of a history in the old format.

    Raises:
        HistoryFault: the history is missing or damaged, or a newer version wrote it.
    """
    try:
        old = msgspec.json.decode((folder / OLD).read_bytes(), type=Old)
    except OSError as error:
        raise HistoryFault(
            f"{folder} is no old history: its {OLD} cannot be read ({error.strerror})"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryFault(f"{folder}: {OLD} is damaged: {error}") from error
    if old.history != "wireproof":
        raise HistoryFault(f"{folder} is no old history: its {OLD} is not wireproof's")
    if old.format != OLD_FORMAT or old.version > OLD_VERSION:
        raise HistoryFault(
            f"{folder}: expected in {OLD} history format {OLD_FORMAT} and table version "
            f"{OLD_VERSION} or older, found {old.format} and {old.version}"
        )
    return old


def migrate(spark: SparkSession, folder: Path, history: str, *, kit: str = "") -> dict[str, int]:
    """Copy all rows of an old history into a new one; return the number of rows by table.

    Raises:
        HistoryFault: the new history is not empty, or a count differs; nothing is published then.
        Conflict: another writer came between.
    """
    old = read_old(folder)
    with begin(spark, history, kit=kit) as attempt:
        return _write(attempt, folder, old)


def _write(attempt: Attempt, folder: Path, old: Old) -> dict[str, int]:
    if attempt.state.version >= 0:
        raise HistoryFault(
            f"{attempt.history} is not empty; migrate into a folder that does not exist"
        )
    for part in old.parts:
        if not (folder / part.place).exists():
            raise HistoryFault(
                f"{folder}: {OLD} names {part.place}, which is missing; nothing was written; "
                "restore the old history from a copy"
            )
    counts = {table: old.count(table) for table in TABLES}
    frames = {table: _rows(attempt.spark, folder, old, table) for table in TABLES}
    for table, frame in frames.items():
        if (found := frame.count()) != counts[table]:
            raise HistoryFault(
                f"{folder}: {OLD} says that {table} has {counts[table]} rows, its files have "
                f"{found}; nothing was written; restore the old history from a copy"
            )
    for table, frame in frames.items():
        if table != LAST and (counts[table] or table == FIRST):
            attempt.append(table, frame, counts[table])
    attempt.publish(frames[LAST], counts[LAST])
    return counts


def _rows(spark: SparkSession, folder: Path, old: Old, table: str) -> DataFrame:
    """Return a table's rows with the columns of this version, the clauses' roles included."""
    schema = spark_schema(worker_columns(table))
    root = root_of(str(folder))
    places = [escape(f"{root}/{part.place}") for part in old.of(table)]
    if not places:
        return spark.createDataFrame([], schema)
    rows = spark.read.schema(schema).option("basePath", f"{root}/{table}").parquet(*places)
    if table != "results":
        return rows
    law = spark.createDataFrame(list(_law(old)), _LAW)
    joined = rows.drop("role").join(F.broadcast(law), ["protocol", "clause"], "left")
    return joined.select(*schema.fieldNames())


def _law(old: Old) -> Iterator[tuple[str, str, str]]:
    for protocol in sorted({part.protocol for part in old.of("results")}):
        try:
            catalogue = law_of("the history", protocol)
        except BundleFault:
            continue
        for clause in catalogue.clauses():
            yield protocol, clause.id, clause.role
