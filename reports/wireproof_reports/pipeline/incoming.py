"""A bundle on its way into the history: checked whole, its bad lines put aside."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from wireproof_reports.bundle_file import (
    LONGEST_LINE,
    BundleFault,
    check_end,
    header_of,
    law_of,
)
from wireproof_reports.pipeline import target
from wireproof_reports.pipeline.rows import (
    BadRecord,
    Row,
    Subject,
    Totals,
    campaign_row,
    check_case,
    finding_row,
    result_row,
    run_row,
    started,
)
from wireproof_spec.history import NO_DAY
from wireproof_spec.record import (
    CampaignRecord,
    CaseRecord,
    FindingRecord,
    FooterRecord,
    HeaderRecord,
    StepRecord,
)
from wireproof_spec.record_file import UNREADABLE, open_bundle, why_unreadable

_SENT = frozenset({"send", "request"})
_CUT = " (cut)"
_INDEX = re.compile(r"\[\d+\]")
_CODE = re.compile(r"^code = \d+ \((\w+)\)")
_WORDS = re.compile(rb"^([A-Z][A-Z_]+)(?: (/[\w/.-]*))?(?=[ ?\n\r]|$)")
_HEAD_BYTES = 256

VALUES_KEPT = 1000
"""Different values of one field that are told apart; more of them count as so many."""


class Grammar:
    """What the cases of one bundle sent, field by field."""

    def __init__(self) -> None:
        self._sent: Counter[tuple[str, str, str]] = Counter()
        self._values: dict[tuple[str, str, str], set[str]] = {}

    def add(self, record: CaseRecord) -> None:
        """Take in one case's exchange."""
        for step in record.transcript.steps:
            if step.kind in _SENT and step.parts:
                self._add(step)

    def add_campaign(self, record: CampaignRecord) -> None:
        """Take in what a fuzz campaign counted, by frame, field, mutation and state."""
        for frame, fields in record.coverage.items():
            for path, mutations in fields.items():
                for mutation, states in mutations.items():
                    key = frame, _INDEX.sub("[]", path), mutation
                    self._sent[key] += sum(states.values())

    def rows(self, subject: Subject) -> Iterator[Row]:
        """Return a row for each field of a frame, in the order of their names."""
        for key, sent in sorted(self._sent.items()):
            frame, field, way = key
            told: Row = {"frame": frame, "field": field, "way": way, "sent": sent}
            yield {**subject.columns(), **told, "values": len(self._values.get(key, ()))}

    def _add(self, step: StepRecord) -> None:
        frame = frame_of(step)
        for _, _, label, is_wrong in step.parts:
            told = label.removesuffix(_CUT)
            name, _, value = told.partition(" = ")
            way = "wrong" if is_wrong else "cut" if told != label else "whole"
            key = frame, _INDEX.sub("[]", name), way
            self._sent[key] += 1
            kept = self._values.setdefault(key, set())
            if len(kept) < VALUES_KEPT:
                kept.add(value)


def frame_of(step: StepRecord) -> str:
    """Return the command that a step sends: by its code's name, or its first words."""
    for _, _, label, _ in step.parts:
        coded = _CODE.match(label)
        if coded:
            return coded[1]
    words = _WORDS.match(_head(step))
    if words is None:
        return ""
    return " ".join(word.decode() for word in words.groups() if word)


def _head(step: StepRecord) -> bytes:
    try:
        return bytes.fromhex(step.hex[: 2 * _HEAD_BYTES]) if step.hex else step.data()
    except ValueError:
        return b""


_CASE = msgspec.json.Decoder(CaseRecord)
_FINDING = msgspec.json.Decoder(FindingRecord)
_CAMPAIGN = msgspec.json.Decoder(CampaignRecord)
_FOOTER = msgspec.json.Decoder(FooterRecord)
_DAMAGED = (msgspec.DecodeError, UnicodeDecodeError)


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


_KIND = msgspec.json.Decoder(_Kind)


@dataclass(frozen=True, slots=True)
class Opening:
    """A bundle's first line: where its rows will lie, before all of it is read."""

    path: Path
    header: HeaderRecord

    @property
    def protocol(self) -> str:
        """The folder of its protocol."""
        return self.header.target.protocol

    @property
    def day(self) -> str:
        """The folder of the day on which the run began."""
        moment = started(self.header)
        return moment.date().isoformat() if moment else NO_DAY


