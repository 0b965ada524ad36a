"""A finding is confirmed, however long it took to find the cases that raise it."""

from collections.abc import Sequence
from typing import cast

import pytest

from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import CampaignProgress, SilentListener
from wireproof_kit.fuzz.campaign.workers import TargetChoice, fuzz_target_at
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.triage import triage as pursuits
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.fuzz.triage.minimize import TIMES, CulpritSearch
from wireproof_kit.fuzz.triage.triage import Triage

pytestmark = pytest.mark.process

FAULTY = TargetChoice(protocol="nsq", extra=("--fault", "beyond-no-header"))
CHOICE = Choice(1, frames=("PUB_EXT",), states=("identified",))


class Lengthy(CulpritSearch):
    """A hunt that takes all the time there is."""

    def culprits(self, anomaly: Anomaly, named: Sequence[Case] = ()) -> tuple[Case, ...]:
        found = super().culprits(anomaly, named)
        cast(Triage, self.prober).until = 0.0
        return found


class Told(SilentListener):
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def on_finding(self, campaign: CampaignProgress, finding: Finding) -> None:
        self.findings.append(finding)


def test_time_to_confirm_is_left_though_the_hunt_took_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pursuits, "CulpritSearch", Lengthy)
    told = Told()

    with fuzz_target_at(FAULTY) as fuzz_target:
        plan = WorkerPlan(CHOICE, time_s=60, stop_at_first=True, shrink=False)
        Campaign(plan=plan, fuzz_target=fuzz_target, listener=told).run()

    assert [(each.shown, each.runs) for each in told.findings][-1] == (TIMES, TIMES)
