"""Merges small files, and removes files that no state needs any more."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.bundles.landing import escape
from wireproof_reports.pipeline.commit import encode, optimize, own_session
from wireproof_reports.pipeline.lock import writer_lock
from wireproof_reports.pipeline.partials import drop_unused
from wireproof_reports.pipeline.place import KEEP_DAYS, LOG, HistoryFault
from wireproof_reports.pipeline.session import ERRORS, USER_METADATA, run_sql, setting
from wireproof_reports.pipeline.table import (
    ALL,
    VACUUMED,
    Entry,
    Note,
    entries,
    path_of,
    quote_table,
    read_state,
)
from wireproof_reports.pipeline.tables import FLIPS, KEPT

_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # By default Delta takes the number of days from the table, unless a vacuum tells it 0.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
    "spark.databricks.delta.vacuum.logging.enabled": "false",  # its commits would change no row
}
_REMOVED = "remove struct<deletionTimestamp: long>"
WAIT_S = 600.0
_OLDEST = "wireproof.oldest"
"""A property of the table: the oldest version whose files are there."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The result of a vacuum: the newest version of a history, and the oldest readable one.

    ``lost`` are the versions whose files were removed, with their times.
    """

    newest: int
    oldest: int
    lost: tuple[tuple[int, str], ...]


def oldest_left(
    spark: SparkSession, history: str, commits: Sequence[Entry], keep_days: float
) -> int:
    """Return the oldest version that a vacuum leaves now.

    A vacuum removes a file that a later commit replaced before the days to keep began, by the
    clock of that commit's writer. The time of the commit itself may be another: it is never before
    that of the commit before it, whatever the clock showed.
    """
    before = datetime.now(UTC) - timedelta(days=keep_days)
    replacing = [one.version for one in commits if one.removed]
    if not replacing:
        return 0
    folder = escape(f"{path_of(history)}/{LOG}")
    log = [f"{folder}/{number:020}.json" for number in replacing]
    removed = spark.read.schema(_REMOVED).json(log).where("remove is not null")
    gone = removed.where(F.col("remove.deletionTimestamp") < int(before.timestamp() * 1000))
    names = gone.select("_metadata.file_name").distinct().collect()
    return max((int(row["file_name"].partition(".")[0]) for row in names), default=0)


def vacuum(spark: SparkSession, history: str, *, keep_days: float = KEEP_DAYS) -> Vacuumed:
    """Merge a history's small files, then remove files that no state of the last days needs.

    Raises:
        HistoryFault: there is no history, or another ingest is writing.
        Conflict: another writer wrote meanwhile.
    """
    own = own_session(spark)
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    with writer_lock(own, history, WAIT_S):
        return _vacuum(own, history, keep_days)


def _vacuum(own: SparkSession, history: str, keep_days: float) -> Vacuumed:
    state = read_state(own, history)
    if state.version < 0:
        raise HistoryFault(f"{history} is no history: it has no Delta table")
    optimize(own, history)
    commits = entries(own, history, ALL)
    oldest = max(oldest_left(own, history, commits, keep_days), state.oldest)
    newest = commits[0].version
    if oldest > state.oldest:
        # Before any file is removed, readers must know which states will miss it.
        with setting(own, USER_METADATA, encode(Note(VACUUMED, oldest=oldest))):
            properties = f"SET TBLPROPERTIES ('{_OLDEST}' = '{oldest}')"
            run_sql(own, f"ALTER TABLE {quote_table(history)} {properties}")
        newest += 1
    _remove_files(own, history, keep_days)
    for partial in (*KEPT, FLIPS):
        with suppress(*ERRORS, msgspec.DecodeError):  # the next aggregate says what it cannot use
            table = drop_unused(own, history, partial, state.note.batch)
            if table:
                _remove_files(own, history, keep_days, table)
    lost = [one for one in commits if state.oldest <= one.version < oldest]
    times = ((one.version, one.when.isoformat(timespec="seconds")) for one in lost)
    return Vacuumed(newest, oldest, tuple(times))


def _remove_files(spark: SparkSession, history: str, keep_days: float, table: str = "") -> None:
    run_sql(spark, f"VACUUM {quote_table(history, table)} RETAIN {keep_days * 24:g} HOURS")
