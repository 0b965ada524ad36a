"""Bundles as Spark's rows: those of folders of this machine, and those of a URL."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles.wanted import ENDINGS, bundles_below, no_bundle
from wireproof_reports.pipeline.bundles.worker import GLANCES_DDL, glance
from wireproof_reports.pipeline.place import is_url
from wireproof_spec.record_file import MOST_BYTES

GLOB = f"*{{{','.join(ENDINGS)}}}"
"""The names of bundles, as Hadoop writes patterns."""
SLICE_BYTES = 64 * 1024 * 1024
"""So many bytes of bundles are a task's, or fewer where there are cores to spare."""
_GLOB_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "{}[]*?\\"})


@dataclass(frozen=True, slots=True)
class Refused:
    """A bundle that an ingest did not add, and the reason."""

    path: str
    bundle: str
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that was hashed: where it is, and where its rows will lie."""

    path: str
    bundle: str
    protocol: str
    day: date | None
    size: int


def local_paths(named: Sequence[str]) -> Iterator[Path]:
    """Yield the paths of the named bundles, and of all bundles in the named folders.

    A file that the user names may be a link.

    Raises:
        BundleFault: a folder has no bundle, or a file does not exist.
    """
    for name in named:
        path = Path(name)
        if path.is_dir():
            yield from bundles_below(path)
        elif path.exists():
            yield path.resolve() if path.is_symlink() else path
        else:
            raise BundleFault(f"cannot read {name}: there is no such file or folder")


def measure(
    found: Iterable[Path], within: Path | None = None
) -> tuple[list[tuple[str, int]], list[Refused]]:
    """Return the paths and sizes of files, and those that Spark could not be told of.

    Files must lie within a folder, if one is given, and not be reached by links. A link is not
    followed, a file may be gone by now, and a name may be no text. To open a named pipe would take
    for ever.
    """
    paths: list[tuple[str, int]] = []
    refused: list[Refused] = []
    for path in found:
        name = os.path.abspath(path)
        try:
            name.encode()
            status = path.stat()
            is_led_out = within is not None and not path.resolve().is_relative_to(within)
            if path.is_symlink() or is_led_out:
                raise OSError(errno.ELOOP, f"it is a symbolic link; name {os.path.realpath(path)}")
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            paths.append((name, status.st_size))
        except (OSError, UnicodeEncodeError) as error:
            shown = os.fsencode(name).decode(errors="replace")
            why = error.strerror if isinstance(error, OSError) else "its name is not UTF-8"
            refused.append(Refused(shown, "", f"cannot read {shown}: {why}"))
    return paths, refused


def files(spark: SparkSession, paths: Sequence[tuple[str, int]]) -> DataFrame:
    """Return local files, or files that all workers see, as a frame of ``path, length``.

    Neighbours stay together, so that a task has few days, and writes few files.
    """
    cores = spark.sparkContext.defaultParallelism
    numbers = list(slices([size for _, size in paths], cores))
    table = pa.table(
        {
            "path": pa.array([path for path, _ in paths], pa.string()),
            "length": pa.array([size for _, size in paths], pa.int64()),
            "slice": pa.array(numbers, pa.int32()),
        }
    )
    rows = spark.createDataFrame(table)
    return rows.repartitionById(max(numbers, default=0) + 1, "slice").select("path", "length")


def slices(sizes: Sequence[int], cores: int) -> Iterator[int]:
    """Yield the number of the Spark task for each file: in order, with about equal bytes each."""
    total = sum(sizes) + len(sizes)
    most = max(1, min(SLICE_BYTES, -(-total // max(cores, 1))))
    before = 0
    for size in sizes:
        yield before // most
        before += size + 1


def files_at(spark: SparkSession, urls: Sequence[str]) -> DataFrame:
    """Return all bundles at URLs but too large ones, as a frame of ``path, length, content``."""
    files = _read_files(spark, urls).where(F.col("length") <= MOST_BYTES)
    return files.select("path", "length", "content")


def list_at(spark: SparkSession, url: str) -> list[tuple[str, int]]:
    """Return the paths and sizes of all bundles at a URL, sorted by path.

    Raises:
        BundleFault: the URL has no bundle.
    """
    rows = _read_files(spark, [url]).select("path", "length").collect()
    if not rows:
        raise BundleFault(no_bundle(url))
    return sorted((str(row["path"]), int(row["length"])) for row in rows)


def _read_files(spark: SparkSession, urls: Sequence[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.option("pathGlobFilter", GLOB).load(list(urls))


def look_at(frames: Sequence[DataFrame]) -> tuple[list[Seen], list[Refused]]:
    """Have the workers hash files; return those that can be read, in the order of their days."""
    seen: list[Seen] = []
    refused: list[Refused] = []
    for frame in frames:
        for row in frame.mapInArrow(glance, GLANCES_DDL).collect():
            if row["fault"] is not None:
                refused.append(Refused(row["path"], row["bundle"], row["fault"]))
            else:
                one = Seen(row["path"], row["bundle"], row["protocol"], row["day"], row["bytes"])
                seen.append(one)
    seen.sort(key=lambda one: (one.protocol, str(one.day), one.path))
    return seen, sorted(refused, key=lambda one: one.path)


def refuse_large(paths: Iterable[tuple[str, int]]) -> list[Refused]:
    """Return those of the bundles at a URL that are too large for Spark to pass in one piece."""
    words = f"is larger than {MOST_BYTES >> 20} MiB; expected the bundle of one run"
    return [Refused(path, "", f"{path} {words}") for path, size in paths if size > MOST_BYTES]


def escape(path: str) -> str:
    """Return a path for Spark's readers, with the characters escaped that are patterns to them."""
    return path.translate(_GLOB_SIGNS)


def split(named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split names of bundles into those on this machine and those that are URLs."""
    names = [plain(name) for name in named]
    return [n for n in names if not is_url(n)], [n for n in names if is_url(n)]


def plain(path: str) -> str:
    """Return a local path without the scheme ``file``; other names as they are."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path
