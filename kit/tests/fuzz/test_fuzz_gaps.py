"""What a campaign did not look at is said, and it does not end with exit code 0 then."""

import ast
from pathlib import Path

import pytest
from test_fuzz_recorder import LastWord, recorder_in

from wireproof.options.global_options import OutputStyle
from wireproof.view.fuzzing import _literals, choose_fuzz_view  # pyright: ignore[reportPrivateUsage]
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.gaps import find_gaps
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import Ended, Opened, Status
from wireproof_kit.fuzz.case import RETURNED, WHOLE, Case, Step
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.generate.held_cases import nothing_in
from wireproof_kit.fuzz.send.conversation import OPAQUE, UNSURE
from wireproof_kit.fuzz.send.counts import Counts

SENT = Coverage({("PUB_EXT", "size", "zero", "closing-beating"): 100})
CALM = Counts(piped=100, calm=100, calm_s=1.0, piped_s=1.0)


def plan(*frames: str, states: tuple[str, ...] = (), time_s: float | None = None) -> WorkerPlan:
    return WorkerPlan(Choice(1, frames, states), time_s=time_s)


def test_a_chosen_kind_or_state_of_which_nothing_was_sent_is_named() -> None:
    assert find_gaps(plan("PUB", states=("closing",)), (), SENT) == ()
    assert find_gaps(plan("MPUB", states=("fresh",)), (), SENT) == (
        "no case of the chosen frame kind MPUB was sent",
        "no case in the chosen state fresh was sent",
    )


@pytest.mark.parametrize(
    ("executed", "time_s", "gaps"),
    [(250, 10.0, 0), (249, 10.0, 1), (1, None, 0)],
)
def test_fewer_than_a_quarter_of_what_the_target_can_take_is_said(
    executed: int, time_s: float | None, gaps: int
) -> None:
    told = [Status(0, executed=executed, counts=CALM)]

    assert len(find_gaps(plan(time_s=time_s), told, SENT)) == gaps


@pytest.mark.parametrize(
    ("can_restart", "advice"),
    [(False, "--restart CMD starts it each time"), (True, "it could not be started again")],
)
def test_a_target_that_stays_dead_is_said_in_place_of_too_little_time(
    can_restart: bool, advice: str
) -> None:
    gone = Status(0, executed=9, counts=CALM, gone="no answer", can_restart=can_restart)
    there = Status(1, executed=2, counts=CALM)

    assert find_gaps(plan(time_s=10.0), [gone, there], SENT) == (
        f"after 11 cases nothing more could be sent to the target: no answer; {advice}",
    )
    assert find_gaps(WorkerPlan(Choice(1), cases=11), [gone, there], SENT) == ()


def test_a_slow_target_that_had_its_share_is_no_gap() -> None:
    slow = Counts(single=40, single_s=9.0, calm=40, calm_s=9.0)

    assert find_gaps(plan(time_s=10.0), [Status(0, executed=40, counts=slow)], SENT) == ()
    assert find_gaps(plan(time_s=10.0), [Status(0, counts=Counts(single=3))], SENT) == ()


def test_each_of_several_workers_counts() -> None:
    told = [Status(n, executed=250, counts=CALM) for n in range(2)]

    assert find_gaps(plan(time_s=10.0), told, SENT) == ()
    assert len(find_gaps(plan(time_s=10.0), [told[0], Status(1, counts=CALM)], SENT)) == 1


def test_all_the_cases_that_were_asked_for_are_enough() -> None:
    whole = WorkerPlan(Choice(1), time_s=10.0, cases=100)

    assert find_gaps(whole, [Status(0, executed=100, counts=CALM)], SENT) == ()
    assert len(find_gaps(whole, [Status(0, executed=99, counts=CALM)], SENT)) == 1


def test_a_campaign_with_gaps_and_no_finding_ends_with_exit_code_3(tmp_path: Path) -> None:
    view = LastWord()
    recorder = recorder_in(tmp_path, view)
    recorder.plan = plan("MPUB")
    recorder.hear(Opened({}, {}, 1.0))
    recorder.hear(Ended(Status(0, executed=100, counts=CALM, repeated_deaths=2, spared=3), SENT))

    assert recorder.close(interrupted=False) == 3
    assert view.conclusion is not None
    campaign = view.conclusion.campaign
    assert campaign.gaps == ("no case of the chosen frame kind MPUB was sent",)
    assert (campaign.repeated_deaths, campaign.spared) == (2, 3)
    assert "nothing found, but not all was looked at" in view.conclusion.footer.statement


def test_exercises_that_had_their_share_are_counted_apart() -> None:
    case = Case(0, "fresh", "PUB", "size", "zero", (Step(b"x"),), True)
    exercise = nothing_in(case, "fresh", RETURNED, WHOLE)
    batches = Batches(plan())

    assert batches.keep_sent([case, exercise]) == [case, exercise]
    batches.has_exercises = False
    assert batches.keep_sent([case, exercise]) == [case]
    assert (batches.spared, batches.skipped) == (1, 0)


def test_cases_that_are_not_judged_in_full_are_told_by_frame_and_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = recorder_in(tmp_path, LastWord())
    recorder.view = choose_fuzz_view(OutputStyle(), plan())
    counts = Counts(piped=100)
    case = Case(0, "closing-beating", "PUB_EXT", "size", "zero", (Step(b"x"),), True)
    counts.leave_unjudged(OPAQUE, [case, case])
    counts.leave_unjudged(UNSURE, [case])
    recorder.hear(Opened({}, {}, 1.0))
    recorder.hear(Ended(Status(0, executed=100, counts=counts), SENT))
    recorder.close(interrupted=False)

    out = " ".join(capsys.readouterr().out.split())
    assert "PUB_EXT 1 1 1 100 97" in out
    assert "in state closing-beating 100 97" in out
    assert f"2 cases only partly judged: {OPAQUE}" in out
    campaign = read_bundle(tmp_path / "b.jsonl").campaign
    assert campaign is not None
    assert campaign.unjudged[UNSURE] == {"PUB_EXT": {"closing-beating": 1}}


def test_bytes_are_shown_as_literals_that_give_them_back() -> None:
    sent = b"  V2PUB topic  0\n" + bytes(range(256))
    literals = _literals(sent, 60)

    assert all(len(literal) <= 60 for literal in literals)
    assert ast.literal_eval(f"({' '.join(literals)})") == sent
    assert _literals(b"", 60) == ["b''"]
