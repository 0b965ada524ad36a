"""What the campaigns of one worker have in common, whatever their target is."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.progress import CampaignListener
from wireproof_kit.fuzz.campaign.records import cases_of
from wireproof_kit.fuzz.campaign.target_history import TargetHistory
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.send.counts import Counts
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.fuzz.triage.triage import Triage
from wireproof_spec.fuzz_record import FindingRecord

REPEATS_SHARE: Final = 0.1
"""The part of a campaign that is kept back at its end, to repeat what its last cases raise."""
MOST_REPEATS_S: Final = 10.0


@dataclass(slots=True, kw_only=True)
class WorkerCampaign:
    """The clock, the batches and the findings of a campaign; subclasses send the cases."""

    plan: WorkerPlan
    listener: CampaignListener
    is_interrupted: Callable[[], bool] = lambda: False
    batch: int = 0
    executed: int = 0
    gone: str = ""
    """Why no further case can be sent to the target; empty while it can."""
    can_restart: bool = True
    counts: Counts = field(default_factory=Counts)
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    patience_s: float = 0.0
    revival_s: float = 0.0
    unwatched_s: float | None = None
    side_deaths: list[Anomaly] = field(default_factory=list[Anomaly])
    batches: Batches = field(init=False)
    findings: Findings = field(init=False)
    history: TargetHistory = field(default_factory=TargetHistory)
    _triage: Triage = field(init=False)
    _started: float = 0.0
    _sends_until: float = math.inf
    _ends_at: float = math.inf

    @property
    def died(self) -> bool:
        """Return True if the target does not work any more, and nothing starts it again."""
        return bool(self.gone)

    def cases_of(self, record: FindingRecord) -> tuple[Case, ...]:
        """Return the cases of a recorded finding, with the names that exist in this session.

        Raises:
            UsageFault: the record is damaged, or has a state of another protocol.
        """
        generation = self.batches.generation
        assert generation is not None, "the campaign is open"
        return cases_of(record, self.names, generation.enter)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the campaign's start."""
        return time.monotonic() - self._started

    @property
    def left_s(self) -> float:
        """Seconds until the campaign's end."""
        return self._ends_at - time.monotonic()

    @property
    def hunting_s(self) -> float:
        """The seconds spent on confirming and minimizing anomalies."""
        return self._triage.spent_s

    def is_over(self) -> bool:
        """Return True if the time is over, the target is dead or the user interrupted."""
        return self.died or self.is_interrupted() or time.monotonic() >= self._ends_at

    def is_sent(self) -> bool:
        """Return True if no more new cases are sent: the rest of the time is for repeats."""
        all_sent = self.batches.is_behind(self.batch)
        return self.is_over() or all_sent or time.monotonic() >= self._sends_until

    def exercise_overdue(self) -> None:
        """Let the kit's own clients do an exercise if one is overdue; a program has none."""

    def _start_clock(self) -> None:
        self._started = time.monotonic()
        if self.plan.time_s is not None:
            self._ends_at = self._started + self.plan.time_s
            kept_s = min(self.plan.time_s * REPEATS_SHARE, MOST_REPEATS_S)
            self._sends_until = self._ends_at - kept_s

    def _has_enough(self) -> bool:
        """Return True if the campaign stops at its first finding and has one."""
        return self.plan.stop_at_first and self.findings.are_confirmed

    def _report(self, finding: Finding) -> None:
        self.listener.on_finding(self, finding)
