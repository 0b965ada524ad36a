"""Bundles as Spark's rows: those of folders of this machine, and those of a URL."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.place import is_url
from wireproof_reports.pipeline.wanted import ENDINGS, bundles_below

GLOB = "*.jsonl*"
SLICE_BYTES = 64 * 1024 * 1024
"""So many bytes of bundles are a task's, or fewer where there are cores to spare."""
MOST_AT_A_URL = 512 * 1024 * 1024
"""Spark hands a file of an object store over in one piece, which must fit into the heap."""
_GLOB_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "{}[]*?\\"})


def local_paths(named: Sequence[str]) -> Iterator[Path]:
    """Yield the paths of the named bundles, and of all bundles in the named folders.

    Raises:
        BundleFault: a folder has no bundle, or a file does not exist.
    """
    for name in named:
        path = Path(name)
        if path.is_dir():
            yield from bundles_below(path)
        elif path.exists():
            yield path
        else:
            raise BundleFault(f"cannot read {name}: there is no such file or folder")


def files(spark: SparkSession, paths: Sequence[tuple[str, int]]) -> DataFrame:
    """Return local files, or files that all workers see, as a frame of ``path, length``.

    Neighbours stay together, so that a task has few days, and writes few files.
    """
    cores = int(spark.conf.get("spark.sql.leafNodeDefaultParallelism") or 2)
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


def files_at(spark: SparkSession, urls: Sequence[str], *, content: bool) -> DataFrame:
    """Return an object store's files as a frame of ``path, length``, and ``content`` if asked."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = reader.option("pathGlobFilter", GLOB).load(list(urls))
    whole = found.where(F.col("length") <= MOST_AT_A_URL)
    return whole.select("path", "length", *(["content"] if content else []))


def too_large(spark: SparkSession, urls: Sequence[str]) -> list[str]:
    """Return the bundles at a URL that are too large for Spark to pass in one piece."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = reader.option("pathGlobFilter", GLOB).load(list(urls))
    rows = found.where(F.col("length") > MOST_AT_A_URL).select("path").collect()
    return sorted(str(row[0]) for row in rows)


def escape(path: str) -> str:
    """Return a path for Spark's readers, with the characters escaped that are patterns to them."""
    return path.translate(_GLOB_SIGNS)


def split(named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split names of bundles into those on this machine and those that are URLs."""
    return [n for n in named if not is_url(n)], [n for n in named if is_url(n)]


def is_bundle(path: str) -> bool:
    """Return True if a path ends like the name of a bundle."""
    return path.endswith(ENDINGS)
