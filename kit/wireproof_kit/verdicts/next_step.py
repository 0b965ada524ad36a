"""What a user can do about a run in which something that was asked for was not judged."""

import re
from collections.abc import Iterator, Sequence

from wireproof_kit.verdicts.judge import (
    CUT_OFF,
    EXHAUSTED,
    PAUSED,
    SLOW_CASE,
    TARGET_DIED,
    JudgeContext,
    missing_capability,
)
from wireproof_kit.verdicts.outcome import EXIT_NOT_DONE, EXIT_UNDECIDED, describe_above
from wireproof_spec.clauses.catalogue import Capability, Catalogue, is_below
from wireproof_spec.protocol import Group, package_of
from wireproof_spec.record import CaseRecord, FooterRecord, HeaderRecord

_NAMED_TOPIC = re.compile(r"--topic \w+=NAME")
"""The option that a failed creation of a topic names in its reason."""
UNAVAILABLE = "unavailable"
"""The observation of a probe that found no way to try, such as one that needs a topic."""


def next_step(
    header: HeaderRecord, records: Sequence[CaseRecord], footer: FooterRecord, catalogue: Catalogue
) -> str:
    """Return what was missing for what was not judged, and what to give; often empty.

    Empty if the run was done, or if nothing that a user could give is missing.
    """
    if footer.exit == EXIT_UNDECIDED:
        return _repeat_undecided(records)
    if footer.exit != EXIT_NOT_DONE:
        return ""
    if any(record.verdict == "error" for record in records):
        package = package_of(Group.SUITES, header.target.protocol)
        if package is not None:
            has_line = any(
                ", line " in record.reason for record in records if record.verdict == "error"
            )
            line = "; the reason has the line" if has_line else ""
            return f"this is an error in the package {package}{line}"
        return "this is an error of the kit: report it and attach the bundle"
    # A group without a reason is undecided: it needs another run, not to be left out.
    groups = [
        group.group for group in footer.groups if group.whole and not group.judged and group.why
    ]
    lacking = list(_list_lacking(header, records, groups, catalogue))
    keys = list(dict.fromkeys(key for each in lacking for key in _keys(header, each, catalogue)))
    topics = list(dict.fromkeys(topic for one in lacking for topic in _topics(header, one)))
    steps: list[str] = []
    if keys or topics:
        options = " or ".join([*(f"--{key} HOST:PORT" for key in keys), *topics])
        titles = ", ".join(each.title for each in lacking)
        steps.append(f"give {options}, so that these can be tested: {titles}")
    if groups:
        excluded = " ".join(f"--exclude {group}" for group in groups)
        steps.append(f"judge the rest alone with {excluded}")
    about = f"not judged: {', '.join(groups)}; " if groups and steps else ""
    return about + "; or ".join(steps) if steps else describe_above(header, records)


def _repeat_undecided(records: Sequence[CaseRecord]) -> str:
    """Return how to decide what is undecided; empty if no other run decides it by itself.

    What the target has caused passes with no load of this machine.
    """
    undecided = [record for record in records if record.verdict == "inconclusive"]
    again = "run the undecided cases again with --lf"
    seen = {each.observation for each in undecided}
    if TARGET_DIED in seen:
        return f"the target ended: start it and {again}; with --restart CMD a run does so itself"
    if SLOW_CASE in seen:
        return f"give each case more time: {again} --case-timeout SECONDS"
    if seen & {EXHAUSTED, PAUSED} or any(each.control == "slow" for each in undecided):
        return f"{again} when this machine has less to do"
    if CUT_OFF in seen:
        return f"{again} over a way that resets no connection by itself"
    return f"{again}: their failures were seen once" if any(map(_is_unrepeated, undecided)) else ""


def _is_unrepeated(record: CaseRecord) -> bool:
    return bool(record.repeats.unrepeated)


def _list_lacking(
    header: HeaderRecord,
    records: Sequence[CaseRecord],
    groups: Sequence[str],
    catalogue: Catalogue,
) -> Iterator[Capability]:
    """Yield the missing capabilities of groups that were not judged, or else of all cases."""
    bench = JudgeContext(catalogue, header.claims, header.readings)
    names: dict[str, None] = {}
    for record in records:
        is_about = not groups or any(is_below(record.clause, group) for group in groups)
        missing = missing_capability(record.needs, bench) if is_about else None
        if record.verdict == "unsupported" and missing is not None:
            names[missing] = None
    for name in names:
        capability = catalogue.capability(name)
        if capability is not None:
            yield capability


def _keys(header: HeaderRecord, capability: Capability, catalogue: Catalogue) -> Iterator[str]:
    """Yield the target keys that may show the capability, were not given and were not found."""
    claim = header.claims.get(capability.id)
    is_untried = claim is not None and claim.observation == UNAVAILABLE
    helping = capability.helped_by if is_untried else ()
    yield from (
        key
        for key in helping
        if key not in header.target.given and not _is_found(header, key, catalogue)
    )


def _is_found(header: HeaderRecord, key: str, catalogue: Catalogue) -> bool:
    """Return True if the kit reached what a target key names without being given it."""
    of_key = [capability.id for capability in catalogue.capabilities if capability.given_by == key]
    claims = [header.claims[name] for name in of_key if name in header.claims]
    return any(claim.state == "shown" for claim in claims)


def _topics(header: HeaderRecord, capability: Capability) -> Iterator[str]:
    """Yield the options that name a topic, where the probe could not have one created."""
    claim = header.claims.get(capability.id)
    if claim is not None and claim.observation == UNAVAILABLE:
        yield from _NAMED_TOPIC.findall(claim.note)
