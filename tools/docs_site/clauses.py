"""Pages of the law: a page for each group of clauses, and one of readings and capabilities."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import peers
from page import Page, code, facts, folded, page, table, words

from wireproof_kit.protocols import known_protocols
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_reports.wording import LEVEL_MEANINGS, count_noun
from wireproof_spec.clauses.catalogue import (
    LEVELS,
    Capability,
    Catalogue,
    Clause,
    Decision,
    Group,
    Law,
)
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.origin import ORIGIN_MEANINGS, PREMISES
from wireproof_spec.clauses.spoken import spoken

FOLDER = "reference/clauses"
UP = "../../../"
FEW = 3
PUBLISHED = " (what the published text says)"


def pages() -> Iterator[Page]:
    """Yield the list of all groups, and for each protocol its groups and its readings."""
    catalogues = [load_catalogue(protocol) for protocol in known_protocols()]
    yield page(f"{FOLDER}/index.md", _index(catalogues))
    for catalogue in catalogues:
        for group in catalogue.groups:
            path = f"{FOLDER}/{catalogue.protocol}/{group.group}.md"
            yield page(path, _group(catalogue, group))
        yield page(f"{FOLDER}/{catalogue.protocol}/readings.md", _readings(catalogue))
        yield page(f"{FOLDER}/{catalogue.protocol}/capabilities.md", _capabilities(catalogue))


def _index(catalogues: Sequence[Catalogue]) -> Iterator[str]:
    yield "# All clauses"
    yield ""
    yield "A clause is one sentence of law with a level and an origin. A case is one experiment "
    yield "that shows whether a target keeps a clause."
    for catalogue in catalogues:
        name = catalogue.protocol
        revisions = ", ".join(f"{doc} r{number}" for doc, number in catalogue.revisions.items())
        yield ""
        yield f"## {name}"
        yield ""
        yield f"Revision of the law: {revisions}. Where a text leaves a choice, the "
        yield f"[readings]({name}/readings.md) list what is accepted. What a target may lack is "
        yield f"listed as [capabilities]({name}/capabilities.md)."
        rows = [
            (
                f"[{group.group}]({name}/{group.group}.md)",
                words(group.title),
                f"{len(group.clause)}",
                f"{sum(len(_instances(name)[law.id]) for c in group.clause for law in c.case):,}",
            )
            for group in sorted(catalogue.groups, key=lambda group: group.group)
        ]
        yield from table(("group", "about", "clauses", "cases"), rows)


@cache
def _instances(protocol: str) -> Mapping[str, Sequence[Instance]]:
    """Return the cases of a protocol by the id of their law."""
    found: dict[str, list[Instance]] = defaultdict(list)
    for instance in collect(protocol):
        found[instance.law.id].append(instance)
    return found


def _group(catalogue: Catalogue, group: Group) -> Iterator[str]:
    levels = Counter(clause.level for clause in group.clause)
    counts = ", ".join(f"{number} {level}" for level in LEVELS if (number := levels[level]))
    yield f"# {group.group}: {group.title}"
    yield ""
    clauses = count_noun(len(group.clause), "clause")
    yield f"{clauses} of published text {group.document}: {counts}."
    for clause in group.clause:
        yield from _clause(catalogue, clause)


def _clause(catalogue: Catalogue, clause: Clause) -> Iterator[str]:
    yield ""
    yield f"## {clause.id} {{#{clause.id}}}"
    yield ""
    yield f"**{clause.level.upper()}.** {words(clause.law)}"
    yield from facts(_facts(catalogue, clause))
    for law in clause.case:
        yield from _case(catalogue, law)
    yield from peers.of_clause(clause.id, UP)


def _facts(catalogue: Catalogue, clause: Clause) -> Iterator[tuple[str, str]]:
    yield "level", f"{clause.level}: {words(LEVEL_MEANINGS[clause.level])}"
    yield "origin", f"{clause.origin}: {words(ORIGIN_MEANINGS[clause.origin])}"
    if clause.premise is not None:
        yield "premise", words(PREMISES[clause.premise])
    kind = "base document" if clause.origin == "base" else "published text"
    section = f", {words(clause.section)}" if clause.section else ""
    rules = f" (rule {', '.join(clause.rules)})" if clause.rules else ""
    place = f"{kind} {words(clause.document)}{section}{rules}"
    yield ("stands in" if clause.words else "is about"), place
    yield "its words", " … ".join(f"“{words(word)}”" for word in clause.words)
    yield "real peers", words(clause.observed)
    needs = [catalogue.capability(need) for need in clause.needs]
    yield (
        "needs",
        ", ".join(f"[{n.id}](capabilities.md#{n.id}): {words(n.title)}" for n in needs if n),
    )
    yield "core", "its group is not judged without it" if clause.core else ""
    yield "binds", f"{clause.role}, since revision {clause.since}"
    why = f": {words(clause.why)}" if clause.why else ""
    yield "status", f"{clause.status}{why}"


def _case(catalogue: Catalogue, law: Law) -> Iterator[str]:
    instances = _instances(catalogue.protocol)[law.id]
    yield ""
    yield f"**Cases {code(law.id)}**"
    yield from facts(_law(law))
    listed = [*_by_title(instances)]
    if len(instances) <= FEW:
        yield from listed
    else:
        yield from folded(f"{len(instances)} cases", listed)
    yield ""


def _by_title(instances: Sequence[Instance]) -> Iterator[str]:
    """Yield an item for each title, with the ids of the cases that have it."""
    ids: dict[str, list[str]] = defaultdict(list)
    for instance in instances:
        ids[instance.title].append(code(instance.id))
    for title, those in ids.items():
        yield f"- {words(title)} {', '.join(those)}"


def _law(law: Law) -> Iterator[tuple[str, str]]:
    yield "sent", words(law.sends)
    yield "expected", words(law.expects)
    yield "conforms", _accepted(law.accept, law.id)
    for decision, readings in law.reading.items():
        for name, patterns in readings.items():
            where = f"[{decision}](readings.md#{decision})"
            yield f"conforms if {decision} is {name}", f"{_accepted(patterns, law.id)} ({where})"
    yield "undecided", _accepted(law.undecided, law.id)


def _accepted(patterns: Sequence[str], of: str) -> str:
    told = (spoken(pattern.removesuffix(",*"), of) for pattern in patterns)
    return "; or ".join(words(fromkey) for fromkey in dict.fromkeys(told))


def _readings(catalogue: Catalogue) -> Iterator[str]:
    yield f"# Readings of {catalogue.protocol}"
    yield ""
    yield "Where a published text leaves a choice, each permitted reading is registered. A run "
    yield "finds out which reading a target follows, and the target must follow it throughout."
    for decision in catalogue.decisions:
        yield from _decision(catalogue, decision)


def _decision(catalogue: Catalogue, decision: Decision) -> Iterator[str]:
    yield ""
    yield f"## {decision.id} {{#{decision.id}}}"
    yield ""
    yield words(decision.text)
    uses = [c.id for c in catalogue.clauses() if any(decision.id in law.reading for law in c.case)]
    yield from facts([("clauses", ", ".join(link(catalogue, clause) for clause in uses))])
    rows = [
        (
            code(option.name) + (PUBLISHED if option.name == decision.published else ""),
            words(option.meaning),
            _accepted(option.shown_by, catalogue.protocol),
            words(", ".join(option.peers)),
        )
        for option in decision.option
    ]
    yield from table(("reading", "meaning", "shown by", "real peers"), rows)


def _capabilities(catalogue: Catalogue) -> Iterator[str]:
    yield f"# Capabilities of {catalogue.protocol}"
    yield ""
    yield "A probe shows whether a target has a capability. Cases that need an absent one are "
    yield "unsupported, or are left out if the user did not give what the probe needs."
    for capability in catalogue.capabilities:
        yield from _capability(catalogue, capability)


def _capability(catalogue: Catalogue, capability: Capability) -> Iterator[str]:
    needed = [clause.id for clause in catalogue.clauses() if capability.id in clause.needs]
    yield ""
    yield f"## {capability.id} {{#{capability.id}}}"
    yield ""
    yield words(capability.title)
    rows = [
        ("shown by", _accepted(capability.shown_by, catalogue.protocol)),
        ("absent by", _accepted(capability.absent_by, catalogue.protocol)),
        ("you give", code(f"--{capability.given_by}") if capability.given_by else ""),
        ("try with", " or ".join(code(f"--{key}") for key in capability.helped_by)),
        ("needed by", ", ".join(link(catalogue, clause) for clause in needed)),
    ]
    yield from facts(rows)


def link(catalogue: Catalogue, clause_id: str) -> str:
    """Return a link to a clause, from a page of the same protocol."""
    group = next(g.group for g in catalogue.groups if any(c.id == clause_id for c in g.clause))
    return f"[{clause_id}]({group}.md#{clause_id})"
