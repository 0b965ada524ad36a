"""What a target can do and which readings it follows, as the probes of a run show."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.activity import Activity
from wireproof_kit.runner.records import transcript_record
from wireproof_kit.targets.session import Probe, Session
from wireproof_kit.verdicts.judge import claim_state
from wireproof_spec.clauses.catalogue import Capability, Catalogue, matches
from wireproof_spec.record import BindingRecord, ClaimRecord


@dataclass(frozen=True, slots=True)
class Probed:
    """The claims and the readings that the probes of a target showed."""

    claims: dict[str, ClaimRecord]
    readings: dict[str, BindingRecord]


def check_claims(catalogue: Catalogue, claimed: Iterable[str]) -> None:
    """Check that each claimed capability is one of the catalogue's.

    Raises:
        UsageFault: a capability is unknown.
    """
    known = [capability.id for capability in catalogue.capabilities]
    for name in claimed:
        if name not in known:
            raise UsageFault(f"claim {name!r} is unknown; expected one of {', '.join(known)}")


def probe_target(
    session: Session, catalogue: Catalogue, claimed: Mapping[str, bool], activity: Activity
) -> Probed:
    """Run the probes of all capabilities and of all readings."""
    claims = _probe_claims(session, catalogue, claimed, activity)
    return Probed(claims, _probe_readings(session, catalogue, activity))


def _probe_claims(
    session: Session, catalogue: Catalogue, claimed: Mapping[str, bool], activity: Activity
) -> dict[str, ClaimRecord]:
    claims: dict[str, ClaimRecord] = {}
    for capability in catalogue.capabilities:
        activity.begin(f"the probe of {capability.id}, and the topics that it needs")
        said = claimed.get(capability.id)
        probe = _probe(session, capability)
        seen = probe.observation.value
        state = claim_state(capability, seen, claimed=said is True)
        claims[capability.id] = ClaimRecord(
            state="absent" if said is False else state,
            observation=seen,
            claimed=said is True,
            transcript=transcript_record(probe.transcript),
            note=probe.observation.note,
        )
    return claims


def _probe(session: Session, capability: Capability) -> Probe:
    """Return what the first witness of a capability shows that shows it, else the probe's own."""
    first = session.probe_capability(capability.probe)
    if matches(first.observation.value, capability.shown_by):
        return first
    for witness in capability.witnesses:
        probe = session.probe_capability(witness)
        if matches(probe.observation.value, capability.shown_by):
            return probe
    return first


def _probe_readings(
    session: Session, catalogue: Catalogue, activity: Activity
) -> dict[str, BindingRecord]:
    bound: dict[str, BindingRecord] = {}
    for decision in catalogue.decisions:
        activity.begin(f"the probe of the reading {decision.id}")
        probe = session.probe_reading(decision.probe)
        seen = probe.observation.value
        bound[decision.id] = BindingRecord(
            reading=decision.find_shown(seen),
            observation=seen,
            transcript=transcript_record(probe.transcript),
            note=probe.observation.note,
        )
    return bound
