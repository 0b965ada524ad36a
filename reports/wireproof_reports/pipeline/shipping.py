"""What the workers of another machine get: this package, the law and what registers it.

A worker must have Python of the driver's minor version, with pyarrow and numpy, without which
Spark hands no batches over. What else its part of the job imports is sent to it: modules in a
zip file, and the compiled package msgspec in an archive that Spark unpacks beside the executor.
"""

import tempfile
import zipfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from wireproof_reports.pipeline.session import Wanted
from wireproof_spec.protocol import Group, find_registered

PACKAGES = ("wireproof_spec", "wireproof_reports")
GROUPS = (Group.PROTOCOLS, Group.REPORTS)
"""What workers look up of a protocol: who made a target, what a clause says."""
_INFO = "wireproof_protocols-1.dist-info"
_METADATA = "Metadata-Version: 2.1\nName: wireproof-protocols\nVersion: 1\n"
_LEFT_OUT = ("__pycache__", "golden")
COMPILED = ("msgspec",)
"""Cannot be imported from a zip file; the workers' machines must be of the driver's kind."""


@contextmanager
def ship(wanted: Wanted) -> Generator[Wanted]:
    """Yield the wanted session with this package's code if its workers are on other machines."""
    if wanted.is_local or wanted.remote or not wanted.master:
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="wireproof-code-") as scratch:
        code = archive(Path(scratch) / "wireproof.zip")
        unpacked = archive_compiled(Path(scratch) / "wireproof-compiled.zip")
        yield replace(wanted, code=[code], unpacked=[unpacked])


def archive(path: Path) -> Path:
    """Write the Python packages that workers need into a zip file that Python can import from."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(f"{_INFO}/METADATA", _METADATA)
        out.writestr(f"{_INFO}/entry_points.txt", "".join(_entry_points()))
        for package in _packages():
            for name, file in _files(resources.files(package), package):
                out.writestr(name, file.read_bytes())
    return path


def archive_compiled(path: Path) -> Path:
    """Write the compiled packages that workers need into a zip file that Spark unpacks."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for package in COMPILED:
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
