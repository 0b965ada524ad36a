"""Adding bundles to a history, each once by its hash, whenever the process is killed: a Spark job.

The workers hash all bundles; the driver leaves out those that the history has; the workers read
the others, and what they read goes into the table in one commit for each batch (see `commit`).
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
from pyspark import Accumulator, AccumulatorParam, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles import landing
from wireproof_reports.pipeline.bundles.incoming import NO_NAMING, TargetNaming
from wireproof_reports.pipeline.bundles.landing import Refused, Seen
from wireproof_reports.pipeline.bundles.worker import Outcome, make_reader, refused_rows
from wireproof_reports.pipeline.columns import SPARK
from wireproof_reports.pipeline.commit import Conflict, add_rows, optimize, own_session, undo
from wireproof_reports.pipeline.lock import Pause, writer_lock
from wireproof_reports.pipeline.place import HistoryFault, is_url
from wireproof_reports.pipeline.session import ERRORS
from wireproof_reports.pipeline.store import reach
from wireproof_reports.pipeline.table import ADDED, Note, State, read_state, read_table

MOST_AT_ONCE = 5_000
"""Bundles of one batch: so many hashes and outcomes are kept by the driver."""
MOST_LISTED = 10_000
COMPACT_EVERY = 32
"""Batches after which Delta merges what they left, small files one and all."""
TRIES = 20
"""Attempts to add a batch: each that fails has let another writer's batch in."""
WAIT_S = 600.0

_REFUSED = re.compile(r"BundleFault: (.*)")
"""In Spark's error, what a worker raised where the ingest is strict."""

