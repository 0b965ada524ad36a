"""A history as a whole: Delta tables, and the commit of ``runs`` that names their versions.

A batch is written to ``results`` first, then to the other tables that it has rows for, and to
``runs`` last, one commit each. The last commit carries a publication: the version of every table
that belongs to it. Readers open the tables at these versions, so that a batch is there as a whole
or not at all, and a reader never sees half of one, whatever is written meanwhile.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from datetime import time as day_time

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.columns import spark_schema
from wireproof_reports.pipeline.place import MOST_KEEP_DAYS, HistoryFault, root_of
from wireproof_reports.pipeline.session import run_sql
from wireproof_spec.history import FORMAT, LAST, TABLES, VERSION

MOST_LOOKED_AT = 200
"""Commits looked through at first: claims and fences lie between two publications."""
ALL = 1_000_000
"""More commits than any table has."""
KEEP_LOG = {"delta.logRetentionDuration": f"interval {MOST_KEEP_DAYS} days"}
"""A property of new tables: what their commits say is read long after; Delta keeps it a month."""
NO_TABLE = -1
"""The version before a table's first commit, which writes rows and makes the table."""
_SKIPPING = {
    "results": "bundle,vendor,version,started,batch,deviation",
    "quarantine": "bundle,batch,line",
}
"""Columns whose least and greatest values Delta keeps by file; by itself it takes the first 32,
which costs time for texts that nobody looks for. Statistics of ten columns were an eighth of what
writing cost; every file has all of a run's cases, clauses, levels and verdicts, so that theirs
would skip none."""


STATS_COLUMNS = "delta.dataSkippingStatsColumns"


def stats_columns(table: str) -> str:
    """Return a table property: the columns by whose statistics files can be skipped."""
    return _SKIPPING.get(table, "bundle,batch")


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of a commit: who wrote it and, if it publishes, the versions of all tables."""

    wireproof: str
    attempt: int = 0
    owner: str = ""
    format: int = FORMAT
    tables: int = VERSION
    kit: str = ""
    batch: int = 0
    versions: dict[str, int] = {}
    rows: dict[str, int] = {}
    oldest: int = 0


PUBLISHED, CLAIMED, FENCED = "published", "claimed", "fenced"


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of a Delta table: version, time, and the note of its writer."""

    version: int
    when: datetime
    operation: str
    note: Note | None
    removed: int
    written: int


@dataclass(frozen=True, slots=True)
class Published:
    """A published state of a history: one version of each table, which readers see together.

    Version -1 of ``runs`` stands for an empty history. The time is that of the attempt: Delta
    tells that of a file, which a copy of the history changes.
    """

    version: int = -1
    when: datetime | None = None
    note: Note = field(default_factory=lambda: Note(PUBLISHED))

    @classmethod
    def of(cls, version: int, when: datetime, note: Note) -> "Published":
        """Return the state that a commit published."""
        attempted = datetime.fromtimestamp(note.attempt / 1000, UTC) if note.attempt else when
        return cls(version, attempted, note)

    def count(self, table: str) -> int:
        """Return the number of rows of a table in this state."""
        return self.note.rows.get(table, 0)

    def version_of(self, table: str) -> int | None:
        """Return the version of a table in this state; None if the state lacks the table."""
        return self.version if table == LAST else self.note.versions.get(table)


NOTHING = Published()


def path_of(history: str, table: str) -> str:
    """Return the URL of a table of a history."""
    return f"{root_of(history)}/{table}"


def quote_table(history: str, table: str) -> str:
    """Return the name of a history's table as SQL writes it."""
    return f"delta.`{path_of(history, table).replace('`', '``')}`"


def entries(spark: SparkSession, history: str, table: str, most: int) -> list[Entry]:
    """Return the last commits of a table, newest first; empty if the table does not exist."""
    try:
        rows = run_sql(
            spark, f"DESCRIBE HISTORY {quote_table(history, table)} LIMIT {most}"
        ).collect()
    except PySparkException as error:
        if is_missing(error):
            return []
        raise
    return [_entry(row) for row in rows]


_MISSING = (
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",
)


def is_missing(error: PySparkException) -> bool:
    """Return True if an error of Spark says that a table does not exist."""
    return any(name in str(error) for name in _MISSING)


_CAME_BETWEEN = re.compile(r"\[DELTA_(CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED)")
"""Delta's errors when two make the same table at once; two appends do not hinder each other."""


def came_between(error: Exception) -> bool:
    """Return True if an error of Spark says that another writer made the table meanwhile."""
    return _CAME_BETWEEN.search(str(error)) is not None


def publications(spark: SparkSession, history: str, most: int = MOST_LOOKED_AT) -> list[Published]:
    """Return the published states of a history, newest first.

    Raises:
        HistoryFault: a newer version wrote the history.
    """
    return _publications(history, entries(spark, history, LAST, most))


