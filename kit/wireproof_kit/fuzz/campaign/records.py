"""Records of findings and campaigns in a bundle, and cases read back from them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.case import (
    BYTE_BY_BYTE,
    HALF_CLOSE,
    TOGETHER,
    WHOLE,
    ByteByByte,
    Case,
    HalfClose,
    Hold,
    Slow,
    SplitAt,
    Step,
    Together,
    WriteStyle,
)
from wireproof_kit.fuzz.oracle.rules import MEANINGS
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.runner.records import transcript_record
from wireproof_spec.fuzz_record import FindingRecord, FuzzCaseRecord, SentRecord
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import pack_bytes

_PLAIN: Mapping[str, WriteStyle] = {
    "whole": WHOLE,
    "bytewise": BYTE_BY_BYTE,
    "together": TOGETHER,
    "half-close": HALF_CLOSE,
}
_NAMES: Mapping[type, str] = {
    ByteByByte: "bytewise",
    Together: "together",
    HalfClose: "half-close",
    Hold: "hold",
}
_MANNERS = (*_PLAIN, "split", "slow", "hold")


def finding_record(finding: Finding, names: Mapping[str, str]) -> FindingRecord:
    """Return the record of a finding for a bundle, with the target's `names`."""
    signature = finding.signature
    return FindingRecord(
        id=finding.id,
        violated=signature.violated,
        words=finding.trouble.words,
        state=finding.case.state,
        frame=signature.frame_kind or finding.case.frame_kind,
        field=signature.field or finding.case.field,
        answer=signature.answer,
        seed=finding.seed,
        shown=finding.shown,
        runs=finding.runs,
        seen=finding.seen,
        at_s=finding.at_s,
        unconfirmed=finding.unconfirmed,
        log=finding.log,
        cases=tuple(map(case_record, finding.cases)),
        names=dict(names),
        transcript=transcript_record(finding.transcript),
    )


def case_record(case: Case) -> FuzzCaseRecord:
    """Return the record of a fuzz case for a bundle."""
    return FuzzCaseRecord(
        index=case.index,
        state=case.state,
        frame=case.frame_kind,
        field=case.field,
        mutation=case.mutation,
        sent=tuple(map(_record_step, case.steps)),
        delimited=case.delimited,
        hazardous=case.hazardous,
    )


def cases_of(
    record: FindingRecord, names: Mapping[str, str], enter: Callable[[str], object]
) -> tuple[Case, ...]:
    """Return the cases of a recorded finding, with the names that exist in this session.

    `enter` is called with each state, and raises an error for a state of another protocol.

    Raises:
        UsageFault: the record is damaged, or has a state of another protocol.
    """
    try:
        check_finding(record)
    except ValueError as error:
        raise UsageFault(f"finding {record.id}: {error}") from error
    for case in record.cases:
        try:
            enter(case.state)
        except KeyError as error:
            words = f"expected a state of the target's protocol, found {case.state!r}"
            raise UsageFault(f"finding {record.id}: {words}; is it another's corpus?") from error
    return read_cases(record, map_renamed(record.names, names))


def read_cases(
    record: FindingRecord, names: Mapping[bytes, bytes] = MappingProxyType({})
) -> tuple[Case, ...]:
    """Return the cases of a recorded finding; `names` maps recorded names to new ones."""
    return tuple(_case_of(case, names) for case in record.cases)


def check_finding(record: FindingRecord) -> None:
    """Check that a recorded finding can be sent again.

    Raises:
        ValueError: the finding cannot be sent again; the text names the wrong part.
    """
    _expect(bool(record.cases), "cases", "one or more", "none")
    for number, case in enumerate(record.cases):
        _expect(bool(case.sent), f"cases[{number}].sent", "one step or more", "none")
        for at, sent in enumerate(case.sent):
            place = f"cases[{number}].sent[{at}]"
            _expect(sent.conn >= 0, f"{place}.conn", "0 or more", str(sent.conn))
            known = ", ".join(_MANNERS)
            _expect(sent.manner in _MANNERS, f"{place}.manner", f"one of {known}", sent.manner)
            try:
                sent.data()
            except ValueError as error:
                raise ValueError(f"{place}: expected bytes; {error}") from error


def _expect(holds: bool, place: str, due: str, found: str) -> None:
    if not holds:
        raise ValueError(f"{place}: expected {due}, found {found}")


def _case_of(record: FuzzCaseRecord, names: Mapping[bytes, bytes]) -> Case:
    """Return a recorded case with its old names replaced by new ones."""
    steps: list[Step] = []
    for sent in record.sent:
        data = sent.data()
        for old, new in names.items():
            data = data.replace(old, new)
        steps.append(Step(data, _style(sent), sent.conn, sent.label))
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


def _record_step(step: Step) -> SentRecord:
    style = step.style
    slow = isinstance(style, Slow)
    name = "slow" if slow else "split" if isinstance(style, SplitAt) else "whole"
    return SentRecord(
        conn=step.connection,
        length=len(step.data),
        manner=_NAMES.get(type(style), name),
        cuts=style.offsets if isinstance(style, Slow | SplitAt) else (),
        seconds=style.seconds if isinstance(style, Slow | Hold) else 0.0,
        label=step.label,
        **pack_bytes(step.data),
    )


def _style(sent: SentRecord) -> WriteStyle:
    if sent.manner == "slow":
        return Slow(sent.seconds, sent.cuts)
    if sent.manner == "hold":
        return Hold(sent.seconds)
    return SplitAt(sent.cuts) if sent.manner == "split" else _PLAIN[sent.manner]


def finding_case(finding: FindingRecord, protocol: str) -> CaseRecord:
    """Return a finding as the record of a case, for reports that show cases."""
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


def map_renamed(old: Mapping[str, str], new: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return each changed name with its new name, the longest first; both are by purpose."""
    pairs = [(old[key].encode(), new[key].encode()) for key in old if key in new]
    changed = [(before, after) for before, after in pairs if before and before != after]
    return dict(sorted(changed, key=lambda pair: -len(pair[0])))
