"""Bundles of invented runs under the kit's real law, for tests of the command line."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from wireproof.commands.bundles.judge import Terms, judge_again
from wireproof_kit.bundle.file import Bundle, BundleWriter, read_bundle
from wireproof_kit.verdicts.deviations import utc_date
from wireproof_kit.verdicts.judge import JudgeContext, judge_record
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.clauses.catalogue import Catalogue, Law
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    HeaderRecord,
    RepeatsRecord,
    TargetRecord,
    WayRecord,
)
from wireproof_spec.step_record import StepRecord, TranscriptRecord

ODD = "never-accepted"
GROUP = "ext.publish"
URL = "nsq://127.0.0.1:4150"
TODAY = utc_date()
TOMORROW = TODAY + timedelta(days=1)
"""Has not expired yet where the tests began before midnight, either."""


def catalogue() -> Catalogue:
    return load_catalogue("nsq")


def header(**changes: object) -> HeaderRecord:
    fields: dict[str, object] = {
        "format": 1,
        "kit": "0.1.0",
        "spec": {"ext": 1},
        "seed": 7,
        "target": TargetRecord(URL, "nsq", {"version": "4.2"}),
        "claims": {
            c.id: ClaimRecord("shown", fitting(c.shown_by)) for c in catalogue().capabilities
        },
        "readings": {d.id: BindingRecord(d.published, shows(d.id)) for d in catalogue().decisions},
        "patience": {"answer": 0.3},
        "selection": (GROUP,),
        **changes,
    }
    return HeaderRecord(**fields)  # type: ignore[arg-type]  # fields of the record by name


def shows(decision_id: str, name: str | None = None) -> str:
    """Return a probe's observation that shows a reading; the published one if none is named."""
    decision = catalogue().decision(decision_id)
    assert decision is not None
    wanted = name or decision.published
    return next(fitting(option.shown_by) for option in decision.option if option.name == wanted)


def fitting(patterns: Sequence[str]) -> str:
    """Return an observation that fits the first pattern."""
    return patterns[0].replace("*", "x")


def conforming() -> Iterator[CaseRecord]:
    """One case for each law of the group, each as the published text wants it."""
    for clause in catalogue().clauses():
        for law in clause.case if clause.group == GROUP else ():
            yield case(law, clause.id, _conforming(law))


def _conforming(law: Law) -> str:
    if law.accept:
        return fitting(law.accept)
    for decision_id, readings in law.reading.items():
        decision = catalogue().decision(decision_id)
        assert decision is not None
        if decision.published in readings:
            return fitting(readings[decision.published])
    return fitting(next(iter(next(iter(law.reading.values())).values())))


def case(law: Law, clause_id: str, observation: str, **changes: object) -> CaseRecord:
    clause = catalogue().clause(clause_id)
    assert clause is not None
    fields: dict[str, object] = {
        "case": law.id,
        "case_hash": "0123456789ab",
        "clause": clause_id,
        "level": clause.level,
        "title": law.sends,
        "observation": observation,
        "verdict": "error",
        "reason": "",
        "repeats": RepeatsRecord(5, 5),
        "transcript": transcript(),
        **changes,
    }
    return CaseRecord(**fields)  # type: ignore[arg-type]  # fields of the record by name


def transcript() -> TranscriptRecord:
    sent = b"PUB wp_ab_1 0\n" + b"\0\0\0\1x"
    return TranscriptRecord(
        (
            StepRecord(10, "A", "open", note="127.0.0.1:4150"),
            StepRecord(20, "A", "send", hex=sent.hex(), length=len(sent), note="PUB"),
            StepRecord(30, "A", "receive", hex="00000006000000004f4b", length=10),
            StepRecord(40, "A", "close", note="by the kit"),
        )
    )


def write(
    path: Path, records: Sequence[CaseRecord], first: HeaderRecord | None = None, **terms: object
) -> Path:
    """Write a bundle judged under the real law; ``terms`` are those of the judge."""
    seal(path, first or header(), records)
    result = judge_again(read_bundle(path), Terms(**terms))  # type: ignore[arg-type]
    writer = BundleWriter(path, result.header)
    for record in result.records:
        writer.add(record)
    writer.close(result.footer)
    return path


def seal(path: Path, head: HeaderRecord, records: Sequence[CaseRecord]) -> None:
    """Write records as they are."""
    writer = BundleWriter(path, head)
    for record in records:
        writer.add(record)
    writer.close(conclude(head, records, catalogue(), RunFactors()))


def add_way(path: Path, clause: str, observation: str, cases: Sequence[str] = ()) -> str:
    """Add to a bundle a way on which these cases broke a clause, if any did; return its id."""
    run = read(path)
    way = f"nsq/passing/{clause}/again"
    bench = JudgeContext(catalogue(), run.header.claims, run.header.readings)
    result = judge_record(case(Law(way), clause, observation), bench)
    writer = BundleWriter(path, run.header)
    for record in run.cases:
        writer.add(record)
    is_broken = result.verdict == "fail"
    writer.add(WayRecord(result, 1, int(is_broken), tuple(cases), counted=True))
    assert run.footer is not None
    writer.close(run.footer)
    return way


def law(record: CaseRecord) -> Law:
    """Return the law of a case."""
    found = catalogue().find_law(record.case)
    assert found is not None
    return found[1]


def failing(count: int = 1, level: str = "must") -> list[CaseRecord]:
    """A run in which the first cases at a level came out oddly, each of another clause."""
    records = list(conforming())
    seen: set[str] = set()
    for index, record in enumerate(records):
        if len(seen) < count and record.level == level and record.clause not in seen:
            seen.add(record.clause)
            records[index] = case(law(record), record.clause, ODD)
    assert len(seen) == count
    return records


def read(path: Path) -> Bundle:
    return read_bundle(path)
