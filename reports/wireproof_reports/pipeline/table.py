"""A history: one Delta table, whose commits are its states, and its rows by kind.

Each batch of bundles is one commit. The metadata of that commit (Delta's ``userMetadata``) is a
note with the format and the number of the batch. A commit without a note, such as an OPTIMIZE by
another tool, is a state, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from datetime import time as day_time

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.columns import view_schema
from wireproof_reports.pipeline.place import HistoryFault, root_of
from wireproof_reports.pipeline.session import run_sql
from wireproof_reports.pipeline.store import reach
from wireproof_spec.history import FORMAT, KINDS, VERSION

ALL = 1_000_000
"""More commits than any table has."""
_FEW = 50
"""Commits looked through at first: others than batches are rare."""


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of a commit: what added a batch, or the oldest version that vacuum left.

    ``attempt`` tells the commit from all others.
    """

    wireproof: str
    attempt: str = ""
    format: int = FORMAT
    columns: int = VERSION
    kit: str = ""
    batch: int = 0
    oldest: int = 0


ADDED, VACUUMED = "added", "vacuumed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of a Delta table: version, time, and the note of its writer."""

    version: int
    when: datetime
    note: Note | None
    removed: int


@dataclass(frozen=True, slots=True)
class State:
    """A state of a history: a version of its table; -1 stands for a history that has none yet.

    ``when`` is Delta's in-commit timestamp, which a copy of the history keeps. ``oldest`` is the
    oldest version whose files a vacuum has left.
    """

    version: int = -1
    when: datetime | None = None
    note: Note = field(default_factory=lambda: Note(ADDED))
    oldest: int = 0


NOTHING = State()


def path_of(history: str, table: str = "") -> str:
    """Return the URL of a history's table, or of a table beside it that aggregates keep."""
    return f"{root_of(history)}/{table}" if table else root_of(history)


def quote_table(history: str, table: str = "") -> str:
    """Return the name of a history's table, or of one beside it, as SQL writes it."""
    return f"delta.`{path_of(history, table).replace('`', '``')}`"


def entries(spark: SparkSession, history: str, most: int) -> list[Entry]:
    """Return the last commits of a history, newest first; empty if its table does not exist."""
    reach(spark, history)
    try:
        rows = run_sql(spark, f"DESCRIBE HISTORY {quote_table(history)} LIMIT {most}").collect()
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
    "DELTA_INVALID_PARTITION_PATH",  # of a table that is to lie in the folder of another
)


def is_missing(error: PySparkException) -> bool:
    """Return True if an error of Spark says that a table does not exist."""
    return any(name in str(error) for name in _MISSING)


def read_state(spark: SparkSession, history: str) -> State:
    """Return the newest state of a history.

    Raises:
        HistoryFault: a newer version wrote the history, or it is not wireproof's.
    """
    for most in (_FEW, ALL):
        commits = entries(spark, history, most)
        found = _state_of(history, commits)
        if found is not None or len(commits) < most:
            break
    if found is None and commits:
        raise HistoryFault(
            f"{history} is no history: no commit of its Delta table is one of wireproof; "
            "name the folder or URL that `wireproof ingest` wrote to"
        )
    return found or NOTHING


def _state_of(history: str, commits: Sequence[Entry]) -> State | None:
    """Return the state of the newest of some commits; None if they do not tell.

    Raises:
        HistoryFault: a newer version wrote the history.
    """
    notes = [entry.note for entry in commits if entry.note is not None]
    added = next((note for note in notes if note.wireproof == ADDED), None)
    if added is None:
        return None
    _refuse_newer(history, added)
    oldest = max(note.oldest for note in notes)
    return State(commits[0].version, commits[0].when, added, oldest)


