"""A Spark session: its settings, its log file, and its errors in words."""

import os
import queue
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from wireproof_reports.pipeline import jars
from wireproof_reports.pipeline.failure import first_line
from wireproof_reports.pipeline.jars import SparkFault, check_java
from wireproof_reports.pipeline.store import PATIENCE

Session: TypeAlias = SparkSession
"""For those who may not import Spark: the command line."""

ERRORS = (PySparkException, Py4JError, ConnectionError)
"""What Spark raises, some of it not in types of its own."""
OTHER_TEMP = "TMPDIR can name another disk"
# A standalone master and worker took 7 s to start and 21 to 24 s for a first job.
FIRST_JOB_S = 120.0
# With 3 GiB, questions to 50 million rows took no more memory than those to 10 million.
HEAP = "3g"
LOCAL = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?$")
LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\]):")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which Spark to use, where and with which settings.

    With an empty master the process that started this one decides, such as spark-submit: then the
    settings of this module are its affair, too, but for those without which answers are wrong.
    ``remote`` is the URL of a Spark Connect server. ``settings`` are settings of Spark. ``code``
    are archives of Python modules for the workers; ``unpacked`` are archives that must be unpacked
    there. A short job is spared what pays only in long ones.
    """

    master: str = "local[*]"
    remote: str = ""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    code: Sequence[Path] = ()
    unpacked: Sequence[Path] = ()
    is_short: bool = False

    @property
    def is_local(self) -> bool:
        """Whether Spark runs on this machine only."""
        return not self.remote and is_local(self.master)

    @property
    def has_delta(self) -> bool:
        """Whether somebody else sees to Delta's jars: the server, spark-submit, or the user.

        If the user sets ``spark.jars`` or ``spark.jars.packages``, these are taken to have Delta
        as soon as they name it.
        """
        own = (self.settings.get(name, "") for name in ("spark.jars", "spark.jars.packages"))
        return bool(self.remote) or not self.master or any("delta" in jars for jars in own)


_JAVA = "spark.driver.extraJavaOptions"
_ZONE = "spark.sql.session.timeZone"
_OLD_STATES = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
"""By default Delta refuses to open, or to restore, a version older than a table keeps its files,
though the files are there; a history whose newest batch is that old could not be written again
after a killed ingest."""
_ARCHIVES, _WORKER_PATH = "spark.archives", "spark.executorEnv.PYTHONPATH"
SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": HEAP,
    _JAVA: "-XX:+UseParallelGC",
    "spark.databricks.delta.snapshotPartitions": "2",
    _OLD_STATES: "false",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    _ZONE: "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    "spark.sql.shuffle.partitions": "16",
    **PATIENCE,
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
"""Java's default collector follows what is kept while questions run, and takes a core for it.
Without adaptive plans, or with many partitions, small histories take ten times as long. A first
level of hashing pays where groups are few; here they are many, and named by long texts. A job
that only lists the files of a year costs more than listing them one by one. Each commit of Delta
computes the table's state in so many tasks; its own 50 take 20 s on two cores."""

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""The setting with the metadata of a commit that a SQL statement makes."""

NEEDED = (
    "spark.sql.catalog.spark_catalog",
    "spark.sql.extensions",
    _OLD_STATES,
    _ZONE,
)
"""Those of the settings without which tables cannot be read, or days are others."""

SHORT: Mapping[str, str] = {
    _JAVA: "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
}
"""Of 50 s of CPU that one bundle cost in a new history, Java's second compiler took 17, and
its code is made too late for a job that soon ends: without it the job took 28. Of 200 bundles, one
after the other, it was 40 s without and 57 s with it; larger ingests were not measured. Without
its second compiler Java reserves 48 MiB for compiled code: an ingest of 30 bundles filled them
after 36 s and failed. With both it reserves 240."""


def is_local(master: str) -> bool:
    """Return True if Spark with this master runs on this machine only."""
    return LOCAL.match(master) is not None


Ready = Callable[[float], None]
"""Told when Spark has answered its first query, after how many seconds."""


@contextmanager
def session(wanted: Wanted, log: Path, ready: Ready | None = None) -> Generator[SparkSession]:
    """Start Spark and yield the session; the output of Spark and Java goes to the log.

    Raises:
        SparkFault: Java is missing, or the session cannot be started.
    """
    began = time.monotonic()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # it prints each refused statement as JSON
    with _session(wanted, log) as spark, in_words(log):
        if ready is not None:
            run_sql(spark, "select 1").collect()
            ready(time.monotonic() - began)
        yield spark


@contextmanager
def _session(wanted: Wanted, log: Path) -> Generator[SparkSession]:
    if wanted.remote:
        with _connect(wanted, log) as spark:
            yield spark
        return
    check_java()
    own = wanted.settings.get("spark.pyspark.python", sys.executable)
    with _environment(own), scratch_folder("wireproof-spark-") as scratch:
        builder = SparkSession.Builder().appName("wireproof")
        if wanted.master:
            builder.master(wanted.master)
        builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        own_settings = SETTINGS if wanted.master else {name: SETTINGS[name] for name in NEEDED}
        settings = {
            **own_settings,
            **(SHORT if wanted.is_short else {}),
            **_network(wanted.master),
            **wanted.settings,
            **ship_settings(replace(wanted, code=())),
        }
        if wanted.master:
            settings[_JAVA] = _with_archive(settings[_JAVA])
        for name, value in {**settings, **_delta(wanted)}.items():
            builder.config(name, value)
        spark = _start(builder, log)
        try:
            with in_words(log):
                # As a setting they would be sent by the first session of this process alone, and
                # a later one would fail: Java goes on looking for the files of the first.
                for code in wanted.code:
                    spark.sparkContext.addPyFile(str(code))
                if not wanted.is_local:
                    _refuse_without_workers(spark, wanted.master)
                yield spark
        finally:
            with _quiet(log):
                spark.stop()


def _with_archive(options: str) -> str:
    """Return options of Java with the archive of classes, if there is one."""
    archive = jars.class_archive()
    if "SharedArchiveFile" in options or not archive.exists():
        return options
    return f'{options} "-XX:SharedArchiveFile={archive}"'


@contextmanager
def _environment(worker_python: str) -> Generator[None]:
    """Set the variables that Spark reads, and restore them for what this process starts later."""
    wanted = {
        # Spark starts its workers with `python -m`, which imports from the current folder first.
        "PYTHONSAFEPATH": "1",
        "PYSPARK_PYTHON": worker_python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _connect(wanted: Wanted, log: Path) -> Generator[SparkSession]:
    """Yield a session on a Spark Connect server; the server has its own jars."""
    builder = SparkSession.Builder().appName("wireproof").remote(wanted.remote)
    for name, value in wanted.settings.items():
        builder.config(name, value)
    spark = _start(builder, log)
    try:
        with in_words(log):
            for name in (_OLD_STATES, _ZONE):
                spark.conf.set(name, SETTINGS[name])
            yield spark
    finally:
        spark.stop()


def _delta(wanted: Wanted) -> dict[str, str]:
    """Return the settings with which Spark finds Delta's jars; missing jars are fetched.

    Raises:
        SparkFault: the jars cannot be fetched, or lie where Spark cannot be told of them.
    """
    if wanted.has_delta:
        return {}
    name, separator = "spark.jars", ","
    if wanted.is_local:  # nothing to copy and to serve: half a second less
        name, separator = "spark.driver.extraClassPath", ":"
    try:
        return {name: jars.joined(separator, wanted.settings.get(name, ""))}
    except OSError as error:
        raise SparkFault(str(error)) from error


def run_sql(spark: SparkSession, statement: str) -> DataFrame:
    """Return the result of a SQL statement as a frame."""
    # pyspark leaves the elements of the unused parameter `args` untyped.
    return spark.sql(statement)  # pyright: ignore[reportUnknownMemberType]


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Generator[None]:
    """Give a setting of the session a value for a limited time."""
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


@contextmanager
def in_words(log: Path) -> Generator[None]:
    """Turn errors that Spark raises inside into a SparkFault with one sentence.

    Raises:
        SparkFault: a job failed.
    """
    try:
        yield
    except ERRORS as error:
        raise SparkFault(f"Spark reported an error: {first_line(error)} (see {log})") from error


def _refuse_without_workers(spark: SparkSession, master: str) -> None:
    """Run a job of one row: without workers, the first real job would wait forever.

    Raises:
        SparkFault: the job was not done in time.
    """
    answered: queue.SimpleQueue[int | Exception] = queue.SimpleQueue()

    def first_job() -> None:
        try:
            answered.put(spark.range(1).count())
        except ERRORS as error:
            answered.put(error)

    threading.Thread(target=first_job, daemon=True).start()
    try:
        answer = answered.get(timeout=FIRST_JOB_S)
    except queue.Empty as error:
        raise SparkFault(
            f"{master or 'the master'}: no worker ran a job of one row within "
            f"{FIRST_JOB_S:.0f} s; check that workers are registered there and have cores and "
            "memory free"
        ) from error
    if isinstance(answer, Exception):
        raise answer


@contextmanager
def scratch_folder(prefix: str) -> Generator[Path]:
    """Yield a temporary folder, which is deleted afterwards.

    Raises:
        SparkFault: the folder cannot be made.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        why = error.strerror or str(error)
        raise SparkFault(f"no temporary folder can be made ({why}); {OTHER_TEMP}") from error
    with made as name:
        yield Path(name)


