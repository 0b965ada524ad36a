"""The code that Spark workers on other machines get: this package, the spec, and protocols."""

import zipfile
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from wireproof_spec.protocol import Group, find_registered

PACKAGES = ("wireproof_spec", "wireproof_reports")
GROUPS = (Group.PROTOCOLS, Group.REPORTS)
"""What workers look up of a protocol: who made a target, what a clause says."""
_INFO = "wireproof_protocols-1.dist-info"
_METADATA = "Metadata-Version: 2.1\nName: wireproof-protocols\nVersion: 1\n"
_LEFT_OUT = ("__pycache__", "golden")


def archive(path: Path) -> Path:
    """Write the packages into a zip file from which Python can import them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(f"{_INFO}/METADATA", _METADATA)
        out.writestr(f"{_INFO}/entry_points.txt", "".join(_entry_points()))
        for package in _packages():
            for name, file in _files(resources.files(package), package):
                out.writestr(name, file.read_bytes())
    return path


def _packages() -> Iterable[str]:
    """Return the names of the packages: ours, and those that register protocols."""
    entries = (entry for group in GROUPS for entry in find_registered(group).values())
    return dict.fromkeys((*PACKAGES, *(entry.module.partition(".")[0] for entry in entries)))


def _entry_points() -> Iterator[str]:
    for group in GROUPS:
        yield f"[{group}]\n"
        yield from (f"{name} = {entry.value}\n" for name, entry in find_registered(group).items())


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            yield from _files(entry, f"{name}/{entry.name}")
        else:
            yield f"{name}/{entry.name}", entry
