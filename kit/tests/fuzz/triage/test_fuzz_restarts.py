"""Restarts of the target among the inputs, and deaths of what it stored before one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from test_fuzz_past import DIED, KILLS, Fresh, case, past

from wireproof_kit.fuzz.campaign import batches
from wireproof_kit.fuzz.campaign.batches import BATCH, Batches
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import CampaignProgress
from wireproof_kit.fuzz.campaign.restarts import NOT_STARTED, split_at_restarts
from wireproof_kit.fuzz.campaign.target import AddressTarget
from wireproof_kit.fuzz.campaign.workers import TargetChoice, campaign_at
from wireproof_kit.fuzz.case import RESTART, Case
from wireproof_kit.fuzz.driver import Choice, FuzzSessionOptions
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.fuzz.triage.past import PastSearch
from wireproof_kit.targets.target import Target

pytestmark = pytest.mark.long

FAULT = ("--fault", "parser-stored-nul-keeps-down")
RESTARTS = replace(case(0), field=RESTART, frame_kind="-")
LATER = "after it"


class Keeps:
    """A target that dies of a case of one kind before a restart, and one of another kind after."""

    def __init__(self, *, after: bool) -> None:
        self.after = after

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        *parts, last = split_at_restarts([*cases, case(0)])
        before = any(each.mutation == KILLS for part, _ in parts for each in part)
        late = any(each.mutation == LATER for each in last[0])
        return Anomaly(DIED, tuple(cases)) if before and late >= self.after else None

    def out_of_time(self) -> bool:
        return False


def test_one_case_before_a_restart_is_found() -> None:
    found = PastSearch(Keeps(after=False)).culprits([*past(4000, 900), RESTARTS])
    assert [each.mutation for each in found] == [KILLS, RESTARTS.mutation]
    assert found[1].is_restart


def test_one_case_before_a_restart_and_one_after_it_are_found() -> None:
    later = [*past(300, 301), case(301, LATER), *past(200, 201)]
    sent = [*past(1000, 999), RESTARTS, *later]
    found = PastSearch(Keeps(after=True)).culprits(sent)
    assert [each.mutation for each in found] == [KILLS, RESTARTS.mutation, LATER]


def test_sixty_cases_that_a_restart_divides_are_found_without_it() -> None:
    found = PastSearch(Fresh(60)).culprits([*past(900, 20), RESTARTS, *past(600, 20)])
    assert [each.mutation for each in found] == [KILLS] * 60


class _Generation:
    def case(self, index: int) -> Case:
        return case(index)

    def start(self, state: str) -> str:
        return state


def test_restarts_become_rarer() -> None:
    made = Batches(WorkerPlan(Choice(1)), restarts=True)
    made.generation = _Generation()  # type: ignore[assignment]
    after = [number for number in range(600) if made.restart_after(number)]
    assert after == [15, 47, 111, 239, 495]
    made.plan = WorkerPlan(Choice(1, states=("fresh",)))
    assert not any(map(made.restart_after, range(600)))


def test_a_target_that_others_use_or_watch_is_not_restarted() -> None:
    target, options = Target("nsq://127.0.0.1:1", "nsq", "127.0.0.1", 1), FuzzSessionOptions("t")
    assert AddressTarget(target, options, lambda: True).may_restart
    assert not AddressTarget(target, options, lambda: True, is_shared=True).may_restart
    assert not AddressTarget(target, options, lambda: True, process=1).may_restart
    assert not AddressTarget(target, options).may_restart


class _Found:
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def on_open(self, campaign: CampaignProgress) -> None:
        """Ignore that the target is ready."""

    def went_on(self, campaign: CampaignProgress) -> None:
        """Ignore the progress."""

    def on_finding(self, campaign: CampaignProgress, finding: Finding) -> None:
        self.findings.append(finding)


@pytest.mark.process
@pytest.mark.parametrize("extra", [FAULT, ()])
def test_a_broker_that_does_not_start_with_what_it_stored(
    extra: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "FIRST_RESTART", 1)
    plan = WorkerPlan(Choice(1), cases=4 * BATCH, stop_at_first=True)
    told = _Found()
    with campaign_at(TargetChoice(protocol="nsq", extra=extra), plan, told) as campaign:
        campaign.run()
    if not extra:
        assert not told.findings
        return
    (finding,) = told.findings
    assert (finding.signature.violated, finding.signature.field) == (DEAD, RESTART)
    assert finding.trouble.words.startswith(NOT_STARTED)
    assert (len(finding.cases), finding.shown) == (2, finding.runs)
