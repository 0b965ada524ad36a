"""The lock file of faults: what each fault turns red besides the clauses that it breaks.

`wireproof selftest --record` writes it beside the faults; nobody edits it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

LOCK = "faults.lock.toml"


def find_lock(package: str) -> Path:
    """Return the path of the lock file beside the `__file__` of the package of the faults."""
    return Path(package).with_name(LOCK)


def read_lock(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the clauses that each fault may turn red besides its own, by the fault's name.

    Without the file there are none: it is deleted to record everything afresh.
    """
    if not path.exists():
        return {}
    clauses: dict[str, list[str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return clauses
