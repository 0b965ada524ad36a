"""The inputs of an ingest: bundle files, folders of bundles, and required packages."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from wireproof_reports.bundle_file import BundleFault

ENDINGS = (".jsonl", ".jsonl.gz")


def bundles_below(folder: Path) -> Iterator[Path]:
    """Yield all bundles in a folder and its subfolders, sorted by path.

    Raises:
        BundleFault: the folder has no bundle.
    """
    found = sorted(path for path in folder.rglob("*") if path.name.endswith(ENDINGS))
    if not found:
        raise BundleFault(f"{folder} has no bundle in it: no file ends in {' or '.join(ENDINGS)}")
    yield from found


def missing_package(names: tuple[str, ...]) -> str:
    """Return the first of these packages that is not installed, or an empty text."""
    return next((name for name in names if importlib.util.find_spec(name) is None), "")
