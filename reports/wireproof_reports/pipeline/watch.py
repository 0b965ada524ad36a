"""An ingest that goes on: Structured Streaming tells which files are new, each a batch's share.

Which files were seen stands in a checkpoint beside the tables. A batch that was killed comes again
with the same files, and goes through the same code as any other: the history's own order of
commits sees to it that each bundle is there once.
"""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from wireproof_reports.pipeline import landing
from wireproof_reports.pipeline.ingest import How, IngestResult, take
from wireproof_reports.pipeline.place import CHECKPOINT, is_url, root_of

EVERY = "2 seconds"
MOST_FILES = 2_000
"""Files of one batch."""
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
        BundleFault: if strict, a bundle is damaged or foreign.
        HistoryFault: the history is no history, newer, or in use.
    """
    faults: list[Exception] = []

    def one(files: DataFrame, _number: int) -> None:
        paths = [(_plain(row["path"]), int(row["length"])) for row in files.collect()]
        wanted = [(path, size) for path, size in paths if landing.is_bundle(path)]
        if not wanted:
            return
        try:
            told(take(spark, _frames(spark, wanted), history, how=how))
        except Exception as error:  # Java would hand it on as words only
            faults.append(error)
            raise

    stream = (
        spark.readStream.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .option("pathGlobFilter", landing.GLOB)
        .option("maxFilesPerTrigger", str(MOST_FILES))
        .schema(SCHEMA)
        .load(root_of(folder))
        .select("path", "length")
    )
    writer = stream.writeStream.foreachBatch(one).option(
        "checkpointLocation", f"{root_of(history)}/{CHECKPOINT}"
    )
    trigger = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=EVERY)
    with _catch_interrupt() as asked:
        query = trigger.start()
        while query.isActive and not asked.is_set():
            asked.wait(POLL_S)
        _end(query)
    if faults:
        raise faults[0]
    error = query.exception()
    if error is not None:
        raise error


def _end(query: StreamingQuery) -> None:
    """Wait for the current batch to end, then stop."""
    while query.isActive and query.status["isTriggerActive"]:
        time.sleep(POLL_S)
    query.stop()


@contextmanager
def _catch_interrupt() -> Generator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set, instead of their usual effect."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _frames(spark: SparkSession, paths: list[tuple[str, int]]) -> list[DataFrame]:
    if is_url(paths[0][0]):
        urls = [landing.escape(path) for path, _ in paths]
        return [landing.files_at(spark, urls, content=True)]
    return [landing.files(spark, paths)]


def _plain(path: str) -> str:
    """Return a local path without its scheme."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path
