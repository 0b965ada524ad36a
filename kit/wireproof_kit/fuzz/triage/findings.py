"""The findings of a campaign, one for each signature, confirmed or not."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.fuzz.case import GRAMMAR, Case
from wireproof_kit.fuzz.driver import FLAWS_APART
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.rules import DEAD, LINGERS, NOT_CLOSED, NOTHING
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.consequences import ANSWERED, SILENT
from wireproof_kit.fuzz.triage.finding import Finding, Signature, signature_of
from wireproof_kit.wire.transcript import Transcript

FEW_BYTES: Final = 64
OPENING: Final = "the answers to what brings a connection into the state"


@dataclass(slots=True)
class Findings:
    """The findings of a campaign by id; `report` is called with each new or changed one.

    `flaw_of` returns what is wrong in the requests of a case, empty if that is not known.
    `not_again` counts anomalies that were not seen again and may come from a busy machine.
    """

    seed: int
    report: Callable[[Finding], None]
    flaw_of: Callable[[Case], str] = lambda _: ""
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
    sought: set[str] = field(default_factory=set[str])
    """The causes of all deaths so far, confirmed or not."""
    flaws: dict[tuple[str, str, str], Signature] = field(
        default_factory=dict[tuple[str, str, str], Signature]
    )
    """Confirmed findings of one case, by rule, class of the answer and flaw of the case."""

    @property
    def are_confirmed(self) -> bool:
        """Return True if at least one finding is confirmed."""
        return any(each.is_confirmed for each in self.by_id.values())

    def add(self, finding: Finding, flaw: str = "") -> None:
        """Add a finding whose case has this flaw, or replace the one with the same id."""
        self.by_id[finding.id] = finding
        if finding.is_confirmed and (cause := find_reason(finding.log)):
            self.causes.setdefault(cause, finding.signature)
        signature = finding.signature
        is_of_one_case = finding.is_confirmed and len(finding.cases) == 1
        if is_of_one_case and flaw:
            key = (_kept_open(signature.violated), _class_of(signature), flaw)
            self.flaws.setdefault(key, signature)
        names_its_frame = signature.frame_kind != NOTHING_SENT or signature.field == NOTHING_SENT
        if is_of_one_case and finding.case.mutation == GRAMMAR and names_its_frame:
            self.general[signature.violated, signature.frame_kind] = signature
        self.report(finding)

    def identify(self, anomaly: Anomaly, case: Case, cause: str = "") -> Signature:
        """Return the signature of the finding that an anomaly caused by a case belongs to.

        That is its own, unless a confirmed finding of the same rule has a case with the same flaw.
        `cause` is what the target's last words name.
        """
        own = signature_of(anomaly, case)
        if own.id in self.by_id or anomaly.key:
            return self.tell_apart(own, cause)
        kind = (_kept_open(own.violated), _class_of(own))
        flaws = _forms_of(self.find_flaw(anomaly, case))
        known = (self.flaws.get((*kind, flaw)) for flaw in flaws)
        return self.tell_apart(next((each for each in known if each is not None), own), cause)

    def tell_apart(self, signature: Signature, cause: str) -> Signature:
        """Return the signature, or one that names the cause if its finding has another cause."""
        known = self.by_id.get(signature.id)
        reason = find_reason(known.log) if known is not None else ""
        return (
            replace(signature, answer=cause) if reason and cause and reason != cause else signature
        )

    def find_flaw(self, anomaly: Anomaly, case: Case) -> str:
        """Return what is wrong in a case that caused an anomaly; empty if that is not known.

        What the case changes does not matter if the answer to a request before it is wrong. Where
        nobody knows what is wrong in few bytes, they are it themselves: mutations of several
        fields come to the same bytes when they are made small.
        """
        flaw = self.flaw_of(case) or _format_bytes(case)
        return f"{OPENING} {case.state}" if flaw and anomaly.of_opening else flaw

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
        rule and frame kind suffices, unless another cause is named for the first time.
        """
        is_another = bool(cause) and cause not in self.sought
        self.sought.add(cause)
        alike = self._alike(anomaly) if sparing and not is_another else None
        signature = self._known(anomaly, cause) or alike
        return self.count_again(signature) if signature is not None else None

    def _known(self, anomaly: Anomaly, cause: str) -> Signature | None:
        violated, case = anomaly.trouble.violated, anomaly.case
        if violated == DEAD and cause and self.causes:
            return self.causes.get(cause)
        for kind in (NOTHING_SENT, case.frame_kind if case is not None else NOTHING_SENT):
            if (violated, kind) in self.general:
                return self.general[violated, kind]
        if case is None or not (anomaly.key or violated in ANSWERED | SILENT):
            return None
        signature = self.identify(anomaly, case)
        known = self.by_id.get(signature.id)
        is_confirmed = known is not None and known.is_confirmed
        # A silence may come from a busy machine: one that was seen once is still to be confirmed.
        return signature if is_confirmed or violated not in SILENT else None

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
        signature = self.identify(anomaly, cases[-1])
        if self.count_again(signature) is None:
            seen = (signature, anomaly.trouble, self.seed, cases, shown, 1, transcript, at_s)
            self.add(Finding(*seen, unconfirmed=why, log=log))


def _kept_open(violated: str) -> str:
    """Return a rule; one for all that a connection violates on which the target does nothing."""
    return NOT_CLOSED if violated in SILENT | {LINGERS} else violated


def _class_of(signature: Signature) -> str:
    """Return the class of the answer; empty if the rule says it."""
    return "" if signature.answer in (signature.violated, NOTHING) else signature.answer


def _format_bytes(case: Case) -> str:
    """Return the few bytes that a case sends, as hexadecimal digits; empty if it sends many."""
    sent = [step.data for step in case.steps]
    return "/".join(data.hex() for data in sent) if 0 < sum(map(len, sent)) <= FEW_BYTES else ""


def _forms_of(flaw: str) -> tuple[str, ...]:
    """Return a flaw, each part of it, and the more general form of each part."""
    parts = flaw.split(FLAWS_APART)
    general = (part.rpartition(": ")[0] for part in parts)
    return tuple(part for part in (flaw, *parts, *general) if part)
