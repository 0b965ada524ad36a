"""Adds bundles to a history: all or none of them, each once, even if the process is killed.

New files are written beside the tables and moved into place; only then the manifest names them.
The next ingest removes what a killed one left behind.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from wireproof_reports.pipeline.incoming import (
    NO_NAMING,
    BundleOpening,
    IncomingBundle,
    TargetNaming,
    bundle_hash,
    open_one,
    read_in,
)
from wireproof_reports.pipeline.manifest import (
    NAME,
    NEW_NAME,
    STAGING,
    HistoryFault,
    Manifest,
    read_manifest,
    sync_folder,
    write_manifest,
)
from wireproof_reports.pipeline.parquet import ForeignRows, column
from wireproof_reports.pipeline.staging import Staging
from wireproof_spec.history import TABLES

Tell = Callable[[int, int], None]
"""Told after each bundle: how many were read, of how many."""


@dataclass(frozen=True, slots=True)
class QuarantinedLine:
    """A line of a bundle that was set aside, and why."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class IngestResult:
    """What an ingest added; ``merged`` counts small files that were merged into larger ones."""

    bundles: int = 0
    already: int = 0
    results: int = 0
    findings: int = 0
    merged: int = 0
    quarantined: list[QuarantinedLine] = field(default_factory=list[QuarantinedLine])


def silent(_done: int, _total: int) -> None:
    """Report no progress."""


def ingest(
    bundles: Sequence[Path],
    history: Path,
    *,
    naming: TargetNaming = NO_NAMING,
    kit: str = "",
    tell: Tell = silent,
) -> IngestResult:
    """Add bundles to a history; create the history if it does not exist.

    Raises:
        BundleFault: a bundle is damaged or foreign; the history is unchanged.
        HistoryFault: the folder is no history, or newer, or in use, or its disk is full.
    """
    openings = sorted(map(open_one, bundles), key=lambda each: (each.protocol, each.day))
    try:
        with _lock(history), _begin(history, kit) as manifest:
            return _take(openings, history, manifest, naming=naming, kit=kit, tell=tell)
    except OSError as error:
        raise HistoryFault(
            f"{history} cannot be written ({error.strerror or error}); it is as it was before"
        ) from error
    except ForeignRows as error:
        raise HistoryFault(f"{error}; the history is as it was before") from error


def _take(
    openings: Sequence[BundleOpening],
    history: Path,
    manifest: Manifest,
    *,
    naming: TargetNaming,
    kit: str,
    tell: Tell,
) -> IngestResult:
    taken = IngestResult()
    staging = Staging(history, manifest)
    with staging:
        for incoming in _new(openings, history, manifest, naming=naming, taken=taken, tell=tell):
            staging.add(incoming)
    if taken.bundles:
        change = staging.change()
        taken.merged = len(change.replaced)
        _publish(history, change.new_manifest(manifest, kit=kit))
    return taken


def _new(
    openings: Sequence[BundleOpening],
    history: Path,
    manifest: Manifest,
    *,
    naming: TargetNaming,
    taken: IngestResult,
    tell: Tell,
) -> Iterator[IncomingBundle]:
    """Yield the bundles that are not in the history yet, and count their lines."""
    known = _list_known(history, manifest)
    for number, opening in enumerate(openings, start=1):
        sha256 = bundle_hash(opening.path)
        if sha256 in known:
            taken.already += 1
        else:
            incoming = read_in(opening, sha256, naming)
            known.add(sha256)
            _count(incoming, taken)
            yield incoming
        tell(number, len(openings))


def _list_known(history: Path, manifest: Manifest) -> set[object]:
    places = (history / part.place for part in manifest.of("runs"))
    return {sha256 for place in places for sha256 in column(place, "bundle")}


def _count(incoming: IncomingBundle, taken: IngestResult) -> None:
    taken.bundles += 1
    taken.results += len(incoming.rows["results"])
    taken.findings += len(incoming.rows["findings"])
    for row in incoming.rows["quarantine"]:
        line = row["line"]
        assert isinstance(line, int)
        taken.quarantined.append(
            QuarantinedLine(str(incoming.opening.path), line, str(row["reason"]))
        )


def _publish(history: Path, manifest: Manifest) -> None:
    """Move the staged files into place, then write the manifest that names them."""
    staged = history / STAGING
    for part in manifest.parts:
        source = staged / part.place
        if source.exists():
            place = history / part.place
            place.parent.mkdir(parents=True, exist_ok=True)
            source.replace(place)
    for folder in {(history / part.place).parent for part in manifest.parts}:
        sync_folder(folder)
    write_manifest(history, manifest)


@contextmanager
def _lock(history: Path) -> Generator[None]:
    """Lock the history for this process; remove the folder at the end if it is new and empty."""
    is_new = not history.exists()
    history.mkdir(parents=True, exist_ok=True)
    number = os.open(history, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise HistoryFault(
            f"{history} is in use by another ingest or aggregate; wait until it has ended"
        ) from error
    finally:
        os.close(number)
        if is_new and not any(history.iterdir()):
            history.rmdir()


@contextmanager
def _begin(history: Path, kit: str) -> Generator[Manifest]:
    """Open a history for writing; create its manifest if the folder has none.

    At the end, whatever happened, files that the manifest does not name are removed.
    """
    manifest = read_manifest(history) if (history / NAME).exists() else _first(history, kit)
    _sweep(history, manifest)
    try:
        yield manifest
    finally:
        manifest = read_manifest(history)
        _sweep(history, manifest)
        if manifest.sequence == 0:
            (history / NAME).unlink()


def _first(history: Path, kit: str) -> Manifest:
    """Create a history; its manifest is the first file written."""
    foreign = sorted(entry.name for entry in history.iterdir() if entry.name != NEW_NAME)
    if foreign:
        raise HistoryFault(
            f"{history} is no history: it holds {foreign[0]}, but no {NAME}; "
            "name an empty folder, or one that does not exist"
        )
    manifest = Manifest(kit=kit)
    write_manifest(history, manifest)
    return manifest


def _sweep(history: Path, manifest: Manifest) -> None:
    """Remove files that the manifest does not name: merged ones, and those of a failed ingest."""
    named = {part.place for part in manifest.parts}
    shutil.rmtree(history / STAGING, ignore_errors=True)
    (history / NEW_NAME).unlink(missing_ok=True)
    for table in TABLES:
        for path in sorted((history / table).glob("*/*/part-*.parquet")):
            if path.relative_to(history).as_posix() not in named:
                path.unlink()
        _remove_empty(history / table)


def _remove_empty(table: Path) -> None:
    folders = [*table.glob("*/*/"), *table.glob("*/"), table]
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