def _network(master: str) -> dict[str, str]:
    """Return the settings that bind the driver to loopback if no other machine must reach it."""
    if is_local(master) or LOOPBACK.match(master):
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {}


def ship_settings(wanted: Wanted) -> dict[str, str]:
    """Return the settings with which workers get modules, packed and unpacked.

    The user's archives are sent, too.
    """
    told: dict[str, str] = {}
    if wanted.code:
        told["spark.submit.pyFiles"] = ",".join(map(str, wanted.code))
    if wanted.unpacked:
        places = [path.stem for path in wanted.unpacked]
        pairs = zip(wanted.unpacked, places, strict=True)
        told[_ARCHIVES] = ",".join(f"{path}#{place}" for path, place in pairs)
        told[_WORKER_PATH] = ":".join(places)
    for name, separator in ((_ARCHIVES, ","), (_WORKER_PATH, ":")):
        if name in told and wanted.settings.get(name):
            told[name] += separator + wanted.settings[name]
    return told


def _start(builder: SparkSession.Builder, log: Path) -> SparkSession:
    try:
        with _quiet(log):
            return builder.getOrCreate()
    except Exception as error:  # whatever Java says: py4j has no one type for it
        raise SparkFault(f"Spark cannot be started: {first_line(error)} (see {log})") from error


@contextmanager
def _quiet(log: Path) -> Generator[None]:
    """Send the output of Java processes to the log instead of the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with log.open("ab") as file:
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            yield
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
