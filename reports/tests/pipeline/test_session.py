"""What Spark has to say, in one sentence."""

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from wireproof_reports.pipeline.session import first_line, is_local

LONG = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
"""


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
            "the disk with its temporary files is full; SPARK_LOCAL_DIRS can name another",
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
        (RuntimeError("Java gateway process exited"), "Java gateway process exited"),
        (RuntimeError(), "RuntimeError"),
    ],
    ids=["classed", "full", "innermost", "own", "plain", "empty"],
)
def test_a_failure_is_told_by_the_line_that_tells_most(error: Exception, words: str) -> None:
    assert first_line(error) == words


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,3]"])
def test_local_masters(master: str) -> None:
    assert is_local(master)
    assert not is_local(f"spark://{master}:7077")
