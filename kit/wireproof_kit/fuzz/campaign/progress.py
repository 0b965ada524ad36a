"""What a campaign tells of itself while it runs, whatever its target is."""

from collections.abc import Mapping
from typing import Protocol

from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.target_history import TargetHistory
from wireproof_kit.fuzz.send.counts import Counts
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.fuzz.triage.findings import Findings


class CampaignProgress(Protocol):
    """The state of one worker's campaign that a listener can read."""

    @property
    def plan(self) -> WorkerPlan:
        """The plan of the campaign."""
        ...

    @property
    def batch(self) -> int:
        """The number of the batch that is being sent."""
        ...

    @property
    def executed(self) -> int:
        """How many cases were sent."""
        ...

    @property
    def batches(self) -> Batches:
        """The batches of cases, with the coverage of the cases sent."""
        ...

    @property
    def findings(self) -> Findings:
        """The findings so far."""
        ...

    @property
    def history(self) -> TargetHistory:
        """The deaths of the target."""
        ...

    @property
    def counts(self) -> Counts:
        """How many cases were sent on shared connections and on their own."""
        ...

    @property
    def hunting_s(self) -> float:
        """The seconds spent on confirming and minimizing anomalies."""
        ...

    @property
    def gone(self) -> str:
        """Why no further case can be sent; empty while one can."""
        ...

    @property
    def can_restart(self) -> bool:
        """Whether the kit can start the target again."""
        ...

    @property
    def unwatched_s(self) -> float | None:
        """Seconds into the campaign when the target's process could no longer be watched."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The properties that the target reports."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """The names on the target that cases use, such as topics, by purpose."""
        ...

    @property
    def patience_s(self) -> float:
        """The seconds after which an answer is overdue."""
        ...


class CampaignListener(Protocol):
    """Receives the events of a campaign."""

    def on_open(self, campaign: CampaignProgress) -> None:
        """Receive what is known of the target, once it is ready."""

    def went_on(self, campaign: CampaignProgress) -> None:
        """Receive the campaign's progress after each batch."""

    def on_finding(self, campaign: CampaignProgress, finding: Finding) -> None:
        """Receive a new finding; called again each time the finding shows again."""


class SilentListener:
    """A listener of a campaign that ignores all events."""

    def on_open(self, campaign: CampaignProgress) -> None:
        """Ignore that the target is ready."""

    def went_on(self, campaign: CampaignProgress) -> None:
        """Ignore the end of a batch."""

    def on_finding(self, campaign: CampaignProgress, finding: Finding) -> None:
        """Ignore a finding."""
