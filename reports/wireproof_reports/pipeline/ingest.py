"""Taking bundles into a history, each once by its hash, whenever it is killed: a Spark job.

The workers hash all bundles; the driver leaves out those whose hash is in ``runs``; the workers
read the others, and the tables are written, one commit each (see `history`).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline import landing
from wireproof_reports.pipeline.attempt import WAIT_S, Attempt, Conflict, begin, merge_files
from wireproof_reports.pipeline.columns import spark_schema, worker_columns
from wireproof_reports.pipeline.history import Published, read_published, read_table
from wireproof_reports.pipeline.incoming import NO_NAMING, TargetNaming
from wireproof_reports.pipeline.landing import Refused, Seen
from wireproof_reports.pipeline.owner import Pause
from wireproof_reports.pipeline.place import HistoryFault, is_url
from wireproof_reports.pipeline.worker import (
    BUNDLE,
    FAULTY,
    PACKED_DDL,
    make_reader,
    make_unpacker,
    refused_row,
)
from wireproof_spec.history import FIRST, LAST, TABLES

MOST_AT_ONCE = 5_000
"""Bundles of one batch: what it holds back until all is read must fit on the disk."""
COMPACT_EVERY = 32
"""Batches after which Delta merges what they left, small files one and all."""
MOST_LISTED = 10_000
TRIES = 5

Tell = Callable[[int, int], None]
"""Told after each batch: how many bundles are in, of how many."""


@dataclass(frozen=True, slots=True)
class QuarantinedLine:
    """A line of a result file (bundle) that cannot be read, and the reason."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class IngestResult:
    """The result of an ingest: how many bundles and rows were added, and what was not.

    ``lines`` are all that went into the quarantine, ``quarantined`` the first ones of each batch.
    """

    bundles: int = 0
    already: int = 0
    results: int = 0
    findings: int = 0
    lines: int = 0
    quarantined: list[QuarantinedLine] = field(default_factory=list[QuarantinedLine])
    refused: list[Refused] = field(default_factory=list[Refused])


@dataclass(frozen=True, slots=True)
class How:
    """The options of an ingest: naming of targets, strictness, and waiting for other writers.

    ``pause`` waits between two looks at whether another writer has ended.
    """

    naming: TargetNaming = NO_NAMING
    kit: str = ""
    strict: bool = False
    take_over: bool = False
    wait_s: float = WAIT_S
    pause: Pause = time.sleep


def silent(_done: int, _total: int) -> None:
    """Do nothing with the progress of an ingest."""


def ingest(
    spark: SparkSession,
    named: Sequence[str],
    history: str,
    *,
    how: How = How(),
    tell: Tell = silent,
) -> IngestResult:
    """Add bundles to a history; create the history if it does not exist.

    Raises:
        BundleFault: a name is no file, or a folder or URL has no bundle; or, if strict, a bundle
            is damaged or foreign.
        HistoryFault: the history is no history, newer, or in use.
    """
    local, urls = landing.split(named)
    paths, refused = landing.measure(landing.local_paths(local))
    frames = [landing.files(spark, paths)] if paths else []
    frames += [landing.files_at(spark, urls)] if urls else []
    for url in urls:
        refused += landing.refuse_large(landing.list_at(spark, url))
    return take(spark, frames, history, how=how, tell=tell, refused=refused)


def take(
    spark: SparkSession,
    frames: Sequence[DataFrame],
    history: str,
    *,
    how: How,
    tell: Tell = silent,
    refused: Sequence[Refused] = (),
) -> IngestResult:
    """Add bundles to a history; the rows of ``frames`` name the bundle files.

    ``refused`` are bundles that are refused before Spark reads them.

    Raises:
        BundleFault: if strict, a bundle is damaged or foreign; nothing was added.
        HistoryFault: the history is no history, newer, or in use.
    """
    taken = IngestResult()
    seen, unread = landing.look_at(frames)
    refused = [*refused, *unread]
    _refuse_if_strict(how, refused)
    taken.refused.extend(refused)
    new, copies = _unknown(spark, history, seen, taken)
    most = max(1, len(new)) if how.strict else MOST_AT_ONCE
    batches = [new[at : at + most] for at in range(0, len(new), most)] or [[]]
    for number, batch in enumerate(batches):
        # What is to be taken over may be all that there is to do.
        if batch or (number == 0 and (refused or how.take_over)):
            _take_batch(spark, batch, refused if number == 0 else [], history, how, taken)
        tell(min((number + 1) * most, len(new)), len(new))
    _count_copies(copies, taken)
    return taken


