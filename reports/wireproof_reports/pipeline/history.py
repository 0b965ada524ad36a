"""A history as a whole: Delta tables, and the commit of ``runs`` that names their versions.

A batch is written to ``results`` first, then to the other tables that it has rows for, and to
``runs`` last, one commit each. The last commit carries a publication: the version of every table
that belongs to it. Readers open the tables at these versions, so that a batch is there as a whole
or not at all, and a reader never sees half of one, whatever is written meanwhile.

Writers are told apart by what Delta does. A commit to ``results`` that is not published is a
claim: its metadata names the process. While that one lives, others wait. Where it was killed, the
next one says so in ``runs`` with a newer transaction, restores the tables to what was published,
and goes on; should the killed one's Java still commit something, Delta leaves it out of ``runs``
(its transaction is older), and the writer sees that a version is not the one it expected.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from datetime import time as day_time

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.columns import BATCH, spark_schema
from wireproof_reports.pipeline.owner import in_words, is_alive, own_name
from wireproof_reports.pipeline.place import HistoryFault, root_of
from wireproof_reports.pipeline.session import ERRORS, run_sql
from wireproof_spec.history import FIRST, FORMAT, LAST, PARTITIONS, TABLES, VERSION

TRANSACTIONS = "wireproof-ingest"
"""Delta's ``txnAppId`` of every commit; its ``txnVersion`` is the milliseconds of the attempt."""
MOST_LOOKED_AT = 200
"""Commits looked through for the last publication; only claims and fences lie between two."""
WAIT_S = 600.0
POLL_S = 0.5
KEEP_DAYS = 30
NO_TABLE = -1
"""The version before a table's first commit, which writes rows and makes the table."""
_CAME_BETWEEN = re.compile(r"\[DELTA_(CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED)")
"""Delta's errors when two make the same table at once; two appends do not hinder each other."""
_PROPERTIES = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": f"interval {KEEP_DAYS} days",
}
_META = "spark.databricks.delta.commitInfo.userMetadata"
_SKIPPING = {
    "results": "bundle,vendor,version,started,batch,case,clause,level,verdict,deviation",
    "quarantine": "bundle,batch,line",
}
"""Columns whose least and greatest values Delta keeps by file; by itself it takes the first 32,
which costs time for texts that nobody looks for."""


STATS_COLUMNS = "delta.dataSkippingStatsColumns"


def stats_columns(table: str) -> str:
    """Return a table property: the columns by whose statistics files can be skipped."""
    return _SKIPPING.get(table, "bundle,batch")


class Conflict(Exception):
    """Raised if another writer wrote meanwhile; nothing was added: the batch may be repeated."""


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
    """One commit of a Delta table: version, time, operation, and the note of its writer."""

    version: int
    when: datetime
    operation: str
    note: Note | None
    removed: int


@dataclass(frozen=True, slots=True)
class Published:
    """A published state of a history: one version of each table, which readers see together.

    Version -1 of ``runs`` stands for an empty history.
    """

    version: int = -1
    when: datetime | None = None
    note: Note = field(default_factory=lambda: Note(PUBLISHED))

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


def publications(spark: SparkSession, history: str, most: int = MOST_LOOKED_AT) -> list[Published]:
    """Return the published states of a history, newest first.

    Raises:
        HistoryFault: a newer version wrote the history.
    """
    return _publications(history, entries(spark, history, LAST, most))


