"""The cases that failed when they were last run, kept in a file for ``--lf``."""

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.run_cases import COUNTED
from wireproof_kit.text_file import read_bytes
from wireproof_spec.record import CaseRecord, WayRecord


def read_last_failed(path: Path) -> frozenset[str]:
    """Return the ids of the cases that failed in the last run; none if the file is missing."""
    if not path.is_file():  # what lies there may be a stranger's link to a device
        return frozenset()
    try:
        return msgspec.json.decode(read_bytes(path, "file"), type=frozenset[str])
    except (UsageFault, msgspec.DecodeError):
        return frozenset()


def has_last_failed(path: Path, known: Iterable[Instance]) -> bool:
    """Return True if some of these cases failed when they were last run."""
    failed = read_last_failed(path)
    return any(item.id in failed for item in known)


def keep_last_failed(
    path: Path, instances: Sequence[Instance], known: Sequence[Instance]
) -> tuple[Instance, ...]:
    """Return the instances that failed last time; if none of ``known`` failed, all instances."""
    if not has_last_failed(path, known):
        return tuple(instances)
    failed = read_last_failed(path)
    return tuple(item for item in instances if item.id in failed)


def write_last_failed(
    path: Path, records: Sequence[CaseRecord], ways: Sequence[WayRecord] = ()
) -> None:
    """Update the file of failed cases; cases that were not run keep their state.

    A case failed, too, if it showed that a way is broken that counts.
    """
    before = read_last_failed(path)
    failed = {record.case for record in records if record.verdict in COUNTED}
    failed |= {case for way in ways if way.counted for case in way.cases if _is_broken(way)}
    now = (before - {record.case for record in records}) | failed
    if now == before or path.parent.is_symlink():  # a stranger's folder may lead elsewhere
        return
    # As with pytest's cache: a run is no failure because what failed cannot be remembered.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # a symbolic link of that name would lead elsewhere
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(sorted(now), indent=1) + "\n")


def _is_broken(way: WayRecord) -> bool:
    return way.result.verdict in COUNTED
