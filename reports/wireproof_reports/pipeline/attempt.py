"""Adding a batch to a history: an attempt, which is in when it is published.

One process writes at a time: its Java holds a lock (see `owner`). A commit to ``results`` that is
not published is a claim: its metadata names the process. Where that one was killed, the next one
says so in ``runs`` with a newer transaction, restores the tables to what was published, and goes
on. Machines that share an object store share no lock. Should one that was taken for killed still
commit something, Delta leaves it out of ``runs`` (its transaction is older), and the writer sees
that a version is not the one it expected.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.columns import BATCH, spark_schema, worker_columns
from wireproof_reports.pipeline.history import (
    CLAIMED,
    FENCED,
    KEEP_LOG,
    MOST_LOOKED_AT,
    NO_TABLE,
    PUBLISHED,
    STATS_COLUMNS,
    Entry,
    Note,
    Published,
    came_between,
    entries,
    path_of,
    quote_table,
    read_published,
    stats_columns,
)
from wireproof_reports.pipeline.owner import (
    POLL_S,
    Pause,
    in_words,
    is_alive,
    only_writer,
    own_name,
)
from wireproof_reports.pipeline.place import MOST_KEEP_DAYS, HistoryFault
from wireproof_reports.pipeline.session import ERRORS, USER_METADATA, run_sql, setting
from wireproof_spec.history import FIRST, LAST, PARTITIONS, TABLES

TRANSACTIONS = "wireproof-ingest"
"""Delta's ``txnAppId`` of every commit; its ``txnVersion`` is the milliseconds of the attempt."""
WAIT_S = 600.0
_PROPERTIES = {
    **KEEP_LOG,
    "delta.deletedFileRetentionDuration": f"interval {MOST_KEEP_DAYS} days",
}
"""Delta forgets the files that were removed longer ago than the second: a vacuum would delete
them, however many days it is told to keep."""


