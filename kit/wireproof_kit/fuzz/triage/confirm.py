"""Sends the cases of a recorded finding again, to the same target or another one."""

from dataclasses import dataclass

from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import SilentListener
from wireproof_kit.fuzz.campaign.workers import TargetChoice, campaign_at
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.oracle.rules import DEAD
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.fuzz_record import FindingRecord


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The result of sending a finding's cases again.

    `shown` says for each run whether the finding showed, `transcript` is from one more run, and
    `died` says whether the target ended.
    """

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
    plan = WorkerPlan(Choice(finding.seed))
    with campaign_at(place, plan, SilentListener()) as campaign:
        if isinstance(campaign, Campaign):
            campaign.is_watched = True  # some targets die of what they deliver
        campaign.open()
        try:
            cases = campaign.cases_of(finding)
            for _ in range(times):
                shown.append(campaign.shows(cases, finding.violated))
                if campaign.died:
                    break
            if record and not campaign.died:
                transcript = campaign.record_exchange(cases, finding.violated)
        finally:
            campaign.close()
    return Repetitions(tuple(shown), transcript, campaign.died and finding.violated == DEAD)
