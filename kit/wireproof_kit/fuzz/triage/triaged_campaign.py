"""What triage uses of a campaign."""

from collections.abc import Sequence
from typing import Protocol

from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.target_history import TargetHistory
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.wire.transcript import Transcript


class TriagedCampaign(Protocol):
    """What triage uses of a campaign: its plan, findings, and target to probe and restart."""

    @property
    def plan(self) -> WorkerPlan:
        """The plan of the campaign."""
        ...

    @property
    def batches(self) -> Batches:
        """The batches of cases, with the blocklist of cases that are no longer sent."""
        ...

    @property
    def findings(self) -> Findings:
        """The findings so far."""
        ...

    @property
    def died(self) -> bool:
        """Whether the target ended and could not be restarted."""
        ...

    @property
    def side_deaths(self) -> list[Anomaly]:
        """The deaths that came of repeating cases for another rule, to be followed next."""
        ...

    @property
    def elapsed_s(self) -> float:
        """Seconds since the campaign's start."""
        ...

    @property
    def left_s(self) -> float:
        """Seconds until the campaign's end."""
        ...

    @property
    def revival_s(self) -> float:
        """Seconds that the latest restart of the target took; 0 before the first one."""
        ...

    def is_over(self) -> bool:
        """Return True if the campaign must end."""
        ...

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        """Send cases on fresh connections; return the anomaly of the rule `violated`, or None."""
        ...

    @property
    def history(self) -> TargetHistory:
        """The batches sent to the target since its start, and its deaths."""
        ...

    def recent_past(self) -> Sequence[Case]:
        """Return the cases that were sent to the target before its latest death."""
        ...

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        """Send cases to a newly started target and wait; return the death they cause, or None."""
        ...

    def heal(self, found: Sequence[Anomaly]) -> bool:
        """Restart the target if needed; return True if it is healthy."""
        ...

    def exercise_overdue(self) -> None:
        """Let the kit's own clients do an exercise if one is overdue."""
        ...

    def record_exchange(self, cases: Sequence[Case], violated: str) -> Transcript:
        """Send cases once more and return the transcript."""
        ...

    def plan_exchange(self, cases: Sequence[Case]) -> Transcript:
        """Return a transcript of the bytes that cases would send; nothing is sent."""
        ...
