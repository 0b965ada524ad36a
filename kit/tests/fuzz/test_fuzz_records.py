"""Findings as a bundle keeps them, and what can be sent again of one that was damaged."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from small_law import header

from wireproof_kit.bundle.file import Bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.campaign.records import cases_of, check_finding, finding_record
from wireproof_kit.fuzz.case import (
    BYTE_BY_BYTE,
    HALF_CLOSE,
    TOGETHER,
    WHOLE,
    Case,
    Slow,
    SplitAt,
    Step,
    WriteStyle,
)
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import WRONG_ANSWER
from wireproof_kit.fuzz.triage.finding import Finding, Signature
from wireproof_kit.verdicts.diff import compare
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.record import FooterRecord

MANNERS: tuple[WriteStyle, ...] = (
    WHOLE,
    SplitAt((1, 3)),
    BYTE_BY_BYTE,
    TOGETHER,
    HALF_CLOSE,
    Slow(0.5, (2,)),
)
STEPS = tuple(Step(b"to wp_old", each, at % 2, f"step {at}") for at, each in enumerate(MANNERS))
CASE = Case(5, "begun", "PUT", "body", "empty", STEPS, delimited=True, hazardous=True)
STATES: Mapping[str, tuple[Step, ...]] = {"begun": ()}


def record() -> FindingRecord:
    signature = Signature(WRONG_ANSWER, "PUT", "body", "OK")
    finding = Finding(signature, Trouble(WRONG_ANSWER, "x"), 1, (CASE,), 5, 5, Transcript(), 0.1)
    return finding_record(finding, {"topic": "wp_old"})


def with_case(**changed: object) -> FindingRecord:
    """Return the record with something of its case changed."""
    whole = record()
    return replace(whole, cases=(replace(whole.cases[0], **changed),))


def with_step(**changed: object) -> FindingRecord:
    """Return the record with something of its first step changed."""
    first, *others = record().cases[0].sent
    return with_case(sent=(replace(first, **changed), *others))


def test_a_kept_case_comes_back_as_it_was() -> None:
    kept = msgspec.json.decode(msgspec.json.encode(record()), type=FindingRecord)

    check_finding(kept)
    assert cases_of(kept, {"topic": "wp_old"}, STATES.__getitem__) == (CASE,)


def test_a_kept_case_names_what_is_there_now() -> None:
    (case,) = cases_of(record(), {"topic": "wp_newer"}, STATES.__getitem__)

    assert {step.data for step in case.steps} == {b"to wp_newer"}


@pytest.mark.parametrize(
    ("damaged", "sentence"),
    [
        (replace(record(), cases=()), "cases: expected one or more, found none"),
        (with_case(sent=()), "cases[0].sent: expected one step or more, found none"),
        (with_step(conn=-1), "cases[0].sent[0].conn: expected 0 or more, found -1"),
        (
            with_step(manner="sideways"),
            "cases[0].sent[0].manner: expected one of whole, bytewise, together, half-close, "
            "split, slow, hold, found sideways",
        ),
        (with_step(hex="zz"), "cases[0].sent[0]: expected bytes; "),
        (with_step(deflate="%"), "cases[0].sent[0]: expected bytes; "),
    ],
    ids=["no cases", "no steps", "connection", "manner", "hex", "deflate"],
)
def test_a_damaged_finding_is_refused_with_its_place(
    damaged: FindingRecord, sentence: str
) -> None:
    with pytest.raises(UsageFault) as raised:
        cases_of(damaged, {}, STATES.__getitem__)

    assert str(raised.value).startswith(f"finding {damaged.id}: {sentence}")


def test_a_finding_of_another_protocol_is_refused() -> None:
    with pytest.raises(UsageFault, match="found 'begun'; is it another's corpus"):
        cases_of(record(), {}, {"greeted": ()}.__getitem__)


def campaign(name: str, *ids: str) -> Bundle:
    found = tuple(replace(record(), id=each) for each in ids)
    return Bundle(Path(name), header(), (), FooterRecord({}, (), {}, 0, "s"), found)


def test_two_campaigns_are_told_by_their_findings() -> None:
    with pytest.raises(UsageFault, match="in both: 2; in A alone: 1; in B alone: none"):
        compare(campaign("a", "1", "2"), campaign("b", "2"))
    with pytest.raises(UsageFault, match="b is of a fuzz campaign; expected two runs"):
        compare(campaign("a"), campaign("b", "2"))