def read_state_as_of(spark: SparkSession, history: str, wanted: str) -> State:
    """Return an older state: that of a version, or the last one of a day or moment.

    Raises:
        HistoryFault: no such state exists, vacuum removed its files, or the text is invalid.
    """
    commits = entries(spark, history, ALL)
    newest = _state_of(history, commits)
    if newest is None:
        raise HistoryFault(
            f"--as-of {wanted}: {history} has no version yet; add bundles with `wireproof ingest`"
        )
    first = commits[-1]
    if wanted.isdigit():
        if int(wanted) > newest.version:
            raise HistoryFault(
                f"--as-of {wanted}: the newest version of {history} is {newest.version}"
            )
        older = [entry for entry in commits if entry.version <= int(wanted)]
    else:
        end = _end_of(wanted)
        older = [entry for entry in commits if entry.when <= end]
    chosen = _state_of(history, older)
    if chosen is None:
        raise HistoryFault(
            f"--as-of {wanted}: the first version of {history} is {first.version}, of "
            f"{first.when:%Y-%m-%dT%H:%M:%SZ}; name it or a later one"
        )
    if chosen.version < newest.oldest:
        raise HistoryFault(
            f"--as-of {wanted}: vacuum removed files of version {chosen.version}; "
            f"the oldest that can be opened is {newest.oldest}; name it or a later one"
        )
    return chosen


def read_table(spark: SparkSession, history: str, state: State) -> DataFrame:
    """Return the rows of all kinds in a state."""
    reader = spark.read.format("delta").option("versionAsOf", str(state.version))
    return reader.load(path_of(history))


def view_of(table: DataFrame, view: str) -> DataFrame:
    """Return the rows of one kind; columns that are newer than the table's state are null."""
    there = set(table.columns)
    columns = [
        F.col(name.name)
        if name.name in there
        else F.lit(None).cast(name.dataType).alias(name.name)
        for name in view_schema(view)
    ]
    return table.where(F.col("kind") == KINDS[view]).select(*columns)


def read_view(spark: SparkSession, history: str, view: str, state: State) -> DataFrame:
    """Return the rows of one kind in a state."""
    return view_of(read_table(spark, history, state), view)


@dataclass(frozen=True, slots=True)
class Extent:
    """How many rows of each view a state has, and the days of its first and last run."""

    rows: Mapping[str, int]
    first_day: date | None
    last_day: date | None


def measure(table: DataFrame) -> Extent:
    """Count the rows of each view, without reading any column of them."""
    by_kind = table.groupBy("kind").agg(F.count(F.lit(1)), F.min("day"), F.max("day"))
    found = {row[0]: row[1:] for row in by_kind.collect()}
    none = (0, None, None)
    rows = {view: found.get(kind, none)[0] for view, kind in KINDS.items()}
    return Extent(rows, *found.get(KINDS["runs"], none)[1:])


def empty_view(spark: SparkSession, view: str) -> DataFrame:
    """Return a view without rows, of which Spark knows that before it starts a job."""
    nulls = (F.lit(None).cast(name.dataType).alias(name.name) for name in view_schema(view))
    return run_sql(spark, "SELECT 1 WHERE false").select(*nulls)


def _entry(row: Row) -> Entry:
    metrics: Mapping[str, str] = row["operationMetrics"] or {}
    removed = metrics.get("numRemovedFiles", metrics.get("numTargetFilesRemoved", "0"))
    when = row["timestamp"]
    return Entry(
        version=row["version"],
        when=when if when.tzinfo else when.astimezone(UTC),
        note=_note(row["userMetadata"]),
        removed=int(removed),
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
            f"--as-of {wanted}: expected a version, or a date such as 2026-11-21"
        ) from error
    return end if end.tzinfo else end.replace(tzinfo=UTC)


def _refuse_newer(name: str, note: Note) -> None:
    for what, found, newest in (
        ("history format", note.format, FORMAT),
        ("column version", note.columns, VERSION),
    ):
        if found > newest:
            by = f" by wireproof {note.kit}" if note.kit else ""
            raise HistoryFault(
                f"{name} was written{by} with {what} {found}; this version reads up to {newest}; "
                "use the version of wireproof that wrote it, or a newer one"
            )
