"""One batch is one commit: the rows of new bundles enter a history together, or not at all.

Exactly once is decided by Delta. The first batch creates the table. Each later one is a MERGE that
inserts the rows of bundles of which the table has no row of kind ``run``. Its isolation is
Serializable: when another writer adds rows of that kind meanwhile, Delta refuses the commit. All
batches also share one transaction identifier of Delta with the batch's number as its version, so
that a MERGE that starts from an outdated state does nothing, and no number is given twice.
"""

import re
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.columns import BATCH
from wireproof_reports.pipeline.place import MOST_KEEP_DAYS, HistoryFault
from wireproof_reports.pipeline.session import ERRORS, USER_METADATA, run_sql, setting
from wireproof_reports.pipeline.table import (
    Note,
    State,
    path_of,
    quote_table,
)
from wireproof_spec.history import PARTITIONS

TRANSACTIONS = "wireproof-ingest"
_APP_ID, _APP_VERSION = (
    f"spark.databricks.delta.write.txn{name}" for name in ("AppId", "Version")
)
KEEP_LOG = {"delta.logRetentionDuration": f"interval {MOST_KEEP_DAYS} days"}
"""A property of new tables: what their commits say is read long after; Delta keeps it a month."""
SKIPPING = "bundle,batch,vendor,version,started,deviation,line"
"""Columns whose least and greatest values Delta keeps by file; by itself it takes the first 32,
which costs time for texts that nobody looks for. Statistics of ten columns were an eighth of what
writing cost; every file has all of a run's cases, clauses, levels and verdicts, so that theirs
would skip none."""
PROPERTIES = {
    **KEEP_LOG,
    "delta.dataSkippingStatsColumns": SKIPPING,
    "delta.deletedFileRetentionDuration": f"interval {MOST_KEEP_DAYS} days",
    "delta.enableInCommitTimestamps": "true",
    "delta.isolationLevel": "Serializable",
}
"""Delta forgets the files that were removed longer ago than the retention: a vacuum would delete
them, however many days it is told to keep."""
WRITER = {
    "spark.sql.autoBroadcastJoinThreshold": "256m",
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "false",
}
"""Settings of a session that merges. The hashes of known bundles are sent to all tasks: to sort
all new rows by bundle would cost more. Rows are not sent to one task for each day, either."""
_MATCHES = "t.kind = 'run' AND t.bundle = s.bundle AND (s.kind <> 'quarantine' OR s.line > 0)"
"""A row is inserted unless this is true for a row of the table. A refused bundle (line 0) is not
in the table as a run, whatever its bytes hash to."""
_CONFLICT = re.compile(
    r"\[DELTA_(CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED|VERSION_NOT_CONTIGUOUS)"
)


class Conflict(Exception):
    """Raised if another writer committed meanwhile; nothing was added: begin again."""


def is_conflict(error: Exception) -> bool:
    """Return True if an error of Spark says that another writer committed meanwhile."""
    return _CONFLICT.search(str(error)) is not None


def own_session(spark: SparkSession) -> SparkSession:
    """Return a session with settings of its own for a writer, in the same Spark."""
    own = spark.newSession()
    for name, value in WRITER.items():
        own.conf.set(name, value)
    return own


@contextmanager
def _conflicts() -> Generator[None]:
    """Turn Delta's errors about concurrent commits into a Conflict.

    Raises:
        Conflict: another writer committed meanwhile.
    """
    try:
        yield
    except ERRORS as error:
        if is_conflict(error):
            raise Conflict from error
        raise


def add_rows(own: SparkSession, history: str, state: State, rows: DataFrame, note: Note) -> int:
    """Add the rows of a batch to a history in one commit; return how many were added.

    The history must be in the given state; ``rows`` are of the session ``own``. Unless they have
    numbers of batches already, they get that of the note.

    Raises:
        Conflict: another writer has committed since that state.
    """
    note = msgspec.structs.replace(note, attempt=uuid.uuid4().hex)
    is_numbered = BATCH in rows.columns
    numbered = rows if is_numbered else rows.withColumn(BATCH, F.lit(note.batch).cast("long"))
    if state.version < 0:
        return _create(own, history, numbered, note)
    source = f"batch_{note.attempt}"
    numbered.createOrReplaceTempView(source)
    own.conf.set(_APP_ID, TRANSACTIONS)
    own.conf.set(_APP_VERSION, str(note.batch))
    try:
        with _conflicts(), setting(own, USER_METADATA, encode(note)):
            done = run_sql(
                own,
                f"MERGE WITH SCHEMA EVOLUTION INTO {quote_table(history)} AS t "
                f"USING {source} AS s ON {_MATCHES} WHEN NOT MATCHED THEN INSERT *",
            ).collect()
    finally:
        own.conf.unset(_APP_ID)
        own.conf.unset(_APP_VERSION)
        own.catalog.dropTempView(source)
    if not done:  # a batch with this number is there
        raise Conflict
    return int(done[0]["num_inserted_rows"])


def _create(own: SparkSession, history: str, rows: DataFrame, note: Note) -> int:
    """Create the table with the rows of the first batch."""
    writer = rows.write.format("delta").mode("append").partitionBy(*PARTITIONS)
    writer.options(userMetadata=encode(note), **PROPERTIES)
    writer.options(txnAppId=TRANSACTIONS, txnVersion=str(note.batch))
    with _conflicts():
        writer.save(path_of(history))
    rows_of = f"DESCRIBE HISTORY {quote_table(history)}"
    mine = run_sql(own, rows_of).where(F.col(USER_METADATA.rpartition(".")[2]) == encode(note))
    (found,) = mine.collect() or (None,)
    if found is None:  # another writer's first batch was there before this one
        raise Conflict
    return int(found["operationMetrics"]["numOutputRows"])


def undo(own: SparkSession, history: str, batches: Sequence[int], why: str) -> None:
    """Take back batches that a commit added with a wrong number of rows, and report it.

    Only their rows are deleted: another writer may have added a later batch.

    Raises:
        HistoryFault: always.
    """
    listed = ", ".join(map(str, batches))
    run_sql(own, f"DELETE FROM {quote_table(history)} WHERE {BATCH} IN ({listed})").collect()
    raise HistoryFault(f"{history}: {why}; the batch was taken back; run the command again")


def optimize(spark: SparkSession, history: str) -> None:
    """Have Delta merge small files; a batch that another writer adds meanwhile is kept.

    Raises:
        Conflict: another writer merged the same files meanwhile.
    """
    with _conflicts():
        run_sql(spark, f"OPTIMIZE {quote_table(history)}").collect()


def encode(note: Note) -> str:
    """Return a note as the metadata of a commit."""
    return msgspec.json.encode(note).decode()
