"""Reads a bundle for a history: checks every line, and quarantines damaged lines."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import BinaryIO

import msgspec

from wireproof_reports.bundle_file import (
    BundleFault,
    check_end,
    header_of,
    law_of,
)
from wireproof_reports.exchange.repeating import SENT
from wireproof_reports.pipeline import target
from wireproof_reports.pipeline.rows import (
    CONFORMING,
    TESTED,
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
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord, WayRecord
from wireproof_spec.record_file import (
    DAMAGED,
    count_inflated,
    read_lines,
    read_pieces,
    refuse_inflated,
    why_damaged,
)
from wireproof_spec.step_record import StepRecord

_CUT = " (cut)"
_INDEX = re.compile(r"\[\d+\]")
_CODE = re.compile(r"^code = \d+ \((\w+)\)")
_WORDS = re.compile(rb"^([A-Z][A-Z_]+)(?: (/[\w/.-]*))?(?=[ ?\n\r]|$)")
_HEAD_BYTES = 256

VALUES_KEPT = 1000
"""Different values of one field that are told apart; more of them count as so many."""
LABELS_AT_ONCE = 50_000
"""Labels that are kept and counted as they stand: most come in every case, and each different one
is then read as the name of a field once. To read each of them took a third of the time."""
_LABEL = itemgetter(2, 3)


class Grammar:
    """Counts which fields of which frames the cases of one bundle sent."""

    def __init__(self) -> None:
        self._labels: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
        self._labelled = 0
        self._sent: Counter[tuple[str, str, str]] = Counter()
        self._values: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)

    def add(self, record: CaseRecord) -> None:
        """Count the fields of the frames that one case sent."""
        for step in record.transcript.steps:
            if step.kind in SENT and step.parts:
                self._labels[frame_of(step)].extend(map(_LABEL, step.parts))
                self._labelled += len(step.parts)
        if self._labelled > LABELS_AT_ONCE:
            self._read_labels()

    def add_campaign(self, record: CampaignRecord) -> None:
        """Add the counts of a fuzz campaign by frame, field, mutation and state."""
        for frame, fields in record.coverage.items():
            for path, mutations in fields.items():
                for mutation, states in mutations.items():
                    key = frame, _INDEX.sub("[]", path), mutation
                    self._sent[key] += sum(states.values())

    def rows(self) -> Iterator[Row]:
        """Yield a row with counts for each field of each frame, sorted by name."""
        self._read_labels()
        for key, sent in sorted(self._sent.items()):
            frame, field, way = key
            row: Row = {"frame": frame, "field": field, "way": way, "sent": sent}
            yield {**row, "values": len(self._values.get(key, ()))}

    def _read_labels(self) -> None:
        """Count fields by their labels so far, each different label read once."""
        for frame, labels in self._labels.items():
            for (label, is_wrong), sent in Counter(labels).items():
                field, way, value = _read_label(label)
                key = frame, field, "wrong" if is_wrong else way
                self._sent[key] += sent
                kept = self._values[key]
                if len(kept) < VALUES_KEPT:
                    kept.add(value)
        self._labels.clear()
        self._labelled = 0


def _read_label(label: str) -> tuple[str, str, str]:
    """Return the field that a label names, whether it was sent whole or cut, and its value."""
    whole = label.removesuffix(_CUT)
    name, _, value = whole.partition(" = ")
    return _INDEX.sub("[]", name), "whole" if whole == label else "cut", value


def frame_of(step: StepRecord) -> str:
    """Return the name of the command that a step sends.

    This is the name of its code, or its first words.
    """
    for _, _, label, _ in step.parts:
        if label.startswith("code"):  # most labels are spared the pattern
            coded = _CODE.match(label)
            if coded:
                return coded[1]
    return _read_words(_head(step).partition(b"\n")[0])


@lru_cache(maxsize=1 << 12)
def _read_words(line: bytes) -> str:
    """Return the command, or the method and path, that a first line begins with."""
    words = _WORDS.match(line)
    if words is None:
        return ""
    return " ".join(word.decode() for word in words.groups() if word)


def _head(step: StepRecord) -> bytes:
    try:
        return bytes.fromhex(step.hex[: 2 * _HEAD_BYTES]) if step.hex else step.data()
    except ValueError:
        return b""


_CASE = msgspec.json.Decoder(CaseRecord)
_WAY = msgspec.json.Decoder(WayRecord)
_FINDING = msgspec.json.Decoder(FindingRecord)
_CAMPAIGN = msgspec.json.Decoder(CampaignRecord)
_FOOTER = msgspec.json.Decoder(FooterRecord)


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


_KIND = msgspec.json.Decoder(_Kind)
_CASE_BEGINS = b'{"kind":"case",'


@dataclass(frozen=True, slots=True)
class Glance:
    """What one pass over a bundle's bytes gives: their SHA-256 (uncompressed) and the header."""

    sha256: str
    header: HeaderRecord

    @property
    def protocol(self) -> str:
        """The protocol of the bundle."""
        return self.header.target.protocol

    @property
    def day(self) -> date | None:
        """The day on which the run began, in UTC; None if the header has no valid time."""
        moment = read_start(self.header)
        return moment.date() if moment else None


