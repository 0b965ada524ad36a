"""An ingest that goes on: Structured Streaming tells which files are new, each a batch's share.

Which files were seen stands in a checkpoint beside the tables. A batch that was killed comes again
with the same files, and goes through the same code as any other, by which each bundle is there
once.
"""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from wireproof_reports.pipeline.bundles import landing
from wireproof_reports.pipeline.ingest import How, IngestResult, take
from wireproof_reports.pipeline.lock import locked
from wireproof_reports.pipeline.place import CHECKPOINT, WATCH_LOCK, is_url, root_of
from wireproof_reports.pipeline.store import reach

EVERY = "2 seconds"
MOST_FILES = 2_000
"""Files of one batch."""
OLDEST = "36500d"
"""A file may be older than the newest one by so much, as Spark writes it. Spark's own limit is a
week: it would pass over an older bundle without a word, and ``mv`` keeps the time of a file. For
as long Spark keeps the names of the files that it has seen, in memory."""
POLL_S = 0.5
SCHEMA = "path string, modificationTime timestamp, length long, content binary"

Told = Callable[[IngestResult], None]
"""Told after each batch what it came to."""


def watch(
    spark: SparkSession,
    folder: str,
    history: str,
    *,
    how: How,
    told: Told,
    once: bool = False,
) -> None:
    """Add all bundles of a folder or URL to a history, and new ones until the user interrupts.

    With ``once`` it ends after the present ones.

    Raises:
        KeyboardInterrupt: the user interrupted while a batch waited for another writer.
        BundleFault: if strict, a bundle is damaged or foreign.
        HistoryFault: the history is no history, newer, in use, or watched already.
    """
    for name in (folder, history):
        reach(spark, name)
    faults: list[Exception] = []
    asked = threading.Event()

    def pause(seconds: float) -> None:
        if asked.wait(seconds):
            raise _Interrupted

    interruptible = replace(how, pause=pause)

    def one(files: DataFrame, _number: int) -> None:
        paths = [(landing.plain(row["path"]), int(row["length"])) for row in files.collect()]
        try:
            told(_take(spark, folder, paths, history, interruptible))
        except Exception as error:  # Java would hand it on as words only
            faults.append(error)
            raise

    stream = (
        spark.readStream.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", landing.GLOB)
        .option("maxFilesPerTrigger", str(MOST_FILES))
        .option("maxFileAge", OLDEST)
        .schema(SCHEMA)
        .load(landing.escape(root_of(folder)))
        .select("path", "length")
    )
    writer = stream.writeStream.foreachBatch(one).option(
        "checkpointLocation", f"{root_of(history)}/{CHECKPOINT}"
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=EVERY)
    # The checkpoint is the history's: of two that share it Spark ends one, no matter which.
    with locked(spark, history, 0, WATCH_LOCK):
        query = _run(trigger, asked)
    if faults:
        raise KeyboardInterrupt if isinstance(faults[0], _Interrupted) else faults[0]
    error = query.exception()
    if error is not None:
        raise error


class _Interrupted(Exception):
    """The user interrupted a batch that waited for another writer: nothing of it was written."""


def _run(trigger: DataStreamWriter, asked: threading.Event) -> StreamingQuery:
    """Run a query until it ends or the user interrupts; then the current batch ends first."""
    with _catch_interrupt(asked):
        query = trigger.start()
        while query.isActive and not asked.is_set():
            asked.wait(POLL_S)
        while query.isActive and query.status["isTriggerActive"]:
            time.sleep(POLL_S)
        query.stop()
    return query


@contextmanager
def _catch_interrupt(asked: threading.Event) -> Generator[None]:
    """Have SIGINT and SIGTERM set an event, instead of their usual effect."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _take(
    spark: SparkSession, folder: str, paths: list[tuple[str, int]], history: str, how: How
) -> IngestResult:
    if not any(is_url(path) for path, _ in paths):
        there, unread = landing.measure((Path(path) for path, _ in paths), Path(folder).resolve())
        frames = [landing.files(spark, there)] if there else []
        return take(spark, frames, history, how=how, refused=unread)
    refused = landing.refuse_large(paths)
    large = {one.path for one in refused}
    urls = [landing.escape(path) for path, _ in paths if path not in large]
    frames = [landing.files_at(spark, urls)] if urls else []
    return take(spark, frames, history, how=how, refused=refused)
