"""The rows of records in the history's tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TypeAlias

from wireproof_reports.exchange.repeating import way_again
from wireproof_reports.pipeline import target
from wireproof_spec.clauses.catalogue import is_way
from wireproof_spec.clauses.cause import cause_key
from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord, TargetRecord

Value: TypeAlias = str | int | bool | bytes | date | datetime | list[str] | None
Row: TypeAlias = dict[str, Value]

FAILING = frozenset({"fail", "known"})
LONGEST_COUNT = 1 << 48
"""In µs nine years. Sums of such counts must not exceed 64 bits, or every aggregate would fail."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What was judged in a bundle; ``started`` is in UTC, None if unknown.

    All rows of the bundle have these values.
    """

    bundle: str
    vendor: str
    version: str
    started: datetime | None

    def columns(self) -> Row:
        """Return the subject as columns that all rows of the bundle share."""
        return {
            "bundle": self.bundle,
            "vendor": self.vendor,
            "version": self.version,
            "version_key": target.version_key(self.version),
            "started": self.started,
        }


CONFORMING = ("pass", "reading")
TESTED = (*CONFORMING, "fail", "known", "unstable")
"""Verdicts that say how a target behaves: a conclusion, or that its repeats disagree."""


class BadRecord(Exception):
    """Raised for a record with an impossible value; ``str()`` is the reason in a few words."""


def read_start(header: HeaderRecord) -> datetime | None:
    """Return when the run began, in UTC; None if the header has no valid time."""
    try:
        told = datetime.fromisoformat(header.started)
        return told.astimezone(UTC) if told.tzinfo else told.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # UTC's first year begins later than that of some zones
        return None


def result_row(record: CaseRecord, role: str, judged: TargetRecord) -> Row:
    """Return the row of the table results for a case of a judged target.

    ``role`` is the part of the target that its clause is about.

    Raises:
        BadRecord: a number is out of range, or a date is invalid.
    """
    deviation, difference = record.deviation, record.difference
    _, field, value = cause_key(record) if record.verdict in FAILING else ("", "", "")
    return {
        "case": record.case,
        "case_hash": record.case_hash,
        "interface": "/".join(record.case.split("/")[:2]),
        "clause": record.clause,
        "group": record.clause.rpartition(".")[0],
        "level": record.level,
        "verdict": record.verdict,
        "reading": record.reading or "",
        "observation": record.observation,
        "reason": record.reason,
        "accepted": list(record.accepted),
        "signature": record.signature or "",
        "cause_field": field,
        "cause_value": value,
        "difference_field": difference.field if difference else "",
        "difference_expected": difference.expected if difference else "",
        "difference_found": difference.found if difference else "",
        "duration_us": _count("duration_us", record.duration_us),
        "runs": _count("repeats.runs", record.repeats.runs),
        "same": _count("repeats.same", record.repeats.same),
        "hazard": record.hazard,
        "overdue": record.overdue,
        **_deviation(deviation),
        "deviation_expired": bool(deviation and deviation.expired),
        "origin": record.origin,
        "role": role,
        # A page of a history has no note, which names the case to run in place of a way.
        "again": "judge" if is_way(record.case) else way_again(record, judged),
    }


def finding_row(record: FindingRecord) -> Row:
    """Return the row of the table findings for a finding of the fuzzer.

    Raises:
        BadRecord: the finding has no id, a number out of range, or an invalid date.
    """
    if not record.id:
        raise BadRecord("a finding without an id")
    first = record.cases[0] if record.cases else None
    return {
        "finding": record.id,
        "violated": record.violated,
        "words": record.words,
        "state": record.state,
        "frame": record.frame,
        "field": record.field,
        "answer": record.answer,
        "mutation": first.mutation if first else "",
        "seed": str(record.seed),
        "index": str(first.index) if first else "",
        "shown": _count("shown", record.shown),
        "runs": _count("runs", record.runs),
        "seen": _count("seen", record.seen),
        **_deviation(record.deviation),
    }


def campaign_row(record: CampaignRecord) -> Row:
    """Return the row of the table campaigns for a fuzz campaign.

    Raises:
        BadRecord: a number is out of range.
    """
    counts = ("executed", "skipped", "left_out", "not_again", "workers")
    for fields in record.coverage.values():
        for mutations in fields.values():
            for states in mutations.values():
                for sent in states.values():
                    _count("coverage", sent)
    return {
        "seed": str(record.seed),
        "duration_ms": _count("seconds", _milliseconds(record.seconds)),
        **{name: _count(name, getattr(record, name)) for name in counts},
    }


@dataclass(frozen=True, slots=True)
class Totals:
    """How many cases, findings and quarantined lines a bundle has."""

    cases: int
    findings: int
    quarantined: int


def run_row(header: HeaderRecord, footer: FooterRecord, *, file: str, totals: Totals) -> Row:
    """Return the row of the table runs for a bundle, from its header, footer and totals."""
    return {
        "file": file,
        "format": header.format,
        "kit": header.kit,
        "spec": _pairs({name: str(revision) for name, revision in header.spec.items()}),
        "seed": str(header.seed),
        "fingerprint": _pairs(header.target.fingerprint),
        "given": list(header.target.given),
        "profile": header.profile,
        "reading": header.reading,
        "selection": list(header.selection),
        "readings": _pairs({name: b.reading or "" for name, b in header.readings.items()}),
        "claims": _pairs({name: claim.state for name, claim in header.claims.items()}),
        "not_judged": sorted(group.group for group in footer.groups if not group.judged),
        "cases": totals.cases,
        "quarantined": totals.quarantined,
        "exit": footer.exit,
        "statement": footer.statement,
        "interrupted": footer.interrupted,
        "findings": totals.findings,
        "origins": list(header.origins),
        "target_role": target.kind(header.target),
    }


def check_case(record: CaseRecord, protocol: str) -> None:
    """Check a case record for impossible values that its types cannot exclude.

    Raises:
        BadRecord: the case is of another protocol, or its clause, level or repeats are invalid.
    """
    if not record.case.startswith(f"{protocol}/"):
        raise BadRecord(f"expected a case of {protocol}, found {record.case!r}")
    for name in ("case_hash", "clause", "level"):
        if not getattr(record, name):
            raise BadRecord(f"{record.case}: {name} is empty")
    if not 0 <= record.repeats.same <= record.repeats.runs:
        raise BadRecord(
            f"{record.case}: expected repeats.same between 0 and repeats.runs "
            f"({record.repeats.runs}), found {record.repeats.same}"
        )


def _deviation(deviation: DeviationRecord | None) -> Row:
    return {
        "deviation": deviation.id if deviation else "",
        "deviation_expires": _day(deviation.expires) if deviation else "",
    }


def _count(name: str, value: int) -> int:
    if not 0 <= value <= LONGEST_COUNT:
        raise BadRecord(f"{name}: expected a count up to 2^48, found {value}")
    return value


def _milliseconds(seconds: float) -> int:
    return round(min(seconds, 1e18) * 1000)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise BadRecord(f"deviation.expires: expected a date, found {text!r}") from error


def _pairs(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in sorted(values.items())]
