"""Reads a bundle for a history: checks all of it and sets damaged lines aside."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from wireproof_reports.bundle_file import (
    BundleFault,
    check_end,
    header_of,
    law_of,
)
from wireproof_reports.pipeline import target
from wireproof_reports.pipeline.grammar import Grammar
from wireproof_reports.pipeline.rows import (
    BadRecord,
    Row,
    Subject,
    Totals,
    campaign_row,
    check_case,
    finding_row,
    read_start,
    result_row,
    run_row,
)
from wireproof_spec.history import NO_DAY
from wireproof_spec.record import (
    CampaignRecord,
    CaseRecord,
    FindingRecord,
    FooterRecord,
    HeaderRecord,
)
from wireproof_spec.record_file import (
    DAMAGED,
    UNREADABLE,
    count_inflated,
    open_bundle,
    read_lines,
    refuse_inflated,
    why_damaged,
    why_unreadable,
)

_CASE = msgspec.json.Decoder(CaseRecord)
_FINDING = msgspec.json.Decoder(FindingRecord)
_CAMPAIGN = msgspec.json.Decoder(CampaignRecord)
_FOOTER = msgspec.json.Decoder(FooterRecord)


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


_KIND = msgspec.json.Decoder(_Kind)


@dataclass(frozen=True, slots=True)
class BundleOpening:
    """A bundle's path and header, read before the rest to know the partition of its rows."""

    path: Path
    header: HeaderRecord

    @property
    def protocol(self) -> str:
        """The partition folder of the bundle's protocol."""
        return self.header.target.protocol

    @property
    def day(self) -> str:
        """The partition folder of the day on which the run began."""
        moment = read_start(self.header)
        return moment.date().isoformat() if moment else NO_DAY


@dataclass(slots=True)
class IncomingBundle:
    """A complete bundle as rows by table; ``sha256`` is the hash of its uncompressed bytes."""

    opening: BundleOpening
    sha256: str
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])


@dataclass(frozen=True, slots=True)
class TargetNaming:
    """The vendor and version that the user gives; empty means what the target reports."""

    vendor: str = ""
    version: str = ""


NO_NAMING = TargetNaming()


def open_one(path: Path) -> BundleOpening:
    """Read the header of a bundle.

    Raises:
        BundleFault: the file cannot be read, is no bundle, newer, or of an unknown protocol.
    """
    try:
        with open_bundle(path) as file:
            header = header_of(str(path), next(read_lines(file), b""))
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {path}: {why_unreadable(error)}") from error
    law_of(str(path), header.target.protocol)
    return BundleOpening(path, header)


def bundle_hash(path: Path) -> str:
    """Return the SHA-256 of a bundle's uncompressed bytes.

    Raises:
        BundleFault: the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open_bundle(path) as file:
            for line in read_lines(file):
                digest.update(line)
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {path}: {why_unreadable(error)}") from error
    return digest.hexdigest()


def read_in(
    opening: BundleOpening, sha256: str, naming: TargetNaming = NO_NAMING
) -> IncomingBundle:
    """Read and check a complete bundle.

    Raises:
        BundleFault: it is cut off, was changed after the run, or cannot be read.
    """
    reading = _Reading(opening, sha256, naming)
    try:
        with open_bundle(opening.path) as file:
            return reading.read(read_lines(file))
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {opening.path}: {why_unreadable(error)}") from error


class _Reading:
    def __init__(self, opening: BundleOpening, sha256: str, naming: TargetNaming) -> None:
        header = opening.header
        self._opening = opening
        self._name = str(opening.path)
        self._subject = Subject(
            bundle=sha256,
            vendor=naming.vendor or target.vendor(header.target),
            version=naming.version or target.version(header.target),
            started=read_start(header),
        )
        self._grammar = Grammar()
        self._inflated = 0
        self._seen: set[str] = set()
        self._rows: dict[str, list[Row]] = {
            table: [] for table in ("results", "findings", "campaigns", "quarantine")
        }
        self._take_in: dict[str, Callable[[bytes], None]] = {
            "": self._case,
            "case": self._case,
            "finding": self._read_finding,
            "campaign": self._campaign,
        }

    def read(self, lines: Iterator[bytes]) -> IncomingBundle:
        digest = hashlib.sha256(next(lines, b""))
        number = 1
        for number, line in enumerate(lines, start=2):
            if not line.endswith(b"\n") and not line.rstrip().endswith(b"}"):
                raise BundleFault(f"{self._name} is cut off in line {number}")
            kind = _kind(line)
            if kind == "footer":
                check_end(self._name, self._footer(line), digest.hexdigest(), rest=lines)
                return self._finish(self._footer(line))
            if kind == "header":
                raise BundleFault(
                    f"{self._name}: line {number} is a second header; is this two bundles?"
                )
            self._take(number, line, kind)
            digest.update(line)
        raise BundleFault(
            f"{self._name} is cut off: it ends after {number - 1} records without a footer; "
            "was the run killed before it could close its bundle?"
        )

    def _take(self, number: int, line: bytes, kind: str) -> None:
        try:
            take_in = self._take_in.get(kind)
            if take_in is None:
                raise BadRecord(f"records of kind {kind!r} are unknown to this version")
            take_in(line)
        except (*DAMAGED, BadRecord) as error:
            self._put_aside(number, line, why_damaged(error))

    def _case(self, line: bytes) -> None:
        record = _CASE.decode(line)
        self._inflated += count_inflated(record)
        refuse_inflated(self._inflated)
        check_case(record, self._opening.protocol)
        if record.case in self._seen:
            raise BadRecord(f"{record.case} stands in this bundle twice")
        self._rows["results"].append(result_row(record, self._subject))
        self._seen.add(record.case)
        self._grammar.add(record)

    def _read_finding(self, line: bytes) -> None:
        self._rows["findings"].append(finding_row(_FINDING.decode(line), self._subject))

    def _campaign(self, line: bytes) -> None:
        record = _CAMPAIGN.decode(line)
        self._rows["campaigns"].append(campaign_row(record, self._subject))
        self._grammar.add_campaign(record)

    def _put_aside(self, number: int, line: bytes, reason: str) -> None:
        row: Row = {
            "bundle": self._subject.bundle,
            "file": self._opening.path.name,
            "line": number,
            "reason": reason,
            "record": line,
        }
        self._rows["quarantine"].append(row)

    def _footer(self, line: bytes) -> FooterRecord:
        try:
            return _FOOTER.decode(line)
        except DAMAGED as error:
            raise BundleFault(
                f"{self._name}: its footer is damaged: {why_damaged(error)}"
            ) from error

    def _finish(self, footer: FooterRecord) -> IncomingBundle:
        told = self._rows
        totals = Totals(len(told["results"]), len(told["findings"]), len(told["quarantine"]))
        file = self._opening.path.name
        run = run_row(self._opening.header, footer, self._subject, file=file, totals=totals)
        rows = {**told, "runs": [run], "grammar": list(self._grammar.rows(self._subject))}
        return IncomingBundle(self._opening, self._subject.bundle, rows)


def _kind(line: bytes) -> str:
    """Return the kind of a line; empty if the line is no record."""
    try:
        return _KIND.decode(line).kind
    except DAMAGED:
        return ""
