"""A Spark session: its settings, a log for its output, and its failures as sentences."""

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

# The oldest Java that pyspark 4 runs on.
OLDEST_JAVA = 17
# A standalone master and worker took 7 s to start and 21 to 24 s for a first job.
FIRST_JOB_S = 120.0
# With 3 GiB, questions to 50 million rows took no more memory than those to 10 million.
HEAP = "3g"
LOCAL = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?$")
_CLASSED = re.compile(r"(\[[A-Z][A-Z0-9_.]+\] .*?)(?: SQLSTATE: \w+)?$")
_CAUSE = re.compile(r"(?:Caused by)?: [\w.$]+: (.+)")
_FULL = "No space left on device"
LOOPBACK = re.compile(r"spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\]):")


class SparkFault(Exception):
    """Spark cannot be started or did not answer; ``str()`` is one sentence for the user."""


SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": HEAP,
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
"""Java's default collector follows what is kept while questions run, and takes a core for it.
Without adaptive plans, or with many partitions, small histories take ten times as long. A first
level of hashing pays where groups are few; here they are many, and named by long texts. A job
that only lists the files of a year costs more than listing them one by one."""


def is_local(master: str) -> bool:
    """Return True if Spark works on this machine only."""
    return LOCAL.match(master) is not None


@contextmanager
def session(
    master: str, log: Path, *, settings: Mapping[str, str], code: Sequence[Path] = ()
) -> Generator[SparkSession]:
    """Open a Spark session; the output of Spark and Java goes to the log.

    An empty master means the one that started this process, as spark-submit does. ``code`` are
    archives of Python modules for the workers.

    Raises:
        SparkFault: there is no Java, or the session cannot be started.
    """
    check_java()
    # Spark starts its workers with `python -m`, which imports from the current folder first.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    wanted = {**SETTINGS, **_network(master), **_ship(code), **settings}
    with tempfile.TemporaryDirectory(prefix="wireproof-spark-") as scratch:
        builder = SparkSession.Builder().appName("wireproof aggregate")
        if master:
            builder.master(master)
        builder.config("spark.sql.warehouse.dir", str(Path(scratch) / "warehouse"))
        for name, value in wanted.items():
            builder.config(name, value)
        spark = _start_session(builder, log)
        try:
            with in_words(log):
                _refuse_without_workers(spark, master)
                yield spark
        finally:
            with _quiet(log):
                spark.stop()


@contextmanager
def in_words(log: Path) -> Generator[None]:
    """Turn errors of Spark into a SparkFault with one sentence.

    Raises:
        SparkFault: a job failed.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkFault(f"Spark could not answer: {first_line(error)} (see {log})") from error


def _refuse_without_workers(spark: SparkSession, master: str) -> None:
    """Run a job of one row; on a master without workers, the first real job would wait for ever.

    Raises:
        SparkFault: the job was not done in time.
    """
    answered: queue.SimpleQueue[int | Exception] = queue.SimpleQueue()

    def first_job() -> None:
        try:
            answered.put(spark.range(1).count())
        except (PySparkException, Py4JError, ConnectionError) as error:
            answered.put(error)

    threading.Thread(target=first_job, daemon=True).start()
    try:
        answer = answered.get(timeout=FIRST_JOB_S)
    except queue.Empty as error:
        raise SparkFault(
            f"{master or 'the master'} gave no worker to a job of one row within "
            f"{FIRST_JOB_S:.0f} s; are workers registered there, with cores and memory free?"
        ) from error
    if isinstance(answer, Exception):
        raise answer


def check_java() -> None:
    """Check that there is a Java that Spark can use.

    Raises:
        SparkFault: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME", "")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    where = f"JAVA_HOME ({home})" if home else "the PATH"
    advice = f"install Java {OLDEST_JAVA} or newer, for example with: make setup"
    if java is None or not os.access(java, os.X_OK):
        raise SparkFault(f"Spark needs Java, and there is none on {where}; {advice}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        told = f"Java {found[1]}" if found else "one that does not tell its version"
        raise SparkFault(f"Spark needs Java {OLDEST_JAVA}, found {told} on {where}; {advice}")


def _network(master: str) -> dict[str, str]:
    """Return the settings that bind the driver to loopback if no other machine must reach it."""
    if is_local(master) or LOOPBACK.match(master):
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {}


def _ship(code: Sequence[Path]) -> dict[str, str]:
    return {"spark.submit.pyFiles": ",".join(map(str, code))} if code else {}


def _start_session(builder: SparkSession.Builder, log: Path) -> SparkSession:
    try:
        with _quiet(log):
            return builder.getOrCreate()
    except Exception as error:  # whatever Java says: py4j has no one type for it
        raise SparkFault(f"Spark cannot be started: {first_line(error)} (see {log})") from error


def first_line(error: BaseException) -> str:
    """Return the line of an error that says most.

    Errors of Spark have a class in brackets; of other errors the innermost cause is used.
    """
    told = [str(error)]
    if isinstance(error, PySparkException):
        told.insert(0, error.getMessage() or "")
    lines = [line.strip() for text in told for line in text.splitlines() if line.strip()]
    if any(_FULL in line for line in lines):
        return "the disk with its temporary files is full; SPARK_LOCAL_DIRS can name another"
    found = map(_CLASSED.search, lines)
    classed = [match[1].strip(" .") for match in found if match]
    causes = [match[1] for match in map(_CAUSE.match, lines) if match]
    return next(iter(classed or causes[::-1] or lines), type(error).__name__)


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
