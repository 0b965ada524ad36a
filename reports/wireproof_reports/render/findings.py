"""The open points of a report: root causes, known deviations, unsupported and undecided cases."""

from collections.abc import Iterable
from dataclasses import dataclass

from wireproof_reports.bundle_file import Bundle
from wireproof_reports.causes import Cause
from wireproof_reports.exchange.evidence import (
    Exchange,
    case_exchange,
    exchange,
    first_difference,
    share_lines,
)
from wireproof_reports.exchange.reproducer import Reproducer, reproducer
from wireproof_reports.render.clauses import CaseView, case_view, source, unknown_clause
from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import CaseRecord, DifferenceRecord

MOST_SHOWN = 40
"""Cases of one cause shown with their bytes; the others are listed by id."""


@dataclass(frozen=True, slots=True)
class CauseView:
    """A root cause as shown: clause, one complete case, how to reproduce it, other cases."""

    number: int
    id: str
    anchor: str
    clause: str
    level: str
    side: str
    origin: str
    law: str
    source: str
    words: tuple[str, ...]
    peers: str
    counts: bool
    size: int
    first: CaseView
    expected_law: str
    observed: str
    difference: DifferenceRecord | None
    exchange: Exchange
    reproducer: Reproducer
    others: tuple[CaseView, ...]
    listed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """A capability that the target neither claims nor shows, and the cases that need it."""

    capability: str
    title: str
    reason: str
    exchange: Exchange | None
    cases: tuple[CaseView, ...]


def cause_views(
    bundle: Bundle, catalogue: Catalogue, causes: Iterable[Cause]
) -> tuple[CauseView, ...]:
    """Return the views of root causes, each with everything needed to reproduce it."""
    return tuple(_cause(bundle, catalogue, cause) for cause in causes)


def with_verdict(bundle: Bundle, *verdicts: str) -> tuple[CaseView, ...]:
    """Return the views of the cases with one of these verdicts, in run order."""
    return tuple(
        case_view(bundle, case, whole=False) for case in bundle.cases if case.verdict in verdicts
    )


def lacks(bundle: Bundle, catalogue: Catalogue) -> tuple[Lack, ...]:
    """Return unsupported cases grouped by the missing capability, with its probe's exchange."""
    needing: dict[str, list[CaseRecord]] = {}
    for case in bundle.cases:
        if case.verdict == "unsupported":
            needing.setdefault(_need(bundle, catalogue, case), []).append(case)
    return tuple(_lack(bundle, catalogue, name, cases) for name, cases in needing.items())


def _cause(bundle: Bundle, catalogue: Catalogue, cause: Cause) -> CauseView:
    case = cause.shown
    clause = catalogue.clause(cause.clause) or unknown_clause(cause.clause)
    law = catalogue.find_law(case.case)
    others = [other for other in cause.cases if other.case != case.case]
    protocol = bundle.header.target.protocol
    difference = first_difference(case, protocol)
    return CauseView(
        number=cause.number,
        id=cause.id,
        anchor=cause.anchor,
        clause=cause.clause,
        level=cause.level,
        side=cause.side(bundle.header),
        origin=cause.origin,
        law=clause.law,
        source=source(clause),
        words=clause.words,
        peers=clause.observed,
        counts=bundle.header.counts(cause.level, cause.origin),
        size=len(cause.cases),
        first=case_view(bundle, case, whole=False),
        expected_law=law[1].expects if law and law[0] == clause else "",
        observed=spoken(case.observation, case.case),
        difference=difference,
        exchange=case_exchange(case, protocol, share_lines(bundle.steps_of_troubles)),
        reproducer=reproducer(case, bundle.header, bundle.name),
        others=tuple(case_view(bundle, other, whole=True) for other in others[:MOST_SHOWN]),
        listed=tuple(other.case for other in others[MOST_SHOWN:]),
    )


def _need(bundle: Bundle, catalogue: Catalogue, case: CaseRecord) -> str:
    clause = catalogue.clause(case.clause)
    for need in case.needs or (clause.needs if clause else ()):
        claim = bundle.header.claims.get(need)
        if claim is None or claim.state in ("absent", "unknown"):
            return need
    return ""


def _lack(bundle: Bundle, catalogue: Catalogue, name: str, cases: list[CaseRecord]) -> Lack:
    capability = catalogue.capability(name)
    claim = bundle.header.claims.get(name)
    protocol = bundle.header.target.protocol
    shown = exchange(claim.transcript, protocol=protocol) if claim else None
    return Lack(
        capability=name or "other",
        title=capability.title if capability else name or "other",
        reason=cases[0].reason,
        exchange=shown if shown and shown.steps else None,
        cases=tuple(case_view(bundle, case, whole=False) for case in cases),
    )
