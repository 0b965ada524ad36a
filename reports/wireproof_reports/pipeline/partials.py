"""What aggregates keep beside a history: results counted once, so that only new ones are read.

A partial covers the batches from one number to another. The next aggregate makes one for the
batches that came since, and asks all of them together; each is a commit of a Delta table whose
metadata names the numbers. Nothing is changed, and each has a name of its own, so that any number
of aggregates may do this at once: what overlaps is left out of the chain that is read. Whatever is
kept could be counted again from the results: an aggregate that cannot read or write it says so,
and counts for itself alone.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.pipeline.history import MOST_LOOKED_AT, is_missing, path_of, quote_table
from wireproof_reports.pipeline.place import PARTIALS
from wireproof_reports.pipeline.session import run_sql

NAME = "part"
"""The partition column: the part that a row belongs to."""
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
    """Kept counts of the batches after number ``since`` up to ``upto``."""

    since: int
    upto: int
    name: str


def read_kept(
    spark: SparkSession, history: str, partial: Partial, results: DataFrame, upto: int
) -> DataFrame:
    """Return the kept counts of all batches up to a number; missing ones are counted and kept.

    Raises:
        PySparkException: what is kept cannot be read, or nothing can be written there.
        DecodeError: a commit has a note that is not of this module.
    """
    table = f"{PARTIALS}/{partial.name}"
    parts = chain(_parts(spark, history, table), upto)
    since = parts[-1].upto if parts else 0
    if since < upto:
        is_long = len(parts) >= MOST_IN_CHAIN
        begin = 0 if is_long and partial.add_up is None else since
        new = partial.count(results.where(F.col("batch") > begin))
        if is_long and partial.add_up is not None:
            new = partial.add_up(_read(spark, history, table, parts).unionByName(new))
        since, parts = (0, []) if is_long else (since, parts)
        parts = [*parts, Part(since, upto, uuid.uuid4().hex)]
        _write(history, table, new, parts[-1])
    return _read(spark, history, table, parts)


def chain(parts: Sequence[Part], upto: int) -> list[Part]:
    """Return parts that follow each other without a gap from the first batch to at most `upto`."""
    found: list[Part] = []
    while True:
        at = found[-1].upto if found else 0
        next_parts = [part for part in parts if part.since == at and at < part.upto <= upto]
        if not next_parts:
            return found
        found.append(max(next_parts))


def _parts(spark: SparkSession, history: str, table: str) -> list[Part]:
    """Return the parts that are there."""
    try:
        rows = run_sql(
            spark, f"DESCRIBE HISTORY {quote_table(history, table)} LIMIT {MOST_LOOKED_AT}"
        )
        notes = [row[0] for row in rows.select("userMetadata").collect()]
    except PySparkException as error:
        if is_missing(error):
            return []
        raise
    return [msgspec.json.decode(note, type=Part) for note in notes if note]


def _write(history: str, table: str, rows: DataFrame, part: Part) -> None:
    named = rows.withColumn(NAME, F.lit(part.name))
    writer = named.write.format("delta").mode("append").partitionBy(NAME)
    note = msgspec.json.encode(part).decode()
    writer.option("userMetadata", note).save(path_of(history, table))


def _read(spark: SparkSession, history: str, table: str, parts: Sequence[Part]) -> DataFrame:
    rows = spark.read.format("delta").load(path_of(history, table))
    return rows.where(F.col(NAME).isin(*(part.name for part in parts))).drop(NAME)
