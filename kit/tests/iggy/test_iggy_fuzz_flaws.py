"""Which cases of Iggy are wrong in the same way, and share one finding."""

from dataclasses import dataclass, replace

import pytest

from wireproof_kit.fuzz.case import BYTE_BY_BYTE, WHOLE, Case, SplitAt, Step, WriteStyle
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.rules import CLOSED, LINGERS, NO_ANSWER, NOT_CLOSED, WRONG_ANSWER
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.finding import Finding, signature_of
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.iggy.fuzz.flaws import divisions
from wireproof_kit.iggy.fuzz.owed import find_flaws, homes
from wireproof_kit.iggy.wire import requests
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy import commands

HOMES = homes({(7, "wp_read"): True}, topic=(1, "wp_topic"))
PING = requests.ping().data
OK = "status 0"


def frame(code: int, payload: bytes = b"") -> bytes:
    return (4 + len(payload)).to_bytes(4, "little") + code.to_bytes(4, "little") + payload


def named(name: bytes) -> bytes:
    return bytes([2, len(name)]) + name


NO_MESSAGES = frame(commands.SEND_MESSAGES, named(b"s") + named(b"t") + b"\1\0")
TO_THE_END = frame(commands.SEND_MESSAGES, named(b"st") + named(b"t") + b"\2\3abc")
CUT_MESSAGE = frame(commands.SEND_MESSAGES, named(b"s") + named(b"t") + b"\1\0" + bytes(7))
NO_PARTITIONING = frame(commands.SEND_MESSAGES, named(b"s") + named(b"t") + b"\1\1")


def case(data: bytes, kind: str, changed: str, style: WriteStyle = WHOLE) -> Case:
    return Case(0, "fresh", kind, changed, "changed", (Step(data, style),), delimited=False)


def test_what_lacks_the_same_is_wrong_in_the_same_way() -> None:
    (flaw,) = find_flaws(HOMES, NO_MESSAGES)
    assert flaw == find_flaws(HOMES, PING + TO_THE_END)[0]
    others = {find_flaws(HOMES, data) for data in (CUT_MESSAGE, NO_PARTITIONING)}
    assert len({(flaw,), *others}) == 3
    assert find_flaws(HOMES, PING) == ()


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (frame(99_999_999), frame(88_888_888, b"x")),
        (b"\0\0\0\0", b"\3\0\0\0abc"),
        (PING[:2], PING + PING[:3]),
        (PING[:6], (1 << 17).to_bytes(4, "little") + NO_MESSAGES[4:]),
        (b"\xff\xff\xff\xff\1", b"\0\0\0\x80\2"),
    ],
)
def test_one_way_to_be_wrong_is_one_flaw(one: bytes, another: bytes) -> None:
    assert find_flaws(HOMES, one) == find_flaws(HOMES, another) != ()


def test_the_ways_to_be_wrong_are_told_apart() -> None:
    wrong = (frame(99_999_999), b"\0\0\0\0", PING[:2], PING[:6], b"\xff\xff\xff\xff\1")
    assert len({find_flaws(HOMES, data) for data in wrong}) == len(wrong)


@pytest.mark.parametrize(
    ("style", "flaws"),
    [
        (WHOLE, []),
        (BYTE_BY_BYTE, ["a divided head"]),
        (SplitAt((3, 20)), ["a divided head"]),
        (SplitAt((8,)), ["a divided payload"]),
    ],
)
def test_writes_are_told_apart_by_where_they_divide(style: WriteStyle, flaws: list[str]) -> None:
    assert list(divisions(case(CUT_MESSAGE, "send_messages", "code", style))) == flaws


def find_flaw(of: Case) -> str:
    return "; ".join(find_flaws(HOMES, of.steps[0].data))


@dataclass
class Campaign:
    """The findings of a campaign, to which confirmed ones are added."""

    findings: Findings

    def confirm(
        self, violated: str, answer: str, culprit: Case, *, of_opening: bool = False
    ) -> str:
        """Add a confirmed finding, or count it as one that is known; return the id."""
        anomaly = Anomaly(
            Trouble(violated, "why"), (culprit,), culprit, answer, of_opening=of_opening
        )
        signature = self.findings.identify(anomaly, culprit)
        if self.findings.count_again(signature) is None:
            exchange = Transcript()
            found = Finding(signature, anomaly.trouble, 1, (culprit,), 5, 5, exchange, 0.1)
            self.findings.add(found, self.findings.find_flaw(anomaly, culprit))
        return signature.id


@pytest.fixture
def campaign() -> Campaign:
    return Campaign(Findings(1, lambda finding: None, find_flaw))


