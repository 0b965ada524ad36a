"""A finding: the violated rule and the cases that violate it, one for each signature."""

import hashlib
from dataclasses import dataclass, replace

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.wire.transcript import Transcript

DIGITS = 12


@dataclass(frozen=True, slots=True)
class Signature:
    """The identity of a finding: anomalies with an equal signature are one finding."""

    violated: str
    frame_kind: str
    field: str
    answer: str

    @property
    def id(self) -> str:
        """Return the id of the signature, which is the same in every campaign.

        The state is no part of it: one bug shows in several states, and chance decides in which
        one.
        """
        parts = (self.violated, self.frame_kind, self.field, self.answer)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True, slots=True)
class Finding:
    """A minimized bug: the fewest cases that violate a rule, how often they did, and a transcript.

    ``shown`` of ``runs`` showed it. ``at_s`` counts from the start of the campaign; ``seen``
    counts anomalies of this signature. ``known`` says until when the deviations file lists the
    finding, ``unconfirmed`` why no run tried to confirm the finding. ``log`` is the end of the
    target's output, if the target died.
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
    log: str = ""

    @property
    def id(self) -> str:
        """Return the id of the finding's signature, the same in every campaign."""
        return self.signature.id

    @property
    def is_confirmed(self) -> bool:
        """Return True if a repetition showed the finding again."""
        return self.shown > 0

    @property
    def case(self) -> Case:
        """Return the case that violates the rule: the last one sent."""
        return self.cases[-1]

    def again(self) -> "Finding":
        """Return the finding with its number of anomalies increased by one."""
        return replace(self, seen=self.seen + 1)


def signature_of(anomaly: Anomaly, case: Case) -> Signature:
    """Return the signature of an anomaly caused by a case.

    If a client's output names the place of the crash, the place identifies the bug instead of the
    case: other cases lead there, too.
    """
    if anomaly.key:
        return Signature(anomaly.trouble.violated, "", "", anomaly.key)
    return Signature(
        anomaly.trouble.violated,
        case.frame_kind,
        case.field,
        anomaly.answer or anomaly.trouble.violated,
    )
