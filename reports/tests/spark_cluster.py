"""A standalone Spark cluster on loopback from the installed pyspark: a master and two workers."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
UP_S = 180.0
SUBMIT_S = 900
END_S = 20.0
POLL_S = 0.1


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
    }


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java that soon ends: to compile it well costs more than it gains."""

QUICK = {
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "600m",
}
"""Settings for few rows."""


@contextmanager
def cluster(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """Have a master; return its URL once all workers are registered with it."""
    with ExitStack() as stack:
        log = folder / "master.log"
        stack.enter_context(daemon("master.Master", log, "--port", "0"))
        url = said(log, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            work = folder / f"work-{number}"
            options = ("--cores", "1", "--memory", "600m", "--work-dir", str(work), url)
            own = folder / f"worker-{number}.log"
            stack.enter_context(daemon("worker.Worker", own, "--port", "0", *options))
            said(own, r"(Successfully registered)")
        yield url


@contextmanager
def daemon(name: str, log: Path, *arguments: str) -> Iterator[None]:
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
            stdout=out,
            stderr=out,
            env=environment(),
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def said(log: Path, pattern: str) -> str:
    """Wait until a line of the log matches, and return its first group."""
    deadline = time.monotonic() + UP_S
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(POLL_S)
    raise AssertionError(f"{pattern} not in {log} within {UP_S} s:\n{log.read_text()[-2000:]}")


def submitted(
    url: str, job: Path, *arguments: str, code: Path
) -> subprocess.CompletedProcess[str]:
    """Run a job file by spark-submit as a user would."""
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        **QUICK,
    }
    settings = [word for item in options.items() for word in ("--conf", "=".join(item))]
    command = [str(HOME / "bin" / "spark-submit"), "--master", url, "--py-files", str(code)]
    return subprocess.run(
        [*command, *settings, str(job), *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=SUBMIT_S,
        check=False,
    )
