"""The inputs of an ingest: bundle files, folders of bundles, and required packages."""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from wireproof_reports.bundle_file import BundleFault

ENDINGS = (".jsonl", ".jsonl.gz")
FEW_BYTES = 1024 * 1024 * 1024
"""Up to so many an ingest is over before Java's second compiler has paid for itself."""
_PACKED = 8
"""A bundle packed with gzip stands for so many times its bytes."""


def bundles_below(folder: Path) -> Iterator[Path]:
    """Yield all bundles in a folder and its subfolders, sorted by path, and links to elsewhere.

    Links are not followed. What a link within the folder leads to is found without it; a link that
    leads elsewhere is yielded as it is, so that it is refused and not passed over.

    Raises:
        BundleFault: the folder has no bundle, or a subfolder cannot be read.
    """
    bundles = sorted(_find_bundles(folder))
    if not bundles:
        raise BundleFault(no_bundle(str(folder)))
    yield from bundles


def _find_bundles(folder: Path) -> Iterator[Path]:
    # Path.rglob passes over folders that it may not read.
    inside = folder.resolve()
    for where, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        links = [name for name in folders if Path(where, name).is_symlink()]
        named = [name for name in names if name.endswith(ENDINGS)]
        for path in (Path(where, name) for name in (*links, *named)):
            is_found = (
                path.is_symlink() and path.exists() and path.resolve().is_relative_to(inside)
            )
            if not is_found:
                yield path


def _refuse_unreadable(error: OSError) -> None:
    raise BundleFault(f"cannot read {error.filename}: {error.strerror}") from error


def no_bundle(place: str) -> str:
    """Return the sentence that a folder or URL has no bundle."""
    return f"{place} has no bundle in it: no file ends in {' or '.join(ENDINGS)}"


def are_few(named: Sequence[str]) -> bool:
    """Return True if all named bundles are on this machine, and are small together."""
    size = 0
    for name in named:
        path = Path(name)
        for file in bundles_below(path) if path.is_dir() else [path]:
            try:
                size += file.stat().st_size * (_PACKED if file.suffix == ".gz" else 1)
            except OSError:  # the URL of an object store, or a file that will be refused
                return False
            if size > FEW_BYTES:
                return False
    return True


def missing_package(names: tuple[str, ...]) -> str:
    """Return the first of these Python packages that is not installed, or an empty text."""
    return next((name for name in names if importlib.util.find_spec(name) is None), "")
