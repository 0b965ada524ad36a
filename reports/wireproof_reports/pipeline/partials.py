"""What aggregates keep beside a history: results counted once, so that only new ones are read.

A partial covers the batches from one number to another. The next aggregate makes one for the
batches that came since, and asks all of them together; each is a commit of a Delta table whose
metadata names the numbers. Nothing is changed, and each has a name of its own, so that any number
of aggregates may do this at once: what overlaps is left out of the chain that is read. A vacuum
deletes what is outside the chain; whoever reads an older version of the table still finds it.
Whatever is kept could be counted again from the results: an aggregate that cannot read or write it
says so, and counts for itself alone.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.commit import KEEP_LOG, is_conflict
from wireproof_reports.pipeline.place import PARTIALS
from wireproof_reports.pipeline.session import ERRORS, USER_METADATA, run_sql, setting
from wireproof_reports.pipeline.table import is_missing, path_of, quote_table

NAME = "part"
"""The partition column: the part that a row belongs to."""
REVISION = 3
"""Of what is counted and how, by any of the kept counts; to be raised with every change of it, for
parts of other revisions are not read."""
MOST_LOOKED_AT = 200
"""Commits of a table in which parts are looked for."""
MOST_IN_CHAIN = 16
"""Partials read one by one; a longer chain is added up to one."""


@dataclass(frozen=True, slots=True)
class Partial:
    """One kind of kept counts: how results are counted, and how such counts are added up.

    Counts that cannot be added up are counted again where parts become too many.
    """

    name: str
    count: Callable[[DataFrame], DataFrame]
    add_up: Callable[[DataFrame], DataFrame] | None


class Part(msgspec.Struct, frozen=True, order=True):
    """Kept counts of the batches after number ``since`` up to ``upto``, of one revision."""

    since: int
    upto: int
    name: str
    revision: int = 1


_NOTE: msgspec.json.Decoder[Part | list[str]] = msgspec.json.Decoder(Part | list[str])


@dataclass(frozen=True, slots=True)
class _Kept:
    """The parts that a version of a table has; no table has version None."""

    version: int | None
    parts: Sequence[Part]


def read_kept(
    spark: SparkSession, history: str, partial: Partial, results: DataFrame, upto: int
) -> DataFrame:
    """Return the kept counts of all batches up to a number; missing ones are counted and kept.

    The parts are read at the version of the table in which they were found.

    Raises:
        PySparkException: what is kept cannot be read, or nothing can be written there.
        DecodeError: a commit has a note that is not of this module.
    """
    table = f"{PARTIALS}/{partial.name}"
    columns = partial.count(results).columns
    while True:
        kept = _find(spark, history, table)
        parts = chain(kept.parts, upto)
        since = parts[-1].upto if parts else 0
        if since >= upto:
            return _read(spark, history, table, kept.version, parts).select(*columns)
        is_long = len(parts) >= MOST_IN_CHAIN
        begin = 0 if is_long and partial.add_up is None else since
        new = partial.count(results.where(F.col("batch") > begin))
        if is_long and partial.add_up is not None:
            before = _read(spark, history, table, kept.version, parts).select(*columns)
            new = partial.add_up(before.unionByName(new))
        part = Part(0 if is_long else since, upto, uuid.uuid4().hex, REVISION)
        try:
            _write(history, table, new, part)
        except ERRORS as error:
            if not is_conflict(error):
                raise  # otherwise another aggregate has made the table: its part serves


def drop_unused(spark: SparkSession, history: str, partial: Partial, upto: int) -> str:
    """Delete kept counts that no aggregate of the newest state reads; return the table's name.

    The name is empty if nothing was kept. The commit's note has the names of the parts that stay.

    Raises:
        PySparkException: what is kept cannot be read, or nothing can be written there.
        DecodeError: a commit has a note that is not of this module.
    """
    table = f"{PARTIALS}/{partial.name}"
    kept = _find(spark, history, table)
    if kept.version is None:
        return ""
    names = [part.name for part in chain(kept.parts, upto)]
    listed = ", ".join(f"'{name}'" for name in names or [""])
    with setting(spark, USER_METADATA, msgspec.json.encode(names).decode()):
        run_sql(spark, f"DELETE FROM {quote_table(history, table)} WHERE {NAME} NOT IN ({listed})")
    return table


def chain(parts: Sequence[Part], upto: int) -> list[Part]:
    """Return parts that follow each other without a gap from the first batch to at most `upto`."""
    found: list[Part] = []
    while True:
        at = found[-1].upto if found else 0
        next_parts = [part for part in parts if part.since == at and at < part.upto <= upto]
        if not next_parts:
            return found
        found.append(max(next_parts))


def _find(spark: SparkSession, history: str, table: str) -> _Kept:
    """Return the newest version of a table and the parts of this revision that it has."""
    try:
        rows = run_sql(
            spark, f"DESCRIBE HISTORY {quote_table(history, table)} LIMIT {MOST_LOOKED_AT}"
        )
        commits = rows.select("version", "userMetadata").collect()
    except PySparkException as error:
        if is_missing(error):
            return _Kept(None, ())
        raise
    notes = [_NOTE.decode(row["userMetadata"]) for row in commits if row["userMetadata"]]
    return _Kept(commits[0]["version"], parts_of(notes))


def parts_of(notes: Sequence[Part | list[str]]) -> list[Part]:
    """Return the parts of this revision that stand, from the notes of commits, newest first.

    A list of names says which of the older parts were left when the others were deleted.
    """
    found: list[Part] = []
    left: list[str] | None = None
    for note in notes:
        if isinstance(note, Part):
            if note.revision == REVISION and (left is None or note.name in left):
                found.append(note)
        elif left is None:
            left = note
    return found


def _write(history: str, table: str, rows: DataFrame, part: Part) -> None:
    named = rows.withColumn(NAME, F.lit(part.name))
    writer = named.write.format("delta").mode("append").partitionBy(NAME)
    writer.options(mergeSchema="true", userMetadata=msgspec.json.encode(part).decode())
    # Without a transaction id Delta makes no commit of no rows, and new batches may have none to
    # count: all their results conform, or they have findings alone.
    writer.options(txnAppId=part.name, txnVersion=1, **KEEP_LOG)  # the parts stand in the log
    writer.save(path_of(history, table))


def _read(
    spark: SparkSession, history: str, table: str, version: int | None, parts: Sequence[Part]
) -> DataFrame:
    reader = spark.read.format("delta").option("versionAsOf", str(version))
    rows = reader.load(path_of(history, table))
    return rows.where(F.col(NAME).isin(*(part.name for part in parts)))
