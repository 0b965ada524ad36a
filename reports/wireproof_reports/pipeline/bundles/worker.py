"""What Spark's workers do with bundles: hash them, and read them into rows of the table.

All are functions for ``mapInArrow``.
"""

import gc
import hashlib
import io
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO, NamedTuple, Protocol

import pyarrow as pa

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.pipeline.bundles.incoming import (
    IncomingBundle,
    TargetNaming,
    glance_at,
    read_in,
)
from wireproof_reports.pipeline.columns import record_batch
from wireproof_reports.pipeline.rows import Row
from wireproof_spec.record_file import UNREADABLE, unpack, why_unreadable

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]

GLANCES = pa.schema(
    [
        ("path", pa.string()),
        ("bundle", pa.string()),
        ("protocol", pa.string()),
        ("day", pa.date32()),
        ("bytes", pa.int64()),
        ("fault", pa.string()),
    ]
)
GLANCES_DDL = "path string, bundle string, protocol string, day date, bytes long, fault string"

UNFIT = (OverflowError, pa.ArrowInvalid)
"""What is raised for values that the columns cannot hold, such as counts that add up to 2^63."""
ROWS_AT_ONCE = 10_000
MOST_LISTED = 1_000
"""Quarantined lines of one bundle that are reported to the driver."""
_PIECE = 1 << 20


class Outcome(NamedTuple):
    """What became of one bundle: the number of its rows by view, or why it was refused.

    ``lines`` are numbers and reasons of the first quarantined lines. ``unused`` are the given
    names, vendor or version, that were not used since the target reports its own.
    """

    path: str
    rows: dict[str, int]
    lines: list[tuple[int, str]]
    fault: str = ""
    unused: tuple[str, ...] = ()


class Outcomes(Protocol):
    """Spark's accumulator, as a worker sees it."""

    def add(self, term: list[Outcome]) -> None:
        """Report outcomes to the driver; they arrive there when the task has ended."""
        ...


def glance(batches: Batches) -> Batches:
    """Yield a row for each bundle file: its hash, protocol and day, or why it is refused."""
    for path, size, opened in _files(batches):
        seen: dict[str, object] = {"path": path, "bytes": size}
        try:
            with opened() as file:
                glance = glance_at(path, unpack(file))
            seen |= {"bundle": glance.sha256, "protocol": glance.protocol, "day": glance.day}
        except (BundleFault, *UNREADABLE) as error:
            seen |= {"bundle": _raw_hash(opened), "fault": _reason(path, error)}
        yield pa.RecordBatch.from_pylist([seen], GLANCES)


def make_reader(
    naming: TargetNaming, expected: Mapping[str, str], outcomes: Outcomes, *, strict: bool
) -> Work:
    """Return the function by which workers turn bundles into rows of the table.

    ``expected`` maps the path of each wanted bundle to its hash. A bundle that is refused becomes
    a row of the quarantine; if strict, the job fails with the reason instead.
    """

    def read(batches: Batches) -> Batches:
        waiting: list[pa.RecordBatch] = []
        for path, _, opened in _files(batches):
            if path not in expected:
                continue
            try:
                incoming, rows = _read_bundle(path, opened, naming, expected[path])
                outcomes.add([_outcome(path, incoming, naming)])
            except (BundleFault, *UNREADABLE, *UNFIT) as error:
                reason = _reason(path, error)
                if strict:
                    raise BundleFault(reason) from error
                rows = [refused_rows([(path, expected[path], reason)])]
                outcomes.add([Outcome(path, {}, [], reason)])
            waiting.extend(rows)
            if sum(batch.num_rows for batch in waiting) >= ROWS_AT_ONCE:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)

    return read


def _read_bundle(
    path: str, opened: Callable[[], BinaryIO], naming: TargetNaming, sha256: str
) -> tuple[IncomingBundle, list[pa.RecordBatch]]:
    """Return a bundle, and all its rows: of one that is refused no row may be added.

    Raises:
        BundleFault: the bundle is damaged, foreign, or was changed since it was hashed.
    """
    with opened() as file, _no_collection():
        incoming = read_in(path, unpack(file), naming)
    if incoming.glance.sha256 != sha256:
        raise BundleFault(f"{path} was changed while it was read")
    where = incoming.shared, incoming.glance.protocol, incoming.glance.day
    return incoming, [record_batch(v, rows, *where) for v, rows in incoming.rows.items() if rows]


def _outcome(path: str, incoming: IncomingBundle, naming: TargetNaming) -> Outcome:
    lines = [
        (int(str(row["line"])), str(row["reason"]))
        for row in incoming.rows["quarantine"][:MOST_LISTED]
    ]
    given = {"vendor": naming.vendor, "version": naming.version}
    unused = tuple(name for name, text in given.items() if text not in ("", incoming.shared[name]))
    counts = {view: len(of) for view, of in incoming.rows.items()}
    return Outcome(path, counts, lines, unused=unused)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return small batches as one: each costs as much as a thousand rows to hand over."""
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def refused_rows(refused: list[tuple[str, str, str]]) -> pa.RecordBatch:
    """Return rows of the quarantine for bundles by path, hash and reason; at least one."""
    rows: list[Row] = [
        {"bundle": bundle, "file": path.rpartition("/")[2], "line": 0, "reason": reason}
        for path, bundle, reason in refused
    ]
    return record_batch("quarantine", rows, {}, None, None)


def _files(batches: Batches) -> Iterator[tuple[str, int, Callable[[], BinaryIO]]]:
    """Return each file's path and size, and how to open it.

    A path of this machine, or one that all workers see, is opened here; of an object store the
    content comes with the row, for only Spark's file systems know how to read it.
    """
    for batch in batches:
        has_content = "content" in batch.schema.names
        for number in range(batch.num_rows):
            path = str(batch.column("path")[number].as_py())
            size = int(str(batch.column("length")[number].as_py()))
            if has_content:
                content = batch.column("content")[number].as_buffer()
                yield path, size, partial(io.BytesIO, content)
            else:
                yield path, size, partial(_open, path)


def _open(path: str) -> BinaryIO:
    return open(path, "rb")  # whoever asked for it closes it


@contextmanager
def _no_collection() -> Generator[None]:
    """Turn off Python's search for reference cycles, which took a tenth of the time.

    The records of a bundle have none.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _raw_hash(opened: Callable[[], BinaryIO]) -> str:
    """Return the SHA-256 of the unchanged bytes; empty if the file cannot be read."""
    try:
        with opened() as file:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
            return digest.hexdigest()
    except OSError:
        return ""


def _reason(path: str, error: BaseException) -> str:
    if isinstance(error, BundleFault):
        return str(error)
    return f"cannot read {path}: {why_unreadable(error)}"