@dataclass(slots=True)
class Incoming:
    """A whole bundle as rows by table; ``sha256`` is that of all its bytes, uncompressed."""

    opening: Opening
    sha256: str
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])


@dataclass(frozen=True, slots=True)
class Naming:
    """What the user says of a target that does not say it itself; empty leaves it to that."""

    vendor: str = ""
    version: str = ""


NO_NAMING = Naming()


def open_one(path: Path) -> Opening:
    """Read a bundle's header.

    Raises:
        BundleFault: the file cannot be read, is no bundle, newer, or of an unknown protocol.
    """
    try:
        with open_bundle(path) as file:
            header = header_of(str(path), file.readline(LONGEST_LINE))
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {path}: {why_unreadable(error)}") from error
    law_of(str(path), header.target.protocol)
    return Opening(path, header)


def bundle_hash(path: Path) -> str:
    """Return SHA-256 of a bundle's bytes, whether the file is compressed or not.

    Raises:
        BundleFault: the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open_bundle(path) as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {path}: {why_unreadable(error)}") from error
    return digest.hexdigest()


def read_in(opening: Opening, sha256: str, naming: Naming = NO_NAMING) -> Incoming:
    """Read and check all of a bundle.

    Raises:
        BundleFault: it is cut off, was changed after the run, or cannot be read.
    """
    reading = _Reading(opening, sha256, naming)
    try:
        with open_bundle(opening.path) as file:
            return reading.read(iter(lambda: file.readline(LONGEST_LINE), b""))
    except UNREADABLE as error:
        raise BundleFault(f"cannot read {opening.path}: {why_unreadable(error)}") from error


class _Reading:
    def __init__(self, opening: Opening, sha256: str, naming: Naming) -> None:
        header = opening.header
        self._opening = opening
        self._name = str(opening.path)
        self._subject = Subject(
            bundle=sha256,
            vendor=naming.vendor or target.vendor(header.target),
            version=naming.version or target.version(header.target),
            started=started(header),
        )
        self._grammar = Grammar()
        self._seen: set[str] = set()
        self._rows: dict[str, list[Row]] = {
            table: [] for table in ("results", "findings", "campaigns", "quarantine")
        }
        self._take_in: dict[str, Callable[[bytes], None]] = {
            "": self._case,
            "case": self._case,
            "finding": self._finding,
            "campaign": self._campaign,
        }

    def read(self, lines: Iterator[bytes]) -> Incoming:
        digest = hashlib.sha256(next(lines, b""))
        number = 1
        for number, line in enumerate(lines, start=2):
            if not line.endswith(b"\n") and not line.rstrip().endswith(b"}"):
                raise BundleFault(f"{self._name} is cut off in line {number}")
            kind = _kind(line)
            if kind == "footer":
                check_end(self._name, self._footer(line), digest.hexdigest(), rest=lines)
                return self._whole(self._footer(line))
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
        except (*_DAMAGED, BadRecord) as error:
            self._put_aside(number, line, str(error))

    def _case(self, line: bytes) -> None:
        record = _CASE.decode(line)
        check_case(record, self._opening.protocol)
        if record.case in self._seen:
            raise BadRecord(f"{record.case} stands in this bundle twice")
        self._rows["results"].append(result_row(record, self._subject))
        self._seen.add(record.case)
        self._grammar.add(record)

    def _finding(self, line: bytes) -> None:
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
        except _DAMAGED as error:
            raise BundleFault(f"{self._name}: its footer is damaged: {error}") from error

    def _whole(self, footer: FooterRecord) -> Incoming:
        told = self._rows
        totals = Totals(len(told["results"]), len(told["findings"]), len(told["quarantine"]))
        file = self._opening.path.name
        run = run_row(self._opening.header, footer, self._subject, file=file, totals=totals)
        rows = {**told, "runs": [run], "grammar": list(self._grammar.rows(self._subject))}
        return Incoming(self._opening, self._subject.bundle, rows)


def _kind(line: bytes) -> str:
    """Return the line's kind; empty when the line is no record at all."""
    try:
        return _KIND.decode(line).kind
    except _DAMAGED:
        return ""