def _publications(history: str, commits: Sequence[Entry]) -> list[Published]:
    found = [
        Published.of(entry.version, entry.when, entry.note)
        for entry in commits
        if entry.note is not None and entry.note.wireproof == PUBLISHED
    ]
    if found:
        _refuse_newer(history, found[0].note)
    return found


def read_published(spark: SparkSession, history: str) -> Published:
    """Return the newest published state of a history.

    Raises:
        HistoryFault: a newer version wrote the history, or it is not wireproof's.
    """
    for most in (1, MOST_LOOKED_AT, ALL):
        commits = entries(spark, history, LAST, most)
        if not commits:
            return NOTHING
        found = _publications(history, commits)
        if found:
            return found[0]
    notes = [entry.note.wireproof if entry.note is not None else "" for entry in commits]
    if commits[-1].version == 0 and set(notes) == {FENCED}:
        return NOTHING  # all that the history ever had was killed before it was published
    raise HistoryFault(
        f"{history} is no history: no commit of its table {LAST} is a publication of wireproof; "
        "name the folder or URL that `wireproof ingest` wrote to"
    )


def read_published_as_of(spark: SparkSession, history: str, wanted: str) -> Published:
    """Return an older published state: by version of ``runs``, or the last of a day or moment.

    Raises:
        HistoryFault: no such state exists, vacuum removed its files, or the text is invalid.
    """
    found = publications(spark, history, ALL)
    if wanted.isdigit():
        chosen = next((one for one in found if one.version <= int(wanted)), None)
        if found and int(wanted) > found[0].version:
            raise HistoryFault(
                f"--as-of {wanted}: the newest version of {history} is {found[0].version}"
            )
    else:
        end = _end_of(wanted)
        chosen = next((one for one in found if one.when is not None and one.when <= end), None)
    if chosen is None:
        if not found:
            raise HistoryFault(
                f"--as-of {wanted}: {history} has no version yet; "
                "add bundles with `wireproof ingest`"
            )
        since = f", of {found[-1].when:%Y-%m-%dT%H:%M:%SZ}" if found[-1].when else ""
        raise HistoryFault(
            f"--as-of {wanted}: the first version of {history} is {found[-1].version}{since}; "
            "name it or a later one"
        )
    if chosen.version < found[0].note.oldest:
        raise HistoryFault(
            f"--as-of {wanted}: vacuum removed files of version {chosen.version}; "
            f"the oldest that can be opened is {found[0].note.oldest}; name it or a later one"
        )
    return chosen


def read_table(spark: SparkSession, history: str, table: str, state: Published) -> DataFrame:
    """Return a table at its version in a state; columns that are newer than the state are null."""
    schema = spark_schema(TABLES[table])
    version = state.version_of(table)
    if version is None or version < 0:
        return spark.createDataFrame([], schema)
    reader = spark.read.format("delta").option("versionAsOf", str(version))
    frame = reader.load(path_of(history, table))
    there = set(frame.columns)
    columns = [
        F.col(name.name)
        if name.name in there
        else F.lit(None).cast(name.dataType).alias(name.name)
        for name in schema
    ]
    return frame.select(*columns)


def _entry(row: Row) -> Entry:
    metrics: Mapping[str, str] = row["operationMetrics"] or {}
    removed = metrics.get("numRemovedFiles", metrics.get("removedFilesSize", "0"))
    when = row["timestamp"]
    told = row["userMetadata"]
    return Entry(
        version=row["version"],
        when=when if when.tzinfo else when.astimezone(UTC),
        operation=row["operation"],
        note=_note(told),
        removed=int(removed),
        written=int(metrics.get("numOutputRows", "-1")),
    )


_NOTE = msgspec.json.Decoder(Note)


def _note(text: str | None) -> Note | None:
    try:
        return _NOTE.decode(text) if text else None
    except msgspec.DecodeError:
        return None


def _end_of(wanted: str) -> datetime:
    """Return the moment, or the end of the day, that a text names; in UTC if it does not say.

    Raises:
        HistoryFault: the text names no moment.
    """
    try:
        if len(wanted) == len("2026-11-21"):
            end = datetime.combine(date.fromisoformat(wanted), day_time.max)
        else:
            end = datetime.fromisoformat(wanted)
    except ValueError as error:
        raise HistoryFault(
            f"--as-of {wanted}: expected a version of {LAST}, or a date such as 2026-11-21"
        ) from error
    return end if end.tzinfo else end.replace(tzinfo=UTC)


def _refuse_newer(name: str, note: Note) -> None:
    for what, found, newest in (
        ("history format", note.format, FORMAT),
        ("table version", note.tables, VERSION),
    ):
        if found > newest:
            by = f" by wireproof {note.kit}" if note.kit else ""
            raise HistoryFault(
                f"{name} was written{by} with {what} {found}; this version reads up to {newest}; "
                "use the version of wireproof that wrote it, or a newer one"
            )
