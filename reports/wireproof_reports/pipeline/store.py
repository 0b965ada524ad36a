"""Object stores: how long they are asked, and in which words their failures are told."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Protocol

from pyspark.sql import SparkSession

from wireproof_reports.pipeline.place import is_url

PATIENCE: Mapping[str, str] = {
    "spark.hadoop.fs.s3a.attempts.maximum": "0",
    "spark.hadoop.fs.s3a.connection.request.timeout": "15s",
    "spark.hadoop.fs.s3a.connection.timeout": "15s",
    "spark.hadoop.fs.s3a.retry.limit": "2",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "500ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "5",
}
"""By itself Hadoop repeats a request that is answered 503 twenty times, each time after twice as
long: for 58 hours; and one that is not answered for ten minutes. Here the first is repeated for
half a minute, the second twice. 15 s for an answer is the least that Hadoop allows."""

_PLACE = re.compile(r"\w on (\S+): ")
"""In Hadoop's errors of object stores: what an operation was on."""
_UNWELL = {
    r"Status Code: 5\d\d": "answered {}",
    r"(?i)time[d -]?out": "did not answer in time",
    r"ConnectException|UnknownHost|NoRouteToHost": "cannot be reached",
}
_CODE = re.compile(r"Status Code: (\d+)")
_ADVICE = (
    "see that it is well and that fs.s3a.endpoint is right, then run the command again; with "
    "--conf spark.hadoop.fs.s3a.retry.limit=N and spark.hadoop.fs.s3a.retry.throttle.limit=N it "
    "is asked more often"
)
_FILE = attrgetter("_jvm.org.apache.hadoop.fs.Path")
"""pyspark has no public names for the classes of its Java, nor for its settings of Hadoop."""
_HADOOP = attrgetter("_jsc.hadoopConfiguration")


class _File(Protocol):
    """What is used of Hadoop's Path."""

    def getFileSystem(self, settings: object) -> "_Store": ...


class _Store(Protocol):
    """What is used of Hadoop's FileSystem."""

    def exists(self, place: _File) -> bool: ...


def reach(spark: SparkSession, name: str) -> None:
    """Ask a store for what is at a URL; there may be nothing. A folder's name is no URL.

    Spark and Delta take a store that does not answer for one that has nothing there. A server of
    Spark Connect has its Java elsewhere, and is not asked.

    Raises:
        Py4JError: the store does not answer, or refuses to.
    """
    context = getattr(spark, "sparkContext", None)
    if is_url(name) and context is not None:
        place: _File = _FILE(context)(name)
        place.getFileSystem(_HADOOP(context)()).exists(place)


def describe_failure(line: str) -> str:
    """Return a sentence on the store of which a line of an error tells; empty if of none."""
    place = _PLACE.search(line)
    words = next((words for sign, words in _UNWELL.items() if re.search(sign, line)), "")
    if place is None or not words:
        return ""
    code = _CODE.search(line)
    return f"the object store of {place[1]} {words.format(code and code[1])}; {_ADVICE}"