class Conflict(Exception):
    """Raised if another writer wrote meanwhile; nothing was added: the batch may be repeated."""


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
            HistoryFault: Spark wrote more or fewer rows than were read.
        """
        version = self._versions.get(table, NO_TABLE) + 1
        self._write(table, rows, Note(CLAIMED, attempt=self.number, owner=own_name()))
        written = self._check(table, version).written
        if written != count:
            raise HistoryFault(
                f"{self.history}: Spark wrote {written} rows of {table} where {count} were read; "
                "no bundle of this batch was added; run the command again"
            )
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
        return Published.of(top.version, top.when, note)

    def restore(self) -> None:
        """Restore every table to its published version, after a batch that was killed.

        Raises:
            Conflict: another writer has written, or published, meanwhile.
        """
        fence = Note(FENCED, attempt=self.number, owner=own_name())
        self._write(LAST, self.spark.createDataFrame([], spark_schema(TABLES[LAST])), fence)
        self.number += 1  # or Delta would leave out what this one publishes itself
        if read_published(self.spark, self.history).version != self.state.version:
            raise Conflict(LAST)  # the other one lives, and published just before the fence
        for table in TABLES:
            head = entries(self.spark, self.history, table, 1)
            base = self._versions.get(table, NO_TABLE)
            if table != LAST and head and head[0].version > base:
                name = quote_table(self.history, table)
                back = f"RESTORE TABLE {name} TO VERSION AS OF {base}"
                statement = f"DELETE FROM {name}" if base == NO_TABLE else back
                self._versions[table] = self._rewrite(table, statement, head[0])
        if self.state.version >= 0:
            # Otherwise others would wait for this process, which may have nothing to publish.
            self.state = self.publish(None)
            self.number += 1

    def compact(self) -> None:
        """Merge small files of the history's tables by Delta; publish the attempt afterwards.

        Of ``runs`` no version is named: its rows are those of the published state, whether the
        attempt is published or killed now.

        Raises:
            Conflict: another writer has written meanwhile.
        """
        empty = self.spark.createDataFrame([], spark_schema(worker_columns(FIRST)))
        self.append(FIRST, empty, 0)  # the claim: there may be nothing to merge but in others
        for table in sorted(self._versions, key=lambda name: name != FIRST):
            before = entries(self.spark, self.history, table, 1)[0]
            if before.version != self._versions[table]:
                raise Conflict(table)
            self._versions[table] = self._rewrite(table, self._optimize(table), before)
        if read_published(self.spark, self.history).version != self.state.version:
            raise Conflict(LAST)
        before = entries(self.spark, self.history, LAST, 1)[0]  # where one was killed, a fence
        self._rewrite(LAST, self._optimize(LAST), before)

    def _optimize(self, table: str) -> str:
        return f"OPTIMIZE {quote_table(self.history, table)}"

    def _rewrite(self, table: str, statement: str, before: Entry) -> int:
        """Run a statement that makes one commit after this one, or none; return the version.

        Raises:
            Conflict: another writer has written meanwhile.
        """
        note = Note(CLAIMED, attempt=self.number, owner=own_name())
        with setting(self.spark, USER_METADATA, _encode(note)):
            run_sql(self.spark, statement)
        (head,) = entries(self.spark, self.history, table, 1)
        if head.version != before.version:
            self._check(table, before.version + 1)
        return head.version

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
            if came_between(error):
                raise Conflict(table) from error
            raise

    def _check(self, table: str, version: int) -> Entry:
        (top,) = entries(self.spark, self.history, table, 1)
        if top.version != version or top.note is None or top.note.attempt != self.number:
            raise Conflict(table)
        return top


@contextmanager
def begin(
    spark: SparkSession,
    history: str,
    *,
    kit: str = "",
    take_over: bool = False,
    wait_s: float = WAIT_S,
    pause: Pause = time.sleep,
) -> Generator[Attempt]:
    """Start to add a batch after the published state; remove the rows of a killed attempt.

    ``pause`` waits between two looks at whether another writer has ended.

    Raises:
        HistoryFault: another process is writing, and did not end in time.
        Conflict: another writer wrote meanwhile.
    """
    with only_writer(spark, history, wait_s, pause=pause):
        yield _begin(spark, history, kit, take_over, wait_s, pause)


def merge_files(spark: SparkSession, history: str, kit: str) -> None:
    """Have Delta merge small files, and publish the versions that have them; or do it later."""
    with suppress(HistoryFault):
        try:
            with begin(spark, history, kit=kit, wait_s=0) as attempt:
                attempt.compact()
                attempt.publish(None)
        except Conflict:
            # What it has merged is undone, or others would wait until this process ends.
            with suppress(Conflict), begin(spark, history, kit=kit, wait_s=0):
                pass


def _begin(
    spark: SparkSession, history: str, kit: str, take_over: bool, wait_s: float, pause: Pause
) -> Attempt:
    deadline = time.monotonic() + wait_s
    while True:
        state = read_published(spark, history)
        unpublished = list(_list_unpublished(spark, history, state))
        attempt = Attempt(spark, history, state, kit)
        if not unpublished:
            return attempt
        # Commits without a note are those of other tools, such as OPTIMIZE: nobody's claim.
        notes = [entry.note for entry in unpublished if entry.note is not None]
        owners = {} if take_over else {note.owner: _lives(note.owner) for note in notes}
        name = next((own for way in (True, None) for own in owners if owners[own] is way), "")
        if not name:
            newest = max((note.attempt for note in notes), default=0)
            attempt.number = max(attempt.number, newest + 1)
            attempt.restore()
            return attempt
        if owners[name] is None:
            raise HistoryFault(
                f"{history} was being written by {in_words(name)} at "
                f"{unpublished[-1].when.isoformat(timespec='seconds')}; wait until it has ended, "
                "or, if it was killed, run `wireproof ingest` with --take-over"
            )
        if time.monotonic() > deadline:
            raise HistoryFault(
                f"{history} is in use by another ingest ({in_words(name)}); "
                "run the command again when that process has ended"
            )
        pause(POLL_S)


def _lives(owner: str) -> bool | None:
    """Return whether another process of this name runs; None if that cannot be known."""
    return is_alive(owner) if owner not in ("", own_name()) else False


def _list_unpublished(spark: SparkSession, history: str, state: Published) -> Iterator[Entry]:
    """Return the commits of ``results`` that no publication names, the newest first."""
    named = state.note.versions.get(FIRST, NO_TABLE)
    for most in (1, 20, MOST_LOOKED_AT):
        found = [entry for entry in entries(spark, history, FIRST, most) if entry.version > named]
        if len(found) < most:
            break
    yield from found


def _encode(note: Note) -> str:
    return msgspec.json.encode(note).decode()
