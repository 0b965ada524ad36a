"""The findings of a campaign, one for each signature, confirmed or not."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import GRAMMAR, Case
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.consequences import ANSWERED
from wireproof_kit.fuzz.triage.finding import Finding, Signature, signature_of
from wireproof_kit.wire.transcript import Transcript


@dataclass(slots=True)
class Findings:
    """The findings of a campaign by id; `report` is called with each new or changed one.

    `not_again` counts anomalies that were not seen again and may come from a busy machine.
    """

    seed: int
    report: Callable[[Finding], None]
    by_id: dict[str, Finding] = field(default_factory=dict[str, Finding])
    not_again: int = 0
    general: dict[tuple[str, str], Signature] = field(
        default_factory=dict[tuple[str, str], Signature]
    )
    """Findings that do not need a mutation, by rule and frame kind.

    `NOTHING_SENT` is any frame.
    """

    @property
    def are_confirmed(self) -> bool:
        """Return True if at least one finding is confirmed."""
        return any(each.is_confirmed for each in self.by_id.values())

    def add(self, finding: Finding) -> None:
        """Add a finding, or replace the one with the same id."""
        self.by_id[finding.id] = finding
        if finding.is_confirmed and len(finding.cases) == 1 and finding.case.mutation == GRAMMAR:
            signature = finding.signature
            if signature.frame_kind != NOTHING_SENT or signature.field == NOTHING_SENT:
                self.general[signature.violated, signature.frame_kind] = signature
        self.report(finding)

    def is_seen_again(self, signature: Signature) -> bool:
        """Return True if a finding has this signature; if so, count one more anomaly of it."""
        known = self.by_id.get(signature.id)
        if known is not None:
            self.add(known.again())
        return known is not None

    def is_known(self, anomaly: Anomaly) -> bool:
        """Return True if an anomaly whose case is known repeats a finding; if so, count it."""
        violated, case = anomaly.trouble.violated, anomaly.case
        for kind in (NOTHING_SENT, case.frame_kind if case is not None else NOTHING_SENT):
            if (violated, kind) in self.general:
                return self.is_seen_again(self.general[violated, kind])
        if case is None or not (anomaly.key or violated in ANSWERED):
            return False
        return self.is_seen_again(signature_of(anomaly, case))

    def count_like(self, anomaly: Anomaly) -> bool:
        """Return True if a confirmed finding has its rule and frame kind; if so, count it."""
        case = anomaly.case
        there = (anomaly.trouble.violated, case.frame_kind if case is not None else "")
        for each in self.by_id.values():
            signature = each.signature
            if each.is_confirmed and there == (signature.violated, signature.frame_kind):
                return self.is_seen_again(signature)
        return False

    def add_once(
        self,
        anomaly: Anomaly,
        cases: tuple[Case, ...],
        transcript: Transcript,
        *,
        shown: int,
        at_s: float,
        why: str = "",
        log: str = "",
    ) -> None:
        """Add an anomaly as an unconfirmed finding; `why` says why no run tried to confirm it."""
        signature = signature_of(anomaly, cases[-1])
        if not self.is_seen_again(signature):
            seen = (signature, anomaly.trouble, self.seed, cases, shown, 1, transcript, at_s)
            self.add(Finding(*seen, unconfirmed=why, log=log))
