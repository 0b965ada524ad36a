"""An error of Spark in one sentence."""

import re
from collections.abc import Iterator
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from wireproof_reports.pipeline.store import describe_failure

_CLASSED = re.compile(r"(\[[A-Z][A-Z0-9_.]+\] .*?)(?: SQLSTATE: \w+)?$")
_CAUSE = re.compile(r"(?:Caused by)?: [\w.$]+: (.+)")
_FULL = "No space left on device"
_NO_REASON = ("STAGE_MATERIALIZATION_MULTIPLE_FAILURES", "EXPRESSION_DECODING_FAILED")


def first_line(error: BaseException) -> str:
    """Return the most informative line of an error.

    Errors of Spark have a class in brackets; of other errors the innermost cause is used. Where
    several stages failed at once, or a row cannot be decoded, Spark's own line has no reason; the
    first cause has. A full disk and a failing object store are told wherever they stand.
    """
    cause = _cause_of(error)
    if cause and any(name in str(error) for name in _NO_REASON):
        return first_line(cause)
    lines = list(_lines(error))
    every = list(lines)
    while cause:
        every += _lines(cause)
        cause = _cause_of(cause)
    if any(_FULL in line for line in every):
        return (
            "a disk is full: that of the history or that of Spark's temporary files, "
            "for which SPARK_LOCAL_DIRS can name another"
        )
    described = [words for line in every if (words := describe_failure(line))]
    if described:
        return described[0]
    found = map(_CLASSED.search, lines)
    classed = [match[1].strip(" .") for match in found if match]
    causes = [match[1] for match in map(_CAUSE.match, lines) if match]
    return next(iter(classed or causes[::-1] or lines), type(error).__name__)


def _cause_of(error: BaseException) -> Exception | None:
    cause = getattr(error, "_cause", None)  # pyspark has no public name for it
    return cause if isinstance(cause, Exception) else None


def _lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of an error, those of its own class first."""
    told = [str(error)]
    if isinstance(error, PySparkException):
        with suppress(Py4JError):  # Spark has no words for the classes of Delta's errors
            told.insert(0, error.getMessage() or "")
    yield from (line.strip() for text in told for line in text.splitlines() if line.strip())
