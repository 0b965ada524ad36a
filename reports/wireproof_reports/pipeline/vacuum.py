"""Merges small files, and removes files that no state needs any more."""

from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.attempt import Attempt, begin
from wireproof_reports.pipeline.history import (
    ALL,
    Entry,
    Published,
    entries,
    publications,
    quote_table,
)
from wireproof_reports.pipeline.partials import drop_unused
from wireproof_reports.pipeline.place import KEEP_DAYS, HistoryFault
from wireproof_reports.pipeline.session import ERRORS, run_sql
from wireproof_reports.pipeline.tables import FLIPS, KEPT
from wireproof_spec.history import LAST

_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
RESTORE = "RESTORE"
"""Delta's name of the operation that undoes commits."""
_IGNORING = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled"
"""By default Delta takes the number of days from the table, unless a vacuum tells it 0."""
_LOGGING = "spark.databricks.delta.vacuum.logging.enabled"


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The result of a vacuum: the newest and the oldest readable version of ``runs``.

    ``lost`` are the versions whose files were removed, with their times.
    """

    newest: int
    oldest: int
    lost: tuple[tuple[int, str], ...]


def unreachable(spark: SparkSession, history: str, keep_days: float) -> list[Published]:
    """Return the states whose files a vacuum removes now, the newest first.

    A state needs the files of each table's version in it. A vacuum removes a file that a later
    commit replaced before the retention period began.
    """
    states = publications(spark, history, ALL)
    before = datetime.now(UTC) - timedelta(days=keep_days)
    replaced: dict[str, int] = {}
    for table in [*states[0].note.versions, LAST] if states else ():
        named = {state.version_of(table) for state in states}
        for entry in _lasting(entries(spark, history, table, ALL), named):
            if entry.removed and entry.when < before:
                replaced[table] = max(replaced.get(table, 0), entry.version)
    return [
        state
        for state in states
        if any(_needs(state, table, version) for table, version in replaced.items())
    ]


def _lasting(commits: Iterable[Entry], named: Container[int | None]) -> Iterator[Entry]:
    """Yield commits, newest first, but for those that undid unpublished ones, and these.

    What such commits replaced was put back; what they wrote and removed no state needs.
    """
    is_undone = False
    for entry in commits:
        is_undone = entry.operation == RESTORE or (is_undone and entry.version not in named)
        if not is_undone:
            yield entry


def _needs(state: Published, table: str, version: int) -> bool:
    """Return True if a state needs files of a table that this version of the table replaced."""
    found = state.version_of(table)
    return found is not None and found < version


def vacuum(
    spark: SparkSession, history: str, *, keep_days: float = KEEP_DAYS, kit: str = ""
) -> Vacuumed:
    """Merge a history's small files, then remove files that no state of the last days needs.

    Raises:
        HistoryFault: there is no history, or another ingest is writing.
        Conflict: another writer wrote meanwhile.
    """
    with begin(spark, history, kit=kit) as attempt:
        return _vacuum(attempt, keep_days)


def _vacuum(attempt: Attempt, keep_days: float) -> Vacuumed:
    spark, history = attempt.spark, attempt.history
    if attempt.state.version < 0:
        raise HistoryFault(f"{history} is no history: it has no table runs")
    attempt.compact()
    states = publications(spark, history, ALL)
    before = attempt.state.note.oldest
    # A state older than a lost one may have all its files, as one without the table that lost
    # some: what can be asked is one range nevertheless.
    gone = max((state.version for state in unreachable(spark, history, keep_days)), default=-1)
    head = entries(spark, history, LAST, 1)[0].version
    oldest = min((one.version for one in states if one.version > gone), default=head + 1)
    now = attempt.publish(None, oldest=max(oldest, before))
    spark.conf.set(_CHECK, "false")
    spark.conf.set(_IGNORING, "false")
    spark.conf.set(_LOGGING, "false")  # its commits would change no table, but its version
    for table in [*now.note.versions, LAST]:
        _remove_files(spark, history, table, keep_days)
    for partial in (*KEPT, FLIPS):
        with suppress(*ERRORS, msgspec.DecodeError):  # the next aggregate says what it cannot use
            table = drop_unused(spark, history, partial, now.note.batch)
            if table:
                _remove_files(spark, history, table, keep_days)
    told = [
        (state.version, state.when.isoformat(timespec="seconds") if state.when else "")
        for state in states
        if before <= state.version < now.note.oldest
    ]
    return Vacuumed(now.version, now.note.oldest, tuple(told))


def _remove_files(spark: SparkSession, history: str, table: str, keep_days: float) -> None:
    run_sql(spark, f"VACUUM {quote_table(history, table)} RETAIN {keep_days * 24:g} HOURS")
