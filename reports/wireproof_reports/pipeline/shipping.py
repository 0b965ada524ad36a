"""What the workers of another machine get: this package, the law and what registers it.

A worker must have Python of the driver's minor version, with pyarrow and numpy, without which
Spark hands no batches over. What else its part of the job imports is sent to it: modules in a
zip file, and the compiled package msgspec in an archive that Spark unpacks beside the executor.

    python -m wireproof_reports.pipeline.shipping FOLDER

writes these, the job, and the settings of spark-submit that name them.
"""

import sys
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from importlib.metadata import distributions
from importlib.resources.abc import Traversable
from pathlib import Path

from wireproof_reports.pipeline import jars
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.session import (
    OTHER_TEMP,
    SETTINGS,
    Wanted,
    scratch_folder,
    ship_settings,
)
from wireproof_spec.protocol import Group, find_registered

PACKAGES = ("wireproof_spec", "wireproof_reports")
GROUPS = (Group.PROTOCOLS, Group.REPORTS)
"""What workers look up of a protocol: who made a target, what a clause says."""
NAMED = (*GROUPS, Group.REPLAYERS)
"""Of replayers workers only ask whether a protocol has one."""
JOB = "job.py"
"""The job for spark-submit, in this package."""
_SHIPPED = "wireproof-protocols"
VERSION = next(one.version for name in ("wireproof", _SHIPPED) for one in distributions(name=name))
"""Of this package, where it is installed, or shipped."""
_INFO = f"{_SHIPPED.replace('-', '_')}-{VERSION}.dist-info"
_METADATA = f"Metadata-Version: 2.1\nName: {_SHIPPED}\nVersion: {VERSION}\n"
_LEFT_OUT = ("__pycache__", "golden")
COMPILED = ("msgspec",)
"""Cannot be imported from a zip file; the workers' machines must be of the driver's kind."""


@contextmanager
def ship(wanted: Wanted) -> Generator[Wanted]:
    """Yield the wanted session with this package's code if its workers are on other machines."""
    if wanted.is_local or wanted.remote or not wanted.master:
        yield wanted
        return
    with scratch_folder("wireproof-code-") as scratch:
        try:
            told = _with_code(wanted, scratch)
        except OSError as error:
            why = error.strerror or str(error)
            raise SparkFault(f"{scratch} cannot be written ({why}); {OTHER_TEMP}") from error
        yield told


def _with_code(wanted: Wanted, folder: Path) -> Wanted:
    code = archive(folder / "wireproof.zip")
    unpacked = archive_compiled(folder / "wireproof-compiled.zip")
    return replace(wanted, code=[code], unpacked=[unpacked])


def write_submission(folder: Path) -> Path:
    """Write job, code and settings for spark-submit into a folder; return the settings' file.

    Raises:
        JarFault: Delta's jars cannot be fetched, or lie where Spark cannot be told of them.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        **SETTINGS,
        **ship_settings(_with_code(Wanted(master=""), folder)),
        "spark.jars": jars.joined(","),
        "spark.pyspark.driver.python": sys.executable,
    }
    (folder / JOB).write_bytes((resources.files("wireproof_reports") / JOB).read_bytes())
    file = folder / "spark.conf"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


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
    for group in NAMED:
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


def main(arguments: Sequence[str]) -> int:
    """Write what spark-submit needs into a folder; return 0, or 2 after a sentence."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("python -m wireproof_reports.pipeline.shipping FOLDER", file=sys.stderr)
        return 2
    try:
        file = write_submission(Path(arguments[0]))
    except (jars.JarFault, OSError) as error:
        print(f"wireproof: {error}", file=sys.stderr)
        return 2
    print(f"spark-submit --properties-file {file} {file.parent / JOB}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