@dataclass(slots=True)
class IncomingBundle:
    """A complete bundle as rows by table; all rows have the values of the ``shared`` columns."""

    glance: Glance
    shared: Row
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])


@dataclass(frozen=True, slots=True)
class TargetNaming:
    """Vendor and version that the user gives to targets that do not tell theirs."""

    vendor: str = ""
    version: str = ""


NO_NAMING = TargetNaming()


def glance_at(name: str, file: BinaryIO) -> Glance:
    """Read a bundle's header, and hash all its bytes.

    Raises:
        BundleFault: the bytes are no bundle, or a newer one, or one of an unknown protocol.
    """
    first = next(read_lines(file), b"")
    header = header_of(name, first)
    law_of(name, header.target.protocol)
    digest = hashlib.sha256(first)
    for piece in read_pieces(file):
        digest.update(piece)
    return Glance(digest.hexdigest(), header)


def read_in(name: str, file: BinaryIO, naming: TargetNaming = NO_NAMING) -> IncomingBundle:
    """Read and check a complete bundle, and return it as rows by table.

    Raises:
        BundleFault: the bytes are no bundle, or an incomplete one, or were changed after the run.
    """
    lines = read_lines(file)
    return _Reading(name, next(lines, b""), naming).read(lines)


class _Reading:
    def __init__(self, name: str, first: bytes, naming: TargetNaming) -> None:
        self._name = name
        self._naming = naming
        self._header = header_of(name, first)
        self._digest = hashlib.sha256(first)
        self._law = law_of(name, self._header.target.protocol)
        self._grammar = Grammar()
        self._inflated = 0
        self._seen: set[str] = set()
        self._findings: dict[str, Row] = {}
        self._ways: list[Row] = []
        self._rows: dict[str, list[Row]] = {
            table: [] for table in ("results", "campaigns", "quarantine")
        }
        self._take_in: dict[str, Callable[[bytes], None]] = {
            "": self._case,
            "case": self._case,
            "way": self._way,
            "finding": self._add_finding,
            "campaign": self._campaign,
        }

    def read(self, lines: Iterator[bytes]) -> IncomingBundle:
        number = 1
        for number, line in enumerate(lines, start=2):
            if not line.endswith(b"\n") and not line.rstrip().endswith(b"}"):
                raise BundleFault(f"{self._name} is cut off in line {number}")
            kind = _kind(line)
            if kind == "footer":
                return self._end(line, lines)
            if kind == "header":
                raise BundleFault(
                    f"{self._name}: line {number} is a second header; split the file before it"
                )
            self._take(number, line, kind)
            self._digest.update(line)
        raise BundleFault(
            f"{self._name} is cut off: it ends after {number - 1} records without a footer; "
            "was the run killed before it could close its bundle?"
        )

    def _end(self, line: bytes, rest: Iterator[bytes]) -> IncomingBundle:
        """Compare the lines with the footer; the hash of all bytes names the bundle."""
        try:
            footer = _FOOTER.decode(line)
        except DAMAGED as error:
            why = why_damaged(error)
            raise BundleFault(f"{self._name}: its footer is damaged: {why}") from error
        before = self._digest.hexdigest()
        self._digest.update(line)
        check_end(self._name, footer, before, rest=self._hash_lines(rest))
        return self._whole(footer)

    def _hash_lines(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self._digest.update(line)
            yield line

    def _take(self, number: int, line: bytes, kind: str) -> None:
        try:
            take_in = self._take_in.get(kind)
            if take_in is None:
                raise BadRecord(f"records of kind {kind!r} are unknown to this version")
            take_in(line)
        except (*DAMAGED, BadRecord) as error:
            row: Row = {"line": number, "reason": why_damaged(error), "record": line}
            self._rows["quarantine"].append(row)

    def _case(self, line: bytes) -> None:
        record = _CASE.decode(line)
        self._count_size(record)
        self._rows["results"].append(self._result(record))
        self._grammar.add(record)

    def _way(self, line: bytes) -> None:
        way = _WAY.decode(line)
        self._count_size(way)
        if way.counted:
            self._ways.append(self._result(way.result))

    def _count_size(self, record: CaseRecord | WayRecord) -> None:
        self._inflated += count_inflated(record)
        refuse_inflated(self._inflated)

    def _result(self, record: CaseRecord) -> Row:
        """Check the record of a case or way, and return its row."""
        check_case(record, self._header.target.protocol)
        if record.case in self._seen:
            raise BadRecord(f"{record.case} has a second record in this bundle; the first is kept")
        clause = self._law.clause(record.clause)
        row = result_row(record, clause.role if clause else "", self._header.target)
        self._seen.add(record.case)
        return row

    def _results_with_ways(self) -> list[Row]:
        """Return the rows of the cases and of the ways.

        A way that was kept says nothing of a clause whose cases were not decided.
        """
        results = self._rows["results"]
        decided = {str(row["clause"]) for row in results if row["verdict"] in TESTED}
        ways = [w for w in self._ways if w["verdict"] not in CONFORMING or w["clause"] in decided]
        return [*results, *ways]

    def _add_finding(self, line: bytes) -> None:
        # One that was seen again stands in the bundle again, with the last counts.
        row = finding_row(_FINDING.decode(line))
        self._findings[str(row["finding"])] = row

    def _campaign(self, line: bytes) -> None:
        record = _CAMPAIGN.decode(line)
        self._rows["campaigns"].append(campaign_row(record))
        self._grammar.add_campaign(record)

    def _whole(self, footer: FooterRecord) -> IncomingBundle:
        findings, results = list(self._findings.values()), self._results_with_ways()
        told = {**self._rows, "results": results, "findings": findings}
        header = self._header
        cases, damaged = len(self._rows["results"]), len(told["quarantine"])
        totals = Totals(cases, len(findings), damaged)
        file = self._name.rpartition("/")[2]
        subject = Subject(
            bundle=self._digest.hexdigest(),
            vendor=target.vendor(header.target, self._naming.vendor),
            version=target.version(header.target, self._naming.version),
            started=read_start(header),
        )
        run = run_row(header, footer, file=file, totals=totals)
        rows = {**told, "runs": [run], "grammar": list(self._grammar.rows())}
        return IncomingBundle(
            Glance(subject.bundle, header),
            {**subject.columns(), "file": file, "path": self._name},
            rows,
        )


def _kind(line: bytes) -> str:
    """Return the kind of a line; empty if the line is no record."""
    if line.startswith(_CASE_BEGINS):  # as the kit writes it; others are looked through
        return "case"
    try:
        return _KIND.decode(line).kind
    except DAMAGED:
        return ""