def _unknown(
    spark: SparkSession, history: str, seen: Sequence[Seen], taken: IngestResult
) -> tuple[list[Seen], list[Seen]]:
    """Return the bundles that the history does not have, each hash once, and their copies.

    Those that it has are counted.
    """
    known = _find_known(
        spark, history, read_published(spark, history), [one.bundle for one in seen]
    )
    new: dict[str, Seen] = {}
    copies: list[Seen] = []
    for one in seen:
        if one.bundle in known:
            taken.already += 1
        elif one.bundle in new:
            copies.append(one)
        else:
            new[one.bundle] = one
    return list(new.values()), copies


def _count_copies(copies: Sequence[Seen], taken: IngestResult) -> None:
    """Count copies of bundles of the same ingest: there already, or refused as the first one."""
    reasons = {one.bundle: one.reason for one in taken.refused}
    for one in copies:
        if one.bundle in reasons:
            reason = f"{one.path} is a copy of a bundle that is refused: {reasons[one.bundle]}"
            taken.refused.append(Refused(one.path, one.bundle, reason))
        else:
            taken.already += 1


def _find_known(
    spark: SparkSession, history: str, state: Published, bundles: Sequence[str]
) -> set[str]:
    if state.count(LAST) == 0 or not bundles:
        return set()
    asked = spark.createDataFrame(pa.table({"bundle": pa.array(bundles, pa.string())}))
    runs = read_table(spark, history, LAST, state).select("bundle")
    return {str(row[0]) for row in runs.join(F.broadcast(asked), "bundle", "left_semi").collect()}


def _take_batch(
    spark: SparkSession,
    batch: Sequence[Seen],
    refused: Sequence[Refused],
    history: str,
    how: How,
    taken: IngestResult,
) -> None:
    """Read bundles and write their rows; again where another writer came between."""
    packed = _read_packed(spark, batch, how.naming)
    packed.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        read = _Read.of(packed, batch)
        _refuse_if_strict(how, read.refused)
        taken.refused.extend(read.refused)
        for number in range(TRIES):
            try:
                with begin(
                    spark,
                    history,
                    kit=how.kit,
                    take_over=how.take_over,
                    wait_s=how.wait_s,
                    pause=how.pause,
                ) as attempt:
                    written = _write(attempt, packed, read, [*refused, *read.refused], taken)
            except _TakenMeanwhile as error:
                taken.already += len(error.bundles)
                left = read.bundles - error.bundles
                rest = [one for one in batch if one.bundle in left]
                _take_batch(spark, rest, [*refused, *read.refused], history, how, taken)
                return
            except Conflict as error:
                if number == TRIES - 1:
                    raise HistoryFault(
                        f"{history}: another process wrote to the table {error} during each of "
                        f"{TRIES} attempts; no bundle of this batch was added; run the command "
                        "again when that process has ended"
                    ) from error
            else:
                if written and attempt.batch % COMPACT_EVERY == 0:
                    merge_files(spark, history, how.kit)
                return
    finally:
        packed.unpersist()


class _TakenMeanwhile(Exception):
    """Another ingest has taken some of the same bundles meanwhile."""

    def __init__(self, bundles: set[str]) -> None:
        super().__init__(len(bundles))
        self.bundles = bundles


@dataclass(frozen=True, slots=True)
class _Read:
    """What the workers made of a batch."""

    bundles: set[str]
    rows: Counter[str]
    refused: list[Refused]

    @classmethod
    def of(cls, packed: DataFrame, batch: Sequence[Seen]) -> "_Read":
        """Have the workers read the bundles, and count what came of them.

        Raises:
            HistoryFault: a bundle was neither read nor refused.
        """
        name = F.when(F.col("of").isin(FAULTY, BUNDLE), F.col("packed")).alias("name")
        hashes = {one.path: one.bundle for one in batch}
        bundles: set[str] = set()
        refused: list[Refused] = []
        rows: Counter[str] = Counter()
        for row in packed.select("of", "rows", name, "fault").collect():
            if row["of"] == BUNDLE:
                bundles.add(bytes(row["name"]).decode())
            elif row["of"] == FAULTY:
                path = bytes(row["name"]).decode()
                refused.append(Refused(path, hashes[path], row["fault"]))
            else:
                rows[row["of"]] += row["rows"]
        if len(bundles) + len(refused) != len(batch):
            raise HistoryFault(
                f"of {len(batch)} bundles Spark read {len(bundles)} and refused {len(refused)}; "
                "no bundle of this batch was added; run the command again"
            )
        return cls(bundles, rows, sorted(refused, key=lambda one: one.path))


