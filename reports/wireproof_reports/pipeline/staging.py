"""Writes new files of a history in a staging folder, and merges small ones."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import msgspec

from wireproof_reports.pipeline.incoming import IncomingBundle
from wireproof_reports.pipeline.manifest import STAGING, Manifest, TableFile
from wireproof_reports.pipeline.parquet import TableWriter
from wireproof_spec.history import VERSION

SMALL_BYTES = 16 * 1024 * 1024
"""A file below this size is merged with its like; Spark pays for each file it opens."""
MOST_SMALL = 4
"""So many small files a partition may have before they become one."""

_Partition = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """The files that an ingest adds, and those they replace."""

    added: tuple[TableFile, ...]
    replaced: tuple[TableFile, ...]

    def new_manifest(self, manifest: Manifest, *, kit: str) -> Manifest:
        """Return the manifest after this change."""
        gone = {part.place for part in self.replaced}
        kept = [part for part in manifest.parts if part.place not in gone]
        return msgspec.structs.replace(
            manifest,
            version=VERSION,
            kit=kit,
            sequence=manifest.sequence + 1,
            parts=tuple(sorted((*kept, *self.added), key=lambda part: part.place)),
        )


@dataclass(slots=True)
class Staging:
    """Writes rows for a history, one file per partition; complete only when closed.

    Bundles must come sorted by protocol and day, so that few files are open at a time.
    """

    history: Path
    manifest: Manifest
    _open: dict[_Partition, TableWriter] = field(default_factory=dict[_Partition, TableWriter])
    _added: list[TableFile] = field(default_factory=list[TableFile])
    _replaced: list[TableFile] = field(default_factory=list[TableFile])

    def add(self, incoming: IncomingBundle) -> None:
        """Add the rows of one bundle."""
        protocol, day = incoming.opening.protocol, incoming.opening.day
        for key in [key for key in self._open if key[1:] != (protocol, day)]:
            self._close(key)
        for table, rows in incoming.rows.items():
            if rows:
                self._writer((table, protocol, day)).add(rows)

    def change(self) -> Change:
        """Return the change that was written; call this after closing."""
        return Change(tuple(self._added), tuple(self._replaced))

    def __enter__(self) -> "Staging":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for key in list(self._open) if error is None else ():
                self._close(key)
        finally:
            for writer in self._open.values():
                writer.abandon()

    def _writer(self, key: _Partition) -> TableWriter:
        if key not in self._open:
            part = self._part(key)
            self._open[key] = TableWriter(self.history / STAGING / part.place, part.table)
        return self._open[key]

    def _close(self, key: _Partition) -> None:
        writer = self._open.pop(key)
        with writer:
            small = list(self._small(key))
            if len(small) >= MOST_SMALL:
                for part in small:
                    writer.copy(self.history / part.place)
                self._replaced.extend(small)
            size = writer.close()
        part = self._part(key)
        self._added.append(msgspec.structs.replace(part, rows=writer.rows, size_bytes=size))

    def _small(self, key: _Partition) -> Iterator[TableFile]:
        for part in self.manifest.parts:
            if (part.table, part.protocol, part.day) == key and part.size_bytes < SMALL_BYTES:
                yield part

    def _part(self, key: _Partition) -> TableFile:
        table, protocol, day = key
        name = f"part-{self.manifest.sequence + 1:08d}.parquet"
        return TableFile(table, protocol, day, name, rows=0, size_bytes=0)
