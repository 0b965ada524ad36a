"""Collects the records of a run, writes them to the bundle and computes the conclusion."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from wireproof_kit.bundle.file import BundleWriter
from wireproof_kit.verdicts.deviations import Deviation, apply
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord, WayRecord, list_counted


@dataclass(slots=True)
class RunRecorder:
    """Collects the judged records of a run, and writes them to its bundle if it has one."""

    bundle: Path | None
    deviations: Sequence[Deviation] = ()
    allow_unstable: bool = False
    header: HeaderRecord | None = None
    _writer: BundleWriter | None = None
    records: list[CaseRecord] = field(default_factory=list[CaseRecord])
    ways: list[WayRecord] = field(default_factory=list[WayRecord])
    _began: float = 0.0

    def begin(self, header: HeaderRecord, *, selected: int = 0) -> None:
        """Store the bundle's header and create the bundle file."""
        self.header = header
        self._began = time.monotonic()
        if self.bundle is not None:
            self._writer = BundleWriter(self.bundle, header)
            for record in self.records:
                self._writer.add(record)

    def case(self, record: CaseRecord) -> None:
        """Store one judged record and write it to the bundle."""
        self.records.append(record)
        if self._writer is not None:
            self._writer.add(record)

    def way(self, record: WayRecord) -> None:
        """Store what was seen of a clause on one way, and write it to the bundle."""
        self.ways.append(record)
        if self._writer is not None:
            self._writer.add(record)

    def close(self, *, today: date, interrupted: bool = False) -> FooterRecord | None:
        """Close the bundle with the conclusion of its records; return None when no run began."""
        if self.header is None:
            return None
        version = self.header.target.fingerprint.get("version", "")
        judged = [*self.records, *list_counted(self.ways)]
        applied = apply(judged, self.deviations, version=version, today=today)
        standing = RunFactors(
            stale=applied.stale,
            expired=applied.expired,
            interrupted=interrupted,
            allow_unstable=self.allow_unstable,
            duration_us=int((time.monotonic() - self._began) * 1_000_000),
        )
        target = self.header.target
        catalogue = target.narrow(load_catalogue(target.protocol))
        footer = conclude(self.header, self.records, catalogue, standing, self.ways)
        return self._writer.close(footer) if self._writer is not None else footer
