"""A finding: what was violated by which cases, folded by its signature."""

import hashlib
from dataclasses import dataclass, replace

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.triage.anomaly import Suspicion
from wireproof_kit.wire.transcript import Transcript

DIGITS = 12


@dataclass(frozen=True, slots=True)
class Signature:
    """What makes two findings one."""

    violated: str
    state: str
    frame_kind: str
    field: str
    answer: str

    @property
    def id(self) -> str:
        """Return the short name, the same in every campaign."""
        parts = (self.violated, self.state, self.frame_kind, self.field, self.answer)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found: the fewest cases that show it, how often they did, the exchange.

    ``at_s`` counts from the start of the campaign; ``seen`` counts suspicions folded into it.
    ``known`` says until when the deviations file lists it, ``unconfirmed`` why it was not looked
    whether it shows again.
    """

    signature: Signature
    trouble: Trouble
    seed: int
    cases: tuple[Case, ...]
    shown: int
    runs: int
    transcript: Transcript
    at_s: float
    seen: int = 1
    known: str = ""
    unconfirmed: str = ""

    @property
    def id(self) -> str:
        """Return the short name."""
        return self.signature.id

    @property
    def is_confirmed(self) -> bool:
        """Tell whether it showed again."""
        return self.shown > 0

    @property
    def case(self) -> Case:
        """Return the case that shows it, the last of several."""
        return self.cases[-1]

    def again(self) -> "Finding":
        """Return the finding, seen once more."""
        return replace(self, seen=self.seen + 1)


def signature_of(suspicion: Suspicion, case: Case) -> Signature:
    """Return the signature under which a suspicion against a case is folded."""
    return Signature(
        suspicion.trouble.violated,
        case.state,
        case.frame_kind,
        case.field,
        suspicion.answer or suspicion.trouble.violated,
    )
