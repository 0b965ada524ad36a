"""What the workers of another machine get: this package and the law, as one archive."""

import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGES = ("wireproof_spec", "wireproof_reports")
_LEFT_OUT = ("__pycache__", "golden")


def archive(path: Path) -> Path:
    """Write the packages into a zip file from which Python can import them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for package in PACKAGES:
            for name, file in _files(resources.files(package), package):
                out.writestr(name, file.read_bytes())
    return path


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            yield from _files(entry, f"{name}/{entry.name}")
        else:
            yield f"{name}/{entry.name}", entry