def _read_packed(spark: SparkSession, batch: Sequence[Seen], naming: TargetNaming) -> DataFrame:
    """Return what the workers make of these bundles."""
    local = [(one.path, one.size) for one in batch if not is_url(one.path)]
    urls = [landing.escape(one.path) for one in batch if is_url(one.path)]
    expected = {one.path: one.bundle for one in batch}
    frames = [landing.files(spark, local)] if local or not urls else []
    frames += [landing.files_at(spark, urls)] if urls else []
    parts = [frame.mapInArrow(make_reader(naming, expected), PACKED_DDL) for frame in frames]
    return parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])


def _write(
    attempt: Attempt,
    packed: DataFrame,
    read: _Read,
    refused: Sequence[Refused],
    taken: IngestResult,
) -> bool:
    """Write a batch's rows if there are any, and count what is in once it is published.

    Raises:
        Conflict: another writer came between.
        _TakenMeanwhile: the history has some of the bundles by now.
    """
    spark, history = attempt.spark, attempt.history
    known = _find_known(spark, history, attempt.state, sorted(read.bundles))
    if known:
        raise _TakenMeanwhile(known)
    refused_rows = list(_new_refused(attempt, refused))
    if not read.bundles and not refused_rows:
        return False
    for table in TABLES:
        rows, count = _rows(packed, table), read.rows[table]
        if table == "quarantine" and refused_rows:
            rows, count = rows.unionByName(_frame(spark, refused_rows)), count + len(refused_rows)
        if table != LAST and (count or table == FIRST):
            attempt.append(table, rows, count)
    attempt.publish(_collect_runs(packed, read), len(read.bundles))
    taken.bundles += len(read.bundles)
    taken.results += read.rows["results"]
    taken.findings += read.rows["findings"]
    taken.lines += read.rows["quarantine"]
    if read.rows["quarantine"]:
        taken.quarantined.extend(_list_quarantined(packed))
    return True


def _collect_runs(packed: DataFrame, read: _Read) -> DataFrame:
    """Return the rows of ``runs``, from the driver.

    To write them is to publish the batch. Where a worker is lost meanwhile Spark reads bundles
    again, and a bundle that was moved since would be missing.

    Raises:
        HistoryFault: a bundle's row is missing already.
    """
    runs = _rows(packed, LAST).toArrow()
    if runs.num_rows != len(read.bundles):
        raise HistoryFault(
            f"of {len(read.bundles)} bundles that Spark had read, {runs.num_rows} could be read "
            "again after a worker was lost; no bundle of this batch was added; run the command "
            "again"
        )
    schema = spark_schema(worker_columns(LAST))
    return packed.sparkSession.createDataFrame(runs, schema)


def _rows(packed: DataFrame, table: str) -> DataFrame:
    schema = spark_schema(worker_columns(table))
    mine = packed.where(F.col("of") == table).select("packed")
    return mine.mapInArrow(make_unpacker(table), schema)


def _new_refused(attempt: Attempt, refused: Sequence[Refused]) -> Iterator[dict[str, object]]:
    """Return the rows of refused bundles that the quarantine does not have yet.

    A bundle is known by its hash, whatever its name; one that cannot be read has none.
    """
    if not refused:
        return
    state = attempt.state
    known: set[str] = set()
    if state.count("quarantine"):
        rows = read_table(attempt.spark, attempt.history, "quarantine", state)
        whole = rows.where(F.col("line") == 0).select("bundle", "reason")
        known = {str(row[0] or row[1]) for row in whole.collect()}
    for one in refused:
        if (one.bundle or one.reason) not in known:
            known.add(one.bundle or one.reason)
            yield refused_row(one.path, one.bundle, one.reason)


def _frame(spark: SparkSession, rows: Sequence[dict[str, object]]) -> DataFrame:
    schema = spark_schema(worker_columns("quarantine"))
    return spark.createDataFrame(
        [[row.get(name) for name in schema.names] for row in rows], schema
    )


def _list_quarantined(packed: DataFrame) -> Iterator[QuarantinedLine]:
    rows = _rows(packed, "quarantine").select("file", "line", "reason").orderBy("file", "line")
    for row in rows.limit(MOST_LISTED).collect():
        yield QuarantinedLine(row["file"], row["line"], row["reason"])


def _refuse_if_strict(how: How, refused: Sequence[Refused]) -> None:
    if how.strict and refused:
        more = f", and {len(refused) - 1} more refused" if len(refused) > 1 else ""
        raise BundleFault(
            f"{refused[0].reason}{more}; no bundle of this batch was added (--strict): "
            "remove what is refused, or run without --strict"
        )