Tell = Callable[[int, int], None]
"""Told while bundles are read: how many were, of how many."""


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
    ``unused`` counts the bundles for which a given vendor or version was not used.
    """

    bundles: int = 0
    already: int = 0
    results: int = 0
    findings: int = 0
    lines: int = 0
    quarantined: list[QuarantinedLine] = field(default_factory=list[QuarantinedLine])
    refused: list[Refused] = field(default_factory=list[Refused])
    unused: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class How:
    """The options of an ingest: naming of targets, strictness, and waiting for other writers.

    ``pause`` waits between two attempts to lock the history.
    """

    naming: TargetNaming = NO_NAMING
    kit: str = ""
    strict: bool = False
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
    for url in urls:
        reach(spark, url)
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
    if how.strict and refused:
        raise BundleFault(_strict(refused[0].reason, len(refused) - 1))
    new, copies = _apart(seen)
    most = max(1, len(new)) if how.strict else MOST_AT_ONCE
    batches = [new[at : at + most] for at in range(0, len(new), most)] or [[]]
    own = own_session(spark)
    for number, batch in enumerate(batches):
        progress = _Progress(tell, number * most, len(new))
        first = refused if number == 0 else []
        if batch or first:
            _Batch(own, history, batch, first, how, progress).add_to(taken)
    _count_copies(copies, taken)
    return taken


def _apart(seen: Sequence[Seen]) -> tuple[list[Seen], list[Seen]]:
    """Return the bundles, each hash once, and their copies."""
    new: dict[str, Seen] = {}
    copies = [one for one in seen if new.setdefault(one.bundle, one) is not one]
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


class _Progress(AccumulatorParam[list[Outcome]]):
    """Collects the outcomes that workers report, and tells how many there are.

    In a worker it is a copy that tells nobody.
    """

    def __init__(self, tell: Tell = silent, before: int = 0, total: int = 0) -> None:
        self._tell, self._before, self._total = tell, before, total

    def __reduce__(self) -> tuple[type["_Progress"], tuple[()]]:
        return _Progress, ()

    def zero(self, value: list[Outcome]) -> list[Outcome]:
        return []

    def addInPlace(self, value1: list[Outcome], value2: list[Outcome]) -> list[Outcome]:
        value1.extend(value2)
        self._tell(self._before + len(value1), self._total)
        return value1


@dataclass(frozen=True, slots=True)
class _Batch:
    """Bundles, and refused ones, that are added to a history in one commit."""

    own: SparkSession
    history: str
    bundles: Sequence[Seen]
    refused: Sequence[Refused]
    how: How
    progress: _Progress

    def add_to(self, taken: IngestResult) -> None:
        """Add the batch; begin again where another writer has committed meanwhile.

        Raises:
            BundleFault: if strict, a bundle is damaged; nothing was added.
            HistoryFault: other writers committed during every attempt.
        """
        if self.how.strict:
            self._refuse_damaged()
        for _ in range(TRIES):
            try:
                with writer_lock(self.own, self.history, self.how.wait_s, self.how.pause):
                    self._add(taken)
                return
            except Conflict:
                continue
        raise HistoryFault(
            f"{self.history}: other processes wrote to it during each of {TRIES} attempts; no "
            "bundle of this batch was added; run the command again when they have ended"
        )

    def _refuse_damaged(self) -> None:
        """Read all bundles that are to be added before anything is written.

        Raises:
            BundleFault: a bundle is damaged.
        """
        state = read_state(self.own, self.history)
        keys = [one.bundle for one in self.bundles]
        known, _ = _find_known(self.own, self.history, state, keys)
        faults = self._read_alone([one for one in self.bundles if one.bundle not in known])
        if faults:
            raise BundleFault(_strict(min(faults.values()).fault, len(faults) - 1))

    def _add(self, taken: IngestResult) -> None:
        state = read_state(self.own, self.history)
        keys = [*(one.bundle for one in self.bundles), *map(_key, self.refused)]
        known, quarantined = _find_known(self.own, self.history, state, keys)
        new = [one for one in self.bundles if one.bundle not in known]
        refused = list({_key(o): o for o in self.refused if _key(o) not in quarantined}.values())
        # A bundle that was refused before is read by itself first: it must get no second row.
        again = self._read_alone([one for one in new if one.bundle in quarantined])
        new = [one for one in new if one.path not in again]
        done = self._commit(state, new, refused) if new or refused else {}
        taken.already += len(known)
        taken.refused.extend(self.refused)
        _count(self.bundles, {**done, **again}, taken)
        if done and (state.note.batch + 1) % COMPACT_EVERY == 0:
            with suppress(Conflict):  # others merge the same files
                optimize(self.own, self.history)

    def _read_alone(self, bundles: Sequence[Seen]) -> dict[str, Outcome]:
        """Read bundles and write nothing; return what came of those that are refused."""
        if not bundles:
            return {}
        outcomes = self.own.sparkContext.accumulator(list[Outcome](), _Progress())
        self._rows(bundles, [], outcomes, strict=False).count()
        return {outcome.path: outcome for outcome in outcomes.value if outcome.fault}

    def _commit(
        self, state: State, new: Sequence[Seen], refused: Sequence[Refused]
    ) -> dict[str, Outcome]:
        """Have the workers read the new bundles, and add their rows; return what came of each.

        The rows are kept and counted before they are added: with a wrong number nothing is.

        Raises:
            HistoryFault: there are more or fewer rows than the workers have read.
        """
        outcomes = self.own.sparkContext.accumulator(list[Outcome](), self.progress)
        note = Note(ADDED, kit=self.how.kit, batch=state.note.batch + 1, oldest=state.oldest)
        read_once = self._rows(new, refused, outcomes, strict=self.how.strict)
        # Kept as Delta keeps the source of a MERGE; in columns, by `persist`, it cost 17 % more.
        rows = read_once.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK)
        with _strict_refusal():
            count = rows.count()
            done = {outcome.path: outcome for outcome in outcomes.value}  # a task may run twice
            read = len(refused) + sum(sum(o.rows.values()) or 1 for o in done.values())
            if len(done) != len(new) or read != count:
                raise HistoryFault(
                    f"{self.history}: Spark read {read} rows of {len(done)} bundles and kept "
                    f"{count} where {len(new)} bundles were to be read; nothing of this batch was "
                    "added; run the command again"
                )
            written = add_rows(self.own, self.history, state, rows, note)
        if written != count:
            undo(self.own, self.history, [note.batch], f"Spark wrote {written} rows of {count}")
        return done

    def _rows(
        self,
        new: Sequence[Seen],
        refused: Sequence[Refused],
        outcomes: Accumulator[list[Outcome]],
        *,
        strict: bool,
    ) -> DataFrame:
        """Return the rows of bundles, read when they are written, and those of refused ones."""
        local = [(one.path, one.size) for one in new if not is_url(one.path)]
        urls = [landing.escape(one.path) for one in new if is_url(one.path)]
        frames = [landing.files(self.own, local)] if local else []
        frames += [landing.files_at(self.own, urls)] if urls else []
        expected = {one.path: one.bundle for one in new}
        reader = make_reader(self.how.naming, expected, outcomes, strict=strict)
        parts = [frame.mapInArrow(reader, SPARK) for frame in frames]
        if refused:
            batch = refused_rows([(one.path, one.bundle, one.reason) for one in refused])
            parts.append(self.own.createDataFrame(pa.Table.from_batches([batch]), SPARK))
        return reduce(DataFrame.unionByName, parts)


def _count(bundles: Sequence[Seen], done: Mapping[str, Outcome], taken: IngestResult) -> None:
    """Count what came of the bundles that were read."""
    lines: list[QuarantinedLine] = []
    for one in bundles:
        outcome = done.get(one.path)
        if outcome is None:
            continue
        if outcome.fault:
            taken.refused.append(Refused(one.path, one.bundle, outcome.fault))
            continue
        taken.bundles += 1
        taken.unused.update(outcome.unused)
        taken.results += outcome.rows["results"]
        taken.findings += outcome.rows["findings"]
        taken.lines += outcome.rows["quarantine"]
        file = one.path.rpartition("/")[2]
        lines.extend(QuarantinedLine(file, *line) for line in outcome.lines)
    taken.quarantined.extend(lines[:MOST_LISTED])
    taken.refused.sort(key=lambda one: one.path)


def _key(refused: Refused) -> str:
    """Return what tells a refused bundle from others: its hash; its reason if it has none."""
    return refused.bundle or refused.reason


def _find_known(
    spark: SparkSession, history: str, state: State, keys: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return those of some hashes, or reasons, that the history has: as runs, and as refused."""
    if state.version < 0:
        return set(), set()
    asked = spark.createDataFrame(pa.table({"key": pa.array(keys, pa.string())}))
    table = read_table(spark, history, state)
    is_refused = (F.col("kind") == "quarantine") & (F.col("line") == 0)
    key = F.when(F.col("bundle") == "", F.col("reason")).otherwise(F.col("bundle"))
    whole = table.where((F.col("kind") == "run") | is_refused).select("kind", key.alias("key"))
    matches = whole.join(F.broadcast(asked), "key", "left_semi").distinct().collect()
    runs, refused = ({r["key"] for r in matches if r["kind"] == k} for k in ("run", "quarantine"))
    return runs, refused


@contextmanager
def _strict_refusal() -> Generator[None]:
    """Turn an error of Spark into that of the worker that refused a bundle, where it is one.

    Raises:
        BundleFault: the ingest is strict, and a bundle was refused.
    """
    try:
        yield
    except ERRORS as error:
        if reason := _REFUSED.search(str(error)):
            raise BundleFault(_strict(reason[1], 0)) from error
        raise


def _strict(reason: str, more: int) -> str:
    others = f", and {more} more refused" if more else ""
    return (
        f"{reason}{others}; no bundle of this batch was added (--strict): "
        "remove what is refused, or run without --strict"
    )
