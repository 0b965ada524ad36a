"""What a run found out before its first case: the target's readings and claims."""

from dataclasses import dataclass

from wireproof_reports.bundle_file import Bundle
from wireproof_reports.exchange.evidence import Exchange, exchange
from wireproof_reports.wording import CLAIM_WORDS
from wireproof_spec.clauses.catalogue import Catalogue, Decision
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import BindingRecord, ClaimRecord


@dataclass(frozen=True, slots=True)
class OptionView:
    """One permitted reading of a sentence as shown; ``peers`` are known to follow it."""

    name: str
    meaning: str
    peers: str
    published: bool
    followed: bool


@dataclass(frozen=True, slots=True)
class ReadingView:
    """An ambiguous sentence as shown: its readings, the one followed, the probe that showed it.

    ``other``: the reading is not the published wording. ``cases`` conform because of it.
    """

    id: str
    text: str
    options: tuple[OptionView, ...]
    followed: str
    other: bool
    observation: str
    observed: str
    exchange: Exchange | None
    cases: int


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A capability as shown: what the target claims, what the probe found, and the exchange."""

    id: str
    title: str
    state: str
    sign: str
    shown: str
    claimed: bool
    observation: str
    observed: str
    exchange: Exchange | None


def reading_views(bundle: Bundle, catalogue: Catalogue) -> tuple[ReadingView, ...]:
    """Return the views of all ambiguous sentences, those with an unpublished reading first."""
    views = [
        _make_view(bundle, decision_id, catalogue.decision(decision_id), binding)
        for decision_id, binding in bundle.header.readings.items()
    ]
    return tuple(sorted(views, key=lambda view: not view.other))


def claim_views(bundle: Bundle, catalogue: Catalogue) -> tuple[ClaimView, ...]:
    """Return the views of the capabilities that were probed."""
    return tuple(
        _claim(bundle, catalogue, name, claim) for name, claim in bundle.header.claims.items()
    )


def _make_view(
    bundle: Bundle, decision_id: str, decision: Decision | None, binding: BindingRecord
) -> ReadingView:
    published = decision.published if decision else "published"
    options = [
        OptionView(
            name=option.name,
            meaning=option.meaning,
            peers=", ".join(option.peers),
            published=option.name == published,
            followed=option.name == binding.reading,
        )
        for option in (decision.option if decision else ())
    ]
    shown = exchange(binding.transcript, protocol=bundle.header.target.protocol)
    return ReadingView(
        id=decision_id,
        text=decision.text if decision else "",
        options=tuple(options),
        followed=binding.reading or "",
        other=binding.reading not in (None, published),
        observation=binding.observation,
        observed=spoken(binding.observation, bundle.header.target.protocol),
        exchange=shown if shown.steps else None,
        cases=sum((case.reading or "").startswith(f"{decision_id}=") for case in bundle.cases),
    )


def _claim(bundle: Bundle, catalogue: Catalogue, name: str, claim: ClaimRecord) -> ClaimView:
    capability = catalogue.capability(name)
    sign, shown = CLAIM_WORDS[claim.state]
    steps = exchange(claim.transcript, protocol=bundle.header.target.protocol)
    return ClaimView(
        id=name,
        title=capability.title if capability else name,
        state=claim.state,
        sign=sign,
        shown=shown,
        claimed=claim.claimed,
        observation=claim.observation,
        observed=spoken(claim.observation, bundle.header.target.protocol),
        exchange=steps if steps.steps else None,
    )
