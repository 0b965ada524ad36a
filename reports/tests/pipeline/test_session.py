"""What Spark has to say, in one sentence."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from spark_cluster import QUICK

from wireproof_reports.pipeline import jars
from wireproof_reports.pipeline.bundles.worker import Batches
from wireproof_reports.pipeline.failure import first_line
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.session import (
    Wanted,
    is_local,
    session,
)
from wireproof_reports.pipeline.shipping import ship

LONG = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
"""


def multiple_failures() -> Exception:
    """Return Spark's error where two stages failed at once; it names neither failure."""
    error = PySparkException(
        "[STAGE_MATERIALIZATION_MULTIPLE_FAILURES] Multiple failures (2) in stage materialization:"
    )
    vars(error)["_cause"] = PySparkException(
        "[FAILED_READ_FILE] Expected Spark type string, found int64"
    )
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            Py4JError(
                LONG + "Caused by: x.SparkException: [A_B.C] It went wrong. SQLSTATE: KD001"
            ),
            "[A_B.C] It went wrong",
        ),
        (
            Py4JError(LONG + "Caused by: java.io.IOException: No space left on device\n\tat x"),
            "a disk is full: that of the history or that of Spark's temporary files, "
            "for which SPARK_LOCAL_DIRS can name another",
        ),
        (
            Py4JError(
                LONG + "Caused by: a.B: outer\nCaused by: java.net.ConnectException: refused"
            ),
            "refused",
        ),
        (
            PySparkException("[PATH_NOT_FOUND] No such path: x. SQLSTATE: 42K03"),
            "[PATH_NOT_FOUND] No such path: x",
        ),
        (multiple_failures(), "[FAILED_READ_FILE] Expected Spark type string, found int64"),
        (RuntimeError("Java gateway process exited"), "Java gateway process exited"),
        (RuntimeError(), "RuntimeError"),
    ],
    ids=["classed", "full", "innermost", "own", "multiple", "plain", "empty"],
)
def test_a_failure_is_told_by_the_line_that_tells_most(error: Exception, words: str) -> None:
    assert first_line(error) == words


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,3]"])
def test_local_masters(master: str) -> None:
    assert is_local(master)
    assert not is_local(f"spark://{master}:7077")


@pytest.mark.parametrize(("master", "sign"), [("local[1]", ":"), ("spark://127.0.0.1:1", ",")])
def test_a_folder_of_jars_with_a_separator_in_its_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, sign: str
) -> None:
    """Java took the path for two, and Spark said that a class of Delta is not found."""
    folder = tmp_path / f"jars{sign}1"
    folder.mkdir()
    (folder / "delta-spark_4.2_2.13-4.4.0.jar").write_bytes(b"x")
    monkeypatch.setattr("wireproof_reports.pipeline.session.check_java", lambda: None)
    monkeypatch.setattr(
        "wireproof_reports.pipeline.session._start", lambda *_: pytest.fail("Spark is started")
    )
    monkeypatch.setenv(jars.VARIABLE, str(folder))

    with (
        pytest.raises(SparkFault, match=f"without '{sign}' in its path.* found {folder}; "),
        session(Wanted(master), tmp_path / "log"),
    ):
        raise AssertionError


def test_what_the_user_sends_to_workers_is_sent_beside_the_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: dict[str, str] = {}

    def stop_at_start(builder: SparkSession.Builder, _log: Path) -> SparkSession:
        told.update(builder._options)  # pyright: ignore
        raise SparkFault("far enough")

    own = {"spark.archives": "env.tar.gz#env", "spark.executorEnv.PYTHONPATH": "env/more"}
    settings = {**own, "spark.jars": "delta.jar"}
    wanted = Wanted("spark://host:7077", settings=settings, unpacked=[Path("/x/c.zip")])
    monkeypatch.setattr("wireproof_reports.pipeline.session.check_java", lambda: None)
    monkeypatch.setattr("wireproof_reports.pipeline.session._start", stop_at_start)

    with pytest.raises(SparkFault, match="far enough"), session(wanted, tmp_path / "log"):
        pass

    assert {name: told[name] for name in own} == {
        "spark.archives": "/x/c.zip#c,env.tar.gz#env",
        "spark.executorEnv.PYTHONPATH": "c:env/more",
    }


def test_a_lack_of_temporary_folders_is_said_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wireproof_reports.pipeline.session.check_java", lambda: None)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    for start in (
        lambda: session(Wanted("local[1]"), tmp_path / "log"),
        lambda: ship(Wanted("spark://host:7077")),
    ):
        with (
            pytest.raises(SparkFault, match=r"no temporary folder.*No space left.*TMPDIR"),
            start(),
        ):
            raise AssertionError


def listening(process: int) -> set[str]:
    """Return the addresses, as the system writes them, at which a process listens.

    They are none if it has ended: workers of Spark come and go.
    """
    with suppress(FileNotFoundError, ProcessLookupError):
        return set(_list_listening(process))
    return set()


def _list_listening(process: int) -> Iterator[str]:
    sockets = set[str]()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            sockets.add(os.readlink(entry))
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{family}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and f"socket:[{words[9]}]" in sockets:
                yield words[1].partition(":")[0]


LISTENS = "0A"
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same in IPv6, and ::1, in the byte order of this machine."""


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system has no /proc")
def test_no_port_of_a_local_driver_is_open_to_other_machines(tmp_path: Path) -> None:
    def double(batches: Batches) -> Batches:
        yield from batches

    with session(Wanted("local[2]", settings=QUICK), tmp_path / "log") as spark:
        spark.range(10).repartition(2).mapInArrow(double, "id long").count()
        children = [
            int(entry.name)
            for entry in Path("/proc").glob("[0-9]*")
            if os.getpid() in parents(int(entry.name))
        ]
        found = {process: listening(process) for process in (os.getpid(), *children)}

    assert set[str]().union(*found.values()) <= LOOPBACK, found
    assert any(found.values())


def parents(process: int) -> set[int]:
    """Return the processes above one; none if it has ended."""
    above = set[int]()
    while process > 1:
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return set()
        process = int(stat.rpartition(")")[2].split()[1])
        above.add(process)
    return above
