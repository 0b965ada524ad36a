"""Findings and campaigns as a bundle keeps them, and cases out of one again."""

from collections.abc import Mapping

from wireproof_kit.engine import transcript_record
from wireproof_kit.fuzz.case import (
    BYTE_BY_BYTE,
    HALF_CLOSE,
    TOGETHER,
    WHOLE,
    ByteByByte,
    Case,
    HalfClose,
    Manner,
    Slow,
    SplitAt,
    Step,
    Together,
)
from wireproof_kit.fuzz.finding import Finding
from wireproof_kit.fuzz.oracle import MEANINGS
from wireproof_spec.record import (
    CaseRecord,
    FindingRecord,
    FuzzCaseRecord,
    SentRecord,
    packed,
)

_PLAIN: Mapping[str, Manner] = {
    "whole": WHOLE,
    "bytewise": BYTE_BY_BYTE,
    "together": TOGETHER,
    "half-close": HALF_CLOSE,
}
_NAMES: Mapping[type, str] = {
    ByteByByte: "bytewise",
    Together: "together",
    HalfClose: "half-close",
}


def finding_record(finding: Finding, names: Mapping[str, str]) -> FindingRecord:
    """Return what a bundle keeps of a finding."""
    signature = finding.signature
    return FindingRecord(
        id=finding.id,
        violated=signature.violated,
        words=finding.trouble.words,
        state=signature.state,
        frame=signature.frame_kind,
        field=signature.field,
        answer=signature.answer,
        seed=finding.seed,
        shown=finding.shown,
        runs=finding.runs,
        seen=finding.seen,
        at_s=finding.at_s,
        cases=tuple(map(case_record, finding.cases)),
        names=dict(names),
        transcript=transcript_record(finding.transcript),
    )


def case_record(case: Case) -> FuzzCaseRecord:
    """Return what is kept of a case."""
    return FuzzCaseRecord(
        index=case.index,
        state=case.state,
        frame=case.frame_kind,
        field=case.field,
        mutation=case.mutation,
        sent=tuple(map(_sent, case.steps)),
        delimited=case.delimited,
        hazardous=case.hazardous,
    )


def case_of(record: FuzzCaseRecord, names: Mapping[bytes, bytes]) -> Case:
    """Return a kept case, with other names where it names what was there.

    Raises:
        ValueError: the record is damaged.
    """
    steps: list[Step] = []
    for sent in record.sent:
        data = sent.data()
        for old, new in names.items():
            data = data.replace(old, new)
        steps.append(Step(data, _manner(sent), sent.conn, sent.label))
    return Case(
        record.index,
        record.state,
        record.frame,
        record.field,
        record.mutation,
        tuple(steps),
        record.delimited,
        record.hazardous,
    )


def _sent(step: Step) -> SentRecord:
    manner = step.manner
    slow = isinstance(manner, Slow)
    name = "slow" if slow else "split" if isinstance(manner, SplitAt) else "whole"
    return SentRecord(
        conn=step.connection,
        length=len(step.data),
        manner=_NAMES.get(type(manner), name),
        cuts=manner.offsets if isinstance(manner, Slow | SplitAt) else (),
        seconds=manner.seconds if isinstance(manner, Slow) else 0.0,
        label=step.label,
        **packed(step.data),
    )


def _manner(sent: SentRecord) -> Manner:
    if sent.manner == "slow":
        return Slow(sent.seconds, sent.cuts)
    return SplitAt(sent.cuts) if sent.manner == "split" else _PLAIN.get(sent.manner, WHOLE)


def finding_case(finding: FindingRecord, protocol: str) -> CaseRecord:
    """Return a finding in the form of a case, for whatever shows cases."""
    return CaseRecord(
        case=f"{protocol}/fuzz/{finding.violated}/{finding.id}",
        case_hash=finding.id,
        clause="fuzz",
        level="must",
        title=MEANINGS.get(finding.violated, finding.violated),
        observation=finding.answer,
        verdict="fail",
        reason=finding.words,
        signature=finding.id,
        hazard=True,
        transcript=finding.transcript,
    )


def renaming(old: Mapping[str, str], new: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return which names stand for which now, the longest first."""
    pairs = [(old[key].encode(), new[key].encode()) for key in old if key in new]
    changed = [(before, after) for before, after in pairs if before and before != after]
    return dict(sorted(changed, key=lambda pair: -len(pair[0])))
