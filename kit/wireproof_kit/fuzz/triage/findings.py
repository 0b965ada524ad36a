"""The findings of a campaign, one for each signature, confirmed or not."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import GRAMMAR, Case
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.rules import DEAD
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
    causes: dict[str, Signature] = field(default_factory=dict[str, Signature])
    """Confirmed deaths, by the error and the function that the target's last words name."""

    @property
    def are_confirmed(self) -> bool:
        """Return True if at least one finding is confirmed."""
        return any(each.is_confirmed for each in self.by_id.values())

    def add(self, finding: Finding) -> None:
        """Add a finding, or replace the one with the same id."""
        self.by_id[finding.id] = finding
        if finding.is_confirmed and (cause := find_reason(finding.log)):
            self.causes.setdefault(cause, finding.signature)
        if finding.is_confirmed and len(finding.cases) == 1 and finding.case.mutation == GRAMMAR:
            signature = finding.signature
            if signature.frame_kind != NOTHING_SENT or signature.field == NOTHING_SENT:
                self.general[signature.violated, signature.frame_kind] = signature
        self.report(finding)

    def count_again(self, signature: Signature) -> Finding | None:
        """Count one more anomaly of the finding of a signature and return it; None without one."""
        known = self.by_id.get(signature.id)
        if known is None:
            return None
        known = known.again()
        self.add(known)
        return known

    def meet(self, anomaly: Anomaly, cause: str = "", *, sparing: bool = False) -> Finding | None:
        """Count an anomaly as one of a known finding and return that; None if it is new.

        It is known by its rule and its case, or as a death by its `cause`: the error and the
        function that the target's last words name. If `sparing`, a confirmed finding of the same
        rule and frame kind suffices.
        """
        signature = self._known(anomaly, cause) or (self._alike(anomaly) if sparing else None)
        return self.count_again(signature) if signature is not None else None

    def _known(self, anomaly: Anomaly, cause: str) -> Signature | None:
        violated, case = anomaly.trouble.violated, anomaly.case
        if violated == DEAD and cause in self.causes:
            return self.causes[cause]
        for kind in (NOTHING_SENT, case.frame_kind if case is not None else NOTHING_SENT):
            if (violated, kind) in self.general:
                return self.general[violated, kind]
        if case is None or not (anomaly.key or violated in ANSWERED):
            return None
        return signature_of(anomaly, case)

    def _alike(self, anomaly: Anomaly) -> Signature | None:
        """Return the signature of a confirmed finding with the anomaly's rule and frame kind."""
        case = anomaly.case
        there = (anomaly.trouble.violated, case.frame_kind if case is not None else "")
        known = (each.signature for each in self.by_id.values() if each.is_confirmed)
        return next((s for s in known if there == (s.violated, s.frame_kind)), None)

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
        if self.count_again(signature) is None:
            seen = (signature, anomaly.trouble, self.seed, cases, shown, 1, transcript, at_s)
            self.add(Finding(*seen, unconfirmed=why, log=log))
