"""The limits that the system sets for the kit's process: raised at the start, and what runs need.

Children inherit the raised limits: the embedded reference, a ``--restart`` command, drivers and
adapters. A broker with the usual 256 or 1,024 open files would reach the limit in a run, and look
as if it did not answer.
"""

import resource
from contextlib import suppress

from wireproof_kit.drivers.processor import HELPERS
from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.process import usage

FILES_MOST = 1 << 16
"""More open files are not asked for: where a billion are allowed, programs that look at each
number that a file may have take minutes to start."""
RAISED = ("RLIMIT_NPROC", "RLIMIT_AS", "RLIMIT_DATA")
BASE_FILES = 64
"""Open files that a run needs besides those of cases that wait at once."""
CASE_FILES = 16
"""Open files of one case that runs beside others, with some to spare: a case for clients, which
plays four servers, needs more than one for brokers."""
SHARE = 0.5
"""The share of the other files that cases may have; topics are created with the rest."""
SPARE_FILES = 4
"""A process that may open so few more files cannot accept connections as they come."""


def raise_limits() -> None:
    """Raise the soft limits of this process as far as it may: files, processes, memory."""
    _raise(resource.RLIMIT_NOFILE, most=FILES_MOST)
    for name in RAISED:
        if hasattr(resource, name):  # not every system has all
            _raise(getattr(resource, name))


def _raise(which: int, *, most: int | None = None) -> None:
    soft, hard = resource.getrlimit(which)
    wanted = hard if most is None else _least(hard, most)
    if soft != resource.RLIM_INFINITY and _least(soft, wanted) == soft != wanted:
        with suppress(OSError, ValueError):  # the system may set a lower limit than it tells
            resource.setrlimit(which, (wanted, hard))


def _least(*limits: int) -> int:
    """Return the lowest of some limits; infinity, which is a negative number, is the highest."""
    finite = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(finite, default=resource.RLIM_INFINITY)


def files_limit() -> int:
    """Return how many files this process may have open at once; FILES_MOST at the most."""
    return _least(resource.getrlimit(resource.RLIMIT_NOFILE)[0], FILES_MOST)


def fit_files(most: int, files: int) -> int:
    """Return how many of ``most`` things, with so many open files each, fit the limit at once."""
    left = (files_limit() - BASE_FILES) * SHARE
    return max(min(most, int(left / files)), 0)


def fit_cases(most: int) -> int:
    """Return how many of ``most`` cases may wait at once with the open files of this process.

    Raises:
        UsageFault: not one may.
    """
    fitting = fit_files(most, CASE_FILES)
    if not fitting:
        raise UsageFault(
            f"this process may have {files_limit()} open files, and a run needs at least "
            f"{needed_files(1)}; raise the hard limit (ulimit -Hn)"
        )
    return fitting


def needed_files(cases: int) -> int:
    """Return how many open files a run needs in which so many cases may wait at once."""
    return BASE_FILES + int(cases * CASE_FILES / SHARE)


def describe_few_files(cases: int) -> str:
    """Return a sentence if fewer than so many cases may wait at once; empty if all may.

    Raises:
        UsageFault: not one may.
    """
    fitting = fit_cases(cases)
    if fitting == cases:
        return ""
    return (
        f"this process may have {files_limit()} open files: {fitting} cases wait at once, not "
        f"{cases}, which need {needed_files(cases)} (ulimit -Hn)"
    )


def has_exhausted_helper() -> bool:
    """Return True if a process that the kit started has used up its open files."""
    for pid in HELPERS.list_pids():
        used = usage(pid)
        if used is None:  # as everywhere but on Linux, which alone has prlimit
            continue
        with suppress(OSError):  # it has ended
            limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
            if limit != resource.RLIM_INFINITY and used.files > limit - SPARE_FILES:
                return True
    return False