def test_one_cause_is_one_finding_with_the_id_of_the_first(campaign: Campaign) -> None:
    first = case(NO_MESSAGES, "send_messages", "messages[]")
    own = signature_of(Anomaly(Trouble(WRONG_ANSWER, ""), (first,), first, OK), first).id
    another = case(TO_THE_END, "send_messages", "partitioning.length")

    assert campaign.confirm(WRONG_ANSWER, OK, first) == own
    assert campaign.confirm(WRONG_ANSWER, OK, another) == own
    assert campaign.findings.by_id[own].seen == 2
    again = Anomaly(Trouble(WRONG_ANSWER, ""), (another,), another, OK)
    assert campaign.findings.meet(again) is not None, "no repetition is needed"


def test_the_same_few_bytes_are_one_finding_where_nobody_knows_the_flaw() -> None:
    campaign = Campaign(Findings(1, lambda finding: None))
    first = campaign.confirm(WRONG_ANSWER, OK, case(PING, "ping", "code"))

    assert campaign.confirm(WRONG_ANSWER, OK, case(PING, "ping", "length")) == first
    assert campaign.confirm(WRONG_ANSWER, OK, case(PING[:-1], "ping", "length")) != first
    assert campaign.confirm("no-answer", OK, case(PING, "ping", "length")) != first


def test_a_known_flaw_explains_what_has_others_too(campaign: Campaign) -> None:
    known = campaign.confirm(WRONG_ANSWER, OK, case(frame(99_999_999), "ping", "code"))
    both = case(CUT_MESSAGE + frame(99_999_999) + PING[:2], "send_messages", "length")
    without = case(CUT_MESSAGE + PING[:2], "send_messages", "length")

    assert campaign.confirm(WRONG_ANSWER, OK, both) == known
    assert campaign.confirm(WRONG_ANSWER, OK, without) != known


def test_other_flaws_rules_and_answers_are_findings_of_their_own(campaign: Campaign) -> None:
    first = case(NO_MESSAGES, "send_messages", "messages[]")
    another = case(TO_THE_END, "send_messages", "partitioning.length")
    flawless = case(PING, "ping", "frame")
    found = {
        campaign.confirm(WRONG_ANSWER, OK, first),
        campaign.confirm(WRONG_ANSWER, OK, case(CUT_MESSAGE, "send_messages", "id")),
        campaign.confirm(WRONG_ANSWER, "refusal with a body", another),
        campaign.confirm(NOT_CLOSED, "nothing", another),
        campaign.confirm(WRONG_ANSWER, OK, flawless),
        campaign.confirm(WRONG_ANSWER, OK, case(PING * 2, "ping", "length")),
    }
    assert len(found) == 6


def test_lost_answers_to_what_precedes_the_cases_are_one_cause(campaign: Campaign) -> None:
    one, another = case(CUT_MESSAGE, "send", "id"), case(NO_MESSAGES, "send", "messages[]")
    first = campaign.confirm(CLOSED, CLOSED, one, of_opening=True)

    assert campaign.confirm(CLOSED, CLOSED, another, of_opening=True) == first
    elsewhere = replace(another, state="greeted")
    assert campaign.confirm(CLOSED, CLOSED, elsewhere, of_opening=True) != first
    assert campaign.confirm(CLOSED, CLOSED, replace(another, frame_kind="x")) != first


def test_a_connection_that_stays_open_or_listed_after_a_cut_frame_is_one_cause(
    campaign: Campaign,
) -> None:
    far = (1 << 31).to_bytes(4, "little") + NO_MESSAGES[4:]
    kept = campaign.confirm(NOT_CLOSED, "nothing", case(PING[:6], "ping", "length"))

    assert campaign.confirm(LINGERS, LINGERS, case(NO_MESSAGES[:-1], "send", "length")) == kept
    assert campaign.confirm(LINGERS, LINGERS, case(far, "send", "length")) == kept
    assert campaign.confirm(LINGERS, LINGERS, case(PING[:2], "ping", "length")) != kept


def test_a_silence_with_a_known_flaw_needs_no_repetition(campaign: Campaign) -> None:
    kept = campaign.confirm(NOT_CLOSED, "nothing", case(PING[:6], "ping", "length"))
    silent = case(NO_MESSAGES[:-1], "send", "length")
    flawless = case(PING, "ping", "frame")
    again = [Anomaly(Trouble(NO_ANSWER, ""), (each,), each) for each in (silent, flawless)]

    assert campaign.confirm(NO_ANSWER, "nothing", silent) == kept
    assert campaign.findings.meet(again[0]) is not None
    assert campaign.findings.meet(again[1]) is None


def test_a_silence_that_was_seen_once_is_still_to_be_confirmed(campaign: Campaign) -> None:
    cut = case(PING[:6], "ping", "length")
    silent = Anomaly(Trouble(NO_ANSWER, ""), (cut,), cut)
    campaign.findings.add_once(silent, (cut,), Transcript(), shown=0, at_s=0.1)
    assert campaign.findings.meet(silent) is None
