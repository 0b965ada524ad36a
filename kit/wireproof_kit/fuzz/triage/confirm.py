"""Sends the cases of a recorded finding again, to the same target or another one."""

from collections.abc import Sequence
from dataclasses import dataclass

from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import TargetChoice, fuzz_target_at
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.fuzz.triage.consequences import ANSWERED
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.record import FindingRecord


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Whether each run showed the finding, the exchange of one more run, and if it was fatal."""

    shown: tuple[bool, ...]
    transcript: Transcript
    died: bool = False


def repeat_finding(
    place: TargetChoice, finding: FindingRecord, times: int, *, record: bool = True
) -> Repetitions:
    """Send the cases of a finding `times` times, each time on fresh connections.

    Raises:
        UsageFault: the finding is damaged, or of another protocol.
    """
    shown: list[bool] = []
    transcript = Transcript()
    with fuzz_target_at(place) as fuzz_target:
        campaign = Campaign(WorkerPlan(Choice(finding.seed)), fuzz_target, SilentListener())
        campaign.is_watched = True  # some targets die of what they deliver
        campaign.open()
        try:
            cases = campaign.cases_of(finding)
            for _ in range(times):
                shown.append(_shows(campaign, cases, finding.violated))
                if campaign.died:
                    break
            if record and not campaign.died:
                transcript = campaign.record_exchange(cases, finding.violated)
        finally:
            campaign.close()
    return Repetitions(tuple(shown), transcript, campaign.died and finding.violated == DEAD)


def _shows(campaign: Campaign, cases: Sequence[Case], violated: str) -> bool:
    if campaign.probe(cases, violated) is not None:
        return True
    if violated not in ANSWERED:
        return False
    if campaign.probe_apart(cases, violated) is not None:
        return True
    # What is wrong with the request of somebody else shows with that of whoever comes next.
    return campaign.disturbs(cases)


class SilentListener:
    """A listener that ignores all events."""

    def went_on(self, campaign: Campaign) -> None:
        """Ignore the end of a batch."""

    def on_finding(self, campaign: Campaign, finding: Finding) -> None:
        """Ignore a finding."""
