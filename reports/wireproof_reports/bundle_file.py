"""Reading a run's bundle: a header line, a line per case, a footer line."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.protocol import protocols
from wireproof_spec.record import (
    FORMAT,
    BundleRecord,
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    WayRecord,
    list_broken,
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


class BundleFault(Exception):
    """Raised for a file that is no readable bundle; ``str()`` is one sentence for the user."""


@dataclass(frozen=True)
class Bundle:
    """A complete bundle in memory: its header, the records of all cases, and its footer.

    Ways that count and were broken stand behind the cases, as failing cases do.
    """

    name: str
    header: HeaderRecord
    cases: tuple[CaseRecord, ...]
    footer: FooterRecord

    @cached_property
    def steps_of_troubles(self) -> tuple[int, ...]:
        """How many steps the exchange of each case has that did not pass."""
        troubles = (case for case in self.cases if case.verdict not in ("pass", "reading"))
        return tuple(len(case.transcript.steps) for case in troubles)

    def catalogue(self) -> Catalogue:
        """Return the catalogue of the bundle's protocol.

        Raises:
            BundleFault: this version does not know the protocol.
        """
        target = self.header.target
        return target.narrow(law_of(self.name, target.protocol))


def law_of(name: str, protocol: str) -> Catalogue:
    """Return the catalogue of a protocol; `name` is the bundle's name, for the error message.

    Raises:
        BundleFault: this version does not know the protocol.
    """
    if protocol not in protocols():
        raise BundleFault(f"{name}: protocol {protocol!r} is unknown to this version")
    return load_catalogue(protocol)


class _Opening(msgspec.Struct, frozen=True):
    kind: str = ""
    format: int = 0


_OPENING = msgspec.json.Decoder(_Opening)
_RECORD: msgspec.json.Decoder[BundleRecord] = msgspec.json.Decoder(BundleRecord)


def read_bundle(path: Path) -> Bundle:
    """Read and check a bundle; it may be compressed with gzip.

    Raises:
        BundleFault: the file is missing, empty, too large, no bundle, of a newer format, cut off
            or changed.
    """
    try:
        with open_bundle(path) as file:
            # The faults have the whole path; pages the name alone.
            return replace(_assemble(str(path), read_lines(file)), name=path.name)
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {path}: {why_unreadable(error)}") from error


def _assemble(name: str, lines: Iterable[bytes]) -> Bundle:
    numbered = enumerate(lines, start=1)
    _, first = next(numbered, (0, b""))
    header = header_of(name, first)
    digest = hashlib.sha256(first)
    cases: list[CaseRecord] = []
    ways: list[WayRecord] = []
    inflated, is_of_campaign = count_inflated(header), False
    for number, line in numbered:
        record = _record(name, number, line)
        inflated += count_inflated(record)
        refuse_inflated(inflated)
        is_of_campaign = is_of_campaign or isinstance(record, FindingRecord | CampaignRecord)
        if isinstance(record, FooterRecord):
            check_end(name, record, digest.hexdigest(), rest=(line for _, line in numbered))
            if is_of_campaign and not cases:
                break
            return Bundle(name, header, (*cases, *list_broken(ways)), record)
        if isinstance(record, HeaderRecord):
            raise BundleFault(
                f"{name}: line {number} is a second header; split the file before it"
            )
        if isinstance(record, CaseRecord):
            cases.append(record)
        elif isinstance(record, WayRecord):
            ways.append(record)
        digest.update(line)
    if is_of_campaign and not cases:
        raise BundleFault(
            f"{name} is of a fuzz campaign, of which there are no reports; `wireproof replay ID "
            f"--bundle {name}` repeats a finding"
        )
    raise BundleFault(
        f"{name} is cut off: it ends after {len(cases)} cases without a footer, since the run was "
        f"killed; `wireproof judge {name} --bundle FILE` writes one that is closed"
    )


def header_of(name: str, line: bytes) -> HeaderRecord:
    """Read the first line of a bundle; `name` is the bundle's name, for the error message.

    Raises:
        BundleFault: the line is no header, or its format is newer.
    """
    if not line.strip():
        raise BundleFault(f"{name} is empty; a bundle begins with a header line")
    try:
        opening = _OPENING.decode(line)
    except DAMAGED:
        opening = _Opening()
    if opening.kind != "header" or opening.format < 1:
        raise BundleFault(f"{name} is not a bundle: its first line is not a bundle header")
    if opening.format > FORMAT:
        raise BundleFault(
            f"{name} has bundle format {opening.format}, this version reads up to {FORMAT}; "
            "use the version of wireproof that wrote it, or a newer one"
        )
    record = _record(name, 1, line)
    if not isinstance(record, HeaderRecord):
        raise BundleFault(f"{name} is not a bundle: its first line is not a bundle header")
    return record


def _record(name: str, number: int, line: bytes) -> BundleRecord:
    if not line.endswith(b"\n") and not line.rstrip().endswith(b"}"):
        raise BundleFault(f"{name} is cut off in line {number}")
    try:
        return _RECORD.decode(line)
    except DAMAGED as error:
        raise BundleFault(f"{name}: line {number} is damaged: {why_damaged(error)}") from error


def check_end(name: str, footer: FooterRecord, digest: str, *, rest: Iterator[bytes]) -> None:
    """Check the hash in a bundle's footer, and that nothing follows the footer.

    Raises:
        BundleFault: the lines have another hash, or the file continues.
    """
    if any(line.strip() for line in rest):
        raise BundleFault(f"{name} goes on after its footer; split the file after the footer")
    if footer.sha256 != digest:
        raise BundleFault(
            f"{name} was changed after the run: the footer has the SHA-256 {footer.sha256}, its "
            f"lines have {digest}; use the file that the run wrote"
        )
