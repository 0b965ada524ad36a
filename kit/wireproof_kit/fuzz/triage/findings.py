"""What a campaign has found, each kind once, and what was seen once and never again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.triage.anomaly import Suspicion
from wireproof_kit.fuzz.triage.consequences import ANSWERED
from wireproof_kit.fuzz.triage.finding import Finding, Signature, signature_of
from wireproof_kit.wire.transcript import Transcript


@dataclass(slots=True)
class Findings:
    """Findings by id; `tell` hears of each, and again when it was seen again.

    `not_again` counts suspicions that may have been the machine's doing.
    """

    seed: int
    tell: Callable[[Finding], None]
    by_id: dict[str, Finding] = field(default_factory=dict[str, Finding])
    not_again: int = 0

    @property
    def are_confirmed(self) -> bool:
        """Tell whether one showed again."""
        return any(each.is_confirmed for each in self.by_id.values())

    def add(self, finding: Finding) -> None:
        """Keep one, in the place of what was known of it."""
        self.by_id[finding.id] = finding
        self.tell(finding)

    def is_seen_again(self, signature: Signature) -> bool:
        """Tell whether one is known, and count it once more if so."""
        known = self.by_id.get(signature.id)
        if known is not None:
            self.add(known.again())
        return known is not None

    def is_known(self, suspicion: Suspicion) -> bool:
        """Tell whether a suspicion is of what was found, whose case is known; count it if so."""
        if suspicion.case is None or suspicion.trouble.violated not in ANSWERED:
            return False
        return self.is_seen_again(signature_of(suspicion, suspicion.case))

    def add_once(
        self,
        suspicion: Suspicion,
        cases: tuple[Case, ...],
        *,
        shown: int,
        at_s: float,
        why: str = "",
    ) -> None:
        """Keep what was seen once; `why` says why it was not looked whether it shows again."""
        signature = signature_of(suspicion, cases[-1])
        if not self.is_seen_again(signature):
            seen = (signature, suspicion.trouble, self.seed, cases, shown, 1, Transcript(), at_s)
            self.add(Finding(*seen, unconfirmed=why))