def _publications(history: str, commits: Sequence[Entry]) -> list[Published]:
    found = [
        Published(entry.version, entry.when, entry.note)
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
    for most in (1, MOST_LOOKED_AT):
        commits = entries(spark, history, LAST, most)
        if not commits:
            return NOTHING
        found = _publications(history, commits)
        if found:
            return found[0]
    raise HistoryFault(
        f"{history} is no history: the last {MOST_LOOKED_AT} commits of its table {LAST} "
        "name no versions of the others"
    )


def read_published_as_of(spark: SparkSession, history: str, wanted: str) -> Published:
    """Return an older published state: by version of ``runs``, or the last of a day or moment.

    Raises:
        HistoryFault: no such state exists, vacuum removed its files, or the text is invalid.
    """
    found = publications(spark, history, 1_000_000)
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
        raise HistoryFault(f"--as-of {wanted}: {history} had no version then")
    if chosen.version < found[0].note.oldest:
        raise HistoryFault(
            f"--as-of {wanted}: vacuum removed files of version {chosen.version}; "
            f"the oldest that can be asked is {found[0].note.oldest}"
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


class Attempt:
    """An attempt to add one batch to a history: `begin`, append to tables, publish last."""

    def __init__(self, spark: SparkSession, history: str, state: Published, kit: str) -> None:
        self.spark = spark
        self.history = history
        self.state = state
        self.kit = kit
        self.number = max(time.time_ns() // 1_000_000, state.note.attempt + 1)
        self._versions = dict(state.note.versions)
        self._rows = dict(state.note.rows)

    @property
    def batch(self) -> int:
        """The number of the batch that is added; all its rows have this number."""
        return self.state.note.batch + 1

    def append(self, table: str, rows: DataFrame, count: int) -> None:
        """Write the batch's rows of one table in one commit; readers do not see them yet.

        Raises:
            Conflict: another writer has written to the table meanwhile.
        """
        version = self._versions.get(table, NO_TABLE) + 1
        self._write(table, rows, Note(CLAIMED, attempt=self.number, owner=own_name()))
        self._check(table, version)
        self._versions[table] = version
        self._rows[table] = self._rows.get(table, 0) + count

    def publish(
        self, runs: DataFrame | None, count: int = 0, oldest: int | None = None
    ) -> Published:
        """Write the rows of ``runs`` with the versions of all tables; then the batch is published.

        Raises:
            Conflict: another writer took over; the appended rows will be removed.
        """
        self._rows[LAST] = self._rows.get(LAST, 0) + count
        note = Note(
            PUBLISHED,
            attempt=self.number,
            owner=own_name(),
            kit=self.kit,
            batch=self.batch if runs is not None else self.state.note.batch,
            versions=self._versions,
            rows=self._rows,
            oldest=self.state.note.oldest if oldest is None else oldest,
        )
        empty = spark_schema(TABLES[LAST])
        rows = self.spark.createDataFrame([], empty) if runs is None else runs
        self._write(LAST, rows, note)
        top = entries(self.spark, self.history, LAST, 1)[0]
        if top.note != note:
            raise Conflict(LAST)
        return Published(top.version, top.when, note)

    def restore(self) -> None:
        """Restore every table to its published version, after a batch that was killed.

        Raises:
            Conflict: another writer has written meanwhile.
        """
        if self.state.version >= 0:
            fence = Note(FENCED, attempt=self.number, owner=own_name())
            self._write(LAST, self.spark.createDataFrame([], spark_schema(TABLES[LAST])), fence)
            self.number += 1  # or Delta would leave out what this one publishes itself
        for table in TABLES:
            head = entries(self.spark, self.history, table, 1)
            base = self._versions.get(table, NO_TABLE)
            if table != LAST and head and head[0].version > base:
                name = quote_table(self.history, table)
                back = f"RESTORE TABLE {name} TO VERSION AS OF {base}"
                self._rewrite(table, f"DELETE FROM {name}" if base == NO_TABLE else back, head[0])

    def compact(self) -> None:
        """Merge small files of the history's tables by Delta.

        Raises:
            Conflict: another writer has written meanwhile.
        """
        for table in sorted(self._versions, key=lambda name: name != FIRST):
            before = entries(self.spark, self.history, table, 1)[0]
            if before.version != self._versions[table]:
                raise Conflict(table)
            self._rewrite(table, f"OPTIMIZE {quote_table(self.history, table)}", before)

    def _rewrite(self, table: str, statement: str, before: Entry) -> None:
        """Run a statement that makes one commit after this one, or none.

        Raises:
            Conflict: another writer has written meanwhile.
        """
        note = Note(CLAIMED, attempt=self.number, owner=own_name())
        with _Setting(self.spark, _META, _encode(note)):
            run_sql(self.spark, statement)
        (head,) = entries(self.spark, self.history, table, 1)
        if head.version != before.version:
            self._check(table, before.version + 1)
        self._versions[table] = head.version

    def _write(self, table: str, rows: DataFrame, note: Note) -> None:
        numbered = rows.withColumn(BATCH, F.lit(self.batch).cast("long"))
        ordered = numbered.select(*spark_schema(TABLES[table]).fieldNames())
        writer = ordered.write.format("delta").mode("append").partitionBy(*PARTITIONS)
        writer.options(mergeSchema="true", userMetadata=_encode(note))
        writer.options(txnAppId=TRANSACTIONS, txnVersion=str(self.number))
        writer.options(**_PROPERTIES, **{STATS_COLUMNS: stats_columns(table)})  # of a new table
        try:
            writer.save(path_of(self.history, table))
        except ERRORS as error:
            if _CAME_BETWEEN.search(str(error)):
                raise Conflict(table) from error
            raise

    def _check(self, table: str, version: int) -> None:
        (top,) = entries(self.spark, self.history, table, 1)
        if top.version != version or top.note is None or top.note.attempt != self.number:
            raise Conflict(table)


class _Setting:
    """A setting of the session, for a limited time."""

    def __init__(self, spark: SparkSession, name: str, value: str) -> None:
        self._spark, self._name, self._value = spark, name, value

    def __enter__(self) -> None:
        self._spark.conf.set(self._name, self._value)

    def __exit__(self, *_: object) -> None:
        self._spark.conf.unset(self._name)


def begin(
    spark: SparkSession,
    history: str,
    *,
    kit: str = "",
    take_over: bool = False,
    wait_s: float = WAIT_S,
) -> Attempt:
    """Start to add a batch after the published state; remove the rows of a killed attempt.

    Raises:
        HistoryFault: another process is writing, and did not end in time.
        Conflict: another writer wrote meanwhile.
    """
    deadline = time.monotonic() + wait_s
    while True:
        state = read_published(spark, history)
        unpublished = list(_list_unpublished(spark, history, state))
        attempt = Attempt(spark, history, state, kit)
        if not unpublished:
            return attempt
        first = unpublished[-1]
        name = first.note.owner if first.note is not None else ""
        alive = False if name == own_name() or take_over else is_alive(name) if name else False
        if alive is False:
            newest = max(entry.note.attempt for entry in unpublished if entry.note is not None)
            attempt.number = max(attempt.number, newest + 1)
            attempt.restore()
            return attempt
        if alive is None:
            raise HistoryFault(
                f"{history} was being written by {in_words(name)} at "
                f"{first.when.isoformat(timespec='seconds')}; wait until that has ended, or, "
                "if it was killed, run this again with --take-over"
            )
        if time.monotonic() > deadline:
            raise HistoryFault(
                f"{history} is in use by another ingest ({in_words(name)}); "
                "wait until it has ended"
            )
        time.sleep(POLL_S)


def _list_unpublished(spark: SparkSession, history: str, state: Published) -> Iterator[Entry]:
    """Return the commits of ``results`` that no publication names, the newest first."""
    named = state.note.versions.get(FIRST, NO_TABLE)
    for most in (1, 20, MOST_LOOKED_AT):
        found = [entry for entry in entries(spark, history, FIRST, most) if entry.version > named]
        if len(found) < most:
            break
    yield from found


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
    )


def _encode(note: Note) -> str:
    return msgspec.json.encode(note).decode()


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
    for what, found, newest in (("format", note.format, FORMAT), ("tables", note.tables, VERSION)):
        if found > newest:
            by = f" by wireproof {note.kit}" if note.kit else ""
            raise HistoryFault(
                f"{name} was written{by}: {what} {found}, this version reads up to {newest}; "
                "use the version of wireproof that wrote it, or a newer one"
            )
