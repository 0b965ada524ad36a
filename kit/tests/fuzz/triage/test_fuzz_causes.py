"""The proof of the fuzzer counts a finding for a fault only when it is the fault's doing."""

import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_process import wireproof
from msgspec.structs import replace

from wireproof_spec.fuzz_record import FindingRecord, FuzzCaseRecord, SentRecord

BENCH = Path(__file__).resolve().parents[3] / "bench"
sys.path.append(str(BENCH))
import fuzz_causes  # noqa: E402  # the bench is no package
import fuzz_trials  # noqa: E402

pytestmark = pytest.mark.long

FAULT = ("--fault", "parser-some")
CASE = FuzzCaseRecord(0, "fresh", "magic", "magic", "empty", (SentRecord(),))
FOUND = FindingRecord(
    "0123456789ab", "answer", "", "fresh", "magic", "magic", "OK", 1, 5, 5, 1, 0.1, (CASE,)
)


NAMES = {"extended": "wp_f_1", "plain": "wp_f_3", "watched": "wp_f_2", "channel": "wp_fuzz_cases"}
"""What cases of NSQ name on the target that they were found on."""

MPUB_TRACE = b"MPUB_TRACE wp_f_3 0\n" + struct.pack(">IIIQ", 17, 1, 9, 7) + b"x"
BAD_TOPIC = "INTERNAL_CREATE_TOPIC ÄéЖ 0 0 true\n".encode()


def written(data: bytes) -> SentRecord:
    return SentRecord(hex=data.hex(), length=len(data))


class Shown:
    """Shows a finding as often as told, on the correct reference and on the faulty one."""

    def __init__(self, correct: Sequence[int], faulty: Sequence[int]) -> None:
        self._left = {(): list(correct), FAULT: list(faulty)}
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def __call__(self, extra: Sequence[str], finding: FindingRecord, times: int) -> int:
        self.asked.append((tuple(extra), times))
        return self._left[tuple(extra)].pop(0)


def test_what_shows_on_the_faulty_reference_alone_is_the_faults() -> None:
    shows = Shown([0], [1])
    assert fuzz_causes.doubt([FOUND], FAULT, shows) == ""
    assert shows.asked == [((), 1), (FAULT, 1)], "two runs are enough"


def test_what_shows_on_the_correct_reference_as_well_is_not() -> None:
    assert "the correct reference, too" in fuzz_causes.doubt([FOUND], FAULT, Shown([1, 3], [1]))
    assert fuzz_causes.doubt([FOUND], FAULT, Shown([1, 2], [1])) == "", "a busy machine's doing"


def test_what_never_shows_again_is_not() -> None:
    assert "not show again" in fuzz_causes.doubt([FOUND], FAULT, Shown([0], [0, 0]))
    assert fuzz_causes.doubt([FOUND], FAULT, Shown([0], [0, 1])) == ""


def test_each_finding_must_be_the_faults() -> None:
    assert fuzz_causes.doubt([FOUND, FOUND], FAULT, Shown([0, 1, 3], [1]))
    assert fuzz_causes.doubt([], FAULT, Shown([], [])) == "nothing was confirmed"


def test_an_outcome_in_doubt_is_wrong_though_something_was_found() -> None:
    trial = fuzz_trials.Trial("nsq", "fault", "parser-some", 1, 60)
    found = (trial, fuzz_trials.FOUND, 3.0, "answer: PUB", 256, 5.0)

    assert fuzz_trials.CampaignResult(*found).is_right
    assert not fuzz_trials.CampaignResult(*found, doubt="it shows on both").is_right


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a campaign against a faulty reference."""
    folder = tmp_path_factory.mktemp("proof")
    faulty = ("--reference-option=--fault", "--reference-option=beyond-no-header")
    done = wireproof(
        *("fuzz", "--reference", "nsq", *faulty, "--frames", "PUB_EXT", "--states", "identified"),
        *("-x", "--no-shrink", "--time", "900", "--seed", "1", "--bundle", "b.jsonl"),
        cwd=folder,
    )
    assert done.code == 1, done.out + done.err
    return folder / "b.jsonl"


@pytest.mark.process
def test_real_references_tell_whose_doing_it_is(campaign: Path) -> None:
    findings = fuzz_causes.list_confirmed(campaign)
    shows = fuzz_causes.shows_on("nsq")

    assert findings
    assert fuzz_causes.doubt(findings, ("--fault", "beyond-no-header"), shows) == ""
    assert "not show again" in fuzz_causes.doubt(findings, (), shows)
    faulty_everywhere = fuzz_causes.doubt(
        findings,
        (),
        lambda extra, finding, times: shows(("--fault", "beyond-no-header"), finding, times),
    )
    assert "the correct reference, too" in faulty_everywhere


@pytest.mark.process
def test_what_one_case_does_to_another_beside_it_shows_again() -> None:
    # The campaign knew that the second one ends its connection; whoever does not sends it first.
    # Whose message is lost then, and whether an answer tells, is chance.
    many = replace(written(MPUB_TRACE), manner="split", cuts=(9, 14, 20))
    cases = (
        FuzzCaseRecord(0, "identified", "MPUB_TRACE", "frame", "many writes", (many,), True),
        FuzzCaseRecord(
            1,
            "magic-sent",
            "INTERNAL_CREATE_TOPIC",
            "topic_name",
            "letters beyond ASCII",
            (written(BAD_TOPIC),),
            delimited=True,
            hazardous=True,
        ),
    )
    finding = replace(FOUND, cases=cases, names=NAMES)
    shows = fuzz_causes.shows_on("nsq")

    assert shows(("--fault", "parser-bad-topic-loses-next"), finding, fuzz_causes.MORE)
    assert not shows((), finding, fuzz_causes.MORE)
