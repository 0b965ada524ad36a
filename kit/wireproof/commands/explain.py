"""``wireproof explain``: a clause, a case, a reading or a capability, in words."""

import json
import re
from collections.abc import Iterator, Sequence

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.suggestions import nearest_words
from wireproof.view.output import echo
from wireproof.view.style import flow_pieces, wrap_after_heading
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols, protocol_of
from wireproof_reports.wording import LEVEL_MEANINGS
from wireproof_spec.clauses.catalogue import (
    PASSING,
    Capability,
    Catalogue,
    Clause,
    Decision,
    Group,
    Law,
    Way,
    is_below,
)
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.origin import ORIGIN_MEANINGS, PREMISES
from wireproof_spec.clauses.spoken import spoken

EXAMPLES = (
    (
        "wireproof explain ext.publish.header-json",
        "a clause: its rule, the words of the text and the cases",
    ),
    (
        "wireproof explain nsq/publish/header-json",
        "a case: what it sends and which answers are accepted",
    ),
    ("wireproof explain trace-empty", "a reading: the choices where the text is ambiguous"),
    ("wireproof explain ext.publish", "a group of clauses"),
)
INDENT = 13

Subject = Clause | Law | Decision | Capability | Group


@click.command("explain", cls=Command, examples=EXAMPLES)
@click.argument("identifier", metavar="ID")
def explain(identifier: str) -> None:
    """Explain a case, a clause or group of clauses, a reading or a capability."""
    identifier = identifier.rstrip("/") or identifier
    catalogue, subject, clause = find(identifier)
    ways = _find_ways(catalogue, identifier)
    if manner().json:
        echo(json.dumps(_plain(subject, clause), indent=2))
        return
    for line in _describe(catalogue, subject, clause, identifier):
        echo(line)
    for way in ways:
        echo(f"way   {way.id}: {way.title}")


def find(identifier: str) -> tuple[Catalogue, Subject, Clause | None]:
    """Return what an id names, and its catalogue; for a case also the clause.

    Raises:
        UsageFault: nothing has that id.
    """
    identifier = identifier.partition(PASSING)[2].partition("/")[0] or identifier
    catalogues = [load_catalogue(protocol) for protocol in known_protocols()]
    for catalogue in catalogues:
        subject = _find_subject(catalogue, identifier)
        if subject is not None:
            return catalogue, subject, None
        found = _law(catalogue, identifier)
        if found is not None:
            return catalogue, found[1], found[0]
    numbered = [(c, clause) for c in catalogues for clause in _find_by_number(c, identifier)]
    if len(numbered) == 1:
        return *numbered[0], None
    if numbered:
        names = ", ".join(clause.id for _, clause in numbered)
        raise UsageFault(f"rule {identifier} has several clauses: {names}")
    raise UsageFault(_describe_unknown(identifier, _list_known(catalogues)))


def _describe_unknown(identifier: str, names: Sequence[str]) -> str:
    """Return what a text that is no id may be, and the command that takes it."""
    if identifier in known_protocols():
        return f"{identifier} is a protocol; `wireproof list {identifier}` has its cases"
    if re.fullmatch("[0-9a-f]{12}", identifier):
        return (
            f"{identifier} may be a cause or a finding, which only its bundle knows: "
            f"`wireproof report BUNDLE --cause {identifier}`, or "
            f"`wireproof replay {identifier} --bundle BUNDLE`"
        )
    if below := sum(is_below(name, identifier) for name in names):
        return f"{identifier} begins {below} ids; `wireproof list {identifier}` has the cases"
    near = nearest_words(identifier, names, count=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f"nothing is called {identifier!r}{hint} (see `wireproof list`)"


def _find_ways(catalogue: Catalogue, identifier: str) -> Sequence[Way]:
    """Return the ways that an id names.

    Raises:
        UsageFault: one of them does not exist.
    """
    try:
        return catalogue.find_ways(identifier)
    except KeyError as error:
        known = ", ".join(way.id for way in catalogue.ways)
        raise UsageFault(f"no way is called {error.args[0]!r}; known: {known}") from None


def _find_subject(catalogue: Catalogue, identifier: str) -> Subject | None:
    groups = {group.group: group for group in catalogue.groups}
    return (
        catalogue.clause(identifier)
        or groups.get(identifier)
        or catalogue.decision(identifier)
        or catalogue.capability(identifier)
    )


def _find_by_number(catalogue: Catalogue, identifier: str) -> list[Clause]:
    """Return the clauses that carry the number of a rule."""
    return [clause for clause in catalogue.clauses() if identifier in clause.rules]


def _law(catalogue: Catalogue, identifier: str) -> tuple[Clause, Law] | None:
    """Return the law of a case; a longer id must be that of a case that exists."""
    laws = [(clause, law) for clause in catalogue.clauses() for law in clause.case]
    fitting = [pair for pair in laws if is_below(identifier, pair[1].id)]
    if not fitting:
        return None
    clause, law = max(fitting, key=lambda pair: len(pair[1].id))
    if law.id == identifier:
        return clause, law
    from wireproof_kit.runner.collect import collect
    from wireproof_kit.runner.instance import known_ids

    known = known_ids(collect(protocol_of(identifier)))
    named = any(each == identifier or _stands_for(each, identifier) for each in known)
    return (clause, law) if named else None


def _stands_for(known: str, identifier: str) -> bool:
    return known.endswith("/") and identifier.startswith(known)


def _list_known(catalogues: Sequence[Catalogue]) -> list[str]:
    names: list[str] = []
    for catalogue in catalogues:
        names += [group.group for group in catalogue.groups]
        names += [decision.id for decision in catalogue.decisions]
        names += [capability.id for capability in catalogue.capabilities]
        for clause in catalogue.clauses():
            names += [clause.id, *(law.id for law in clause.case)]
    return names


def _describe(
    catalogue: Catalogue, subject: Subject, clause: Clause | None, identifier: str
) -> Iterator[str]:
    if isinstance(subject, Clause):
        yield from _clause(catalogue, subject)
    elif isinstance(subject, Law) and clause is not None:
        yield from _case(catalogue, subject, clause, identifier)
    elif isinstance(subject, Decision):
        yield from _decision(subject, catalogue.protocol)
    elif isinstance(subject, Capability):
        yield from _capability(catalogue, subject)
    elif isinstance(subject, Group):
        yield from _group(subject)


def _clause(catalogue: Catalogue, clause: Clause) -> Iterator[str]:
    yield from _law_lines(catalogue, clause)
    for law in clause.case:
        yield ""
        yield f"case  {law.id}"
        yield from _format_accepted(law)
    for decision_id in _decisions(clause.case):
        decision = catalogue.decision(decision_id)
        if decision is not None:
            yield ""
            yield from _decision(decision, catalogue.protocol)


def _law_lines(catalogue: Catalogue, clause: Clause) -> Iterator[str]:
    core = ["core: its group is not judged without it"] if clause.core else []
    yield from flow_pieces(clause.id, [clause.level.upper(), *core])
    yield from wrap_after_heading("", clause.law, indent=2)
    yield from _row("origin", f"{clause.origin}: {ORIGIN_MEANINGS[clause.origin]}")
    yield from _source(clause)
    yield from _row("level", f"{clause.level}: {LEVEL_MEANINGS[clause.level]}")
    yield from _row("real peers", clause.observed)
    needs = [catalogue.capability(need) for need in clause.needs]
    yield from _row("needs", ", ".join(f"{n.id} ({n.title})" for n in needs if n))
    yield from _row("binds", f"{clause.role}, since revision {clause.since}")
    why = f": {clause.why}" if clause.why else ""
    yield from _row("status", f"{clause.status}{why}")


def _source(clause: Clause) -> Iterator[str]:
    """Return the lines on what a clause rests on: words of a document, or a premise."""
    if clause.premise is not None:
        yield from _row("premise", PREMISES[clause.premise])
    kind = "base document" if clause.origin == "base" else "published text"
    section = f", {clause.section}" if clause.section else ""
    rules = f" ({', '.join(clause.rules)})" if clause.rules else ""
    yield from _row(
        "stands in" if clause.words else "is about", f"{kind} {clause.document}{section}{rules}"
    )
    yield from _row("its words", " … ".join(f'"{words}"' for words in clause.words))


def _case(catalogue: Catalogue, law: Law, clause: Clause, identifier: str) -> Iterator[str]:
    yield f"case  {identifier}"
    if law.id != identifier:
        yield from _row("judged by", f"the law of {law.id}")
    yield from _format_accepted(law)
    yield ""
    yield from _law_lines(catalogue, clause)
    for decision_id in _decisions((law,)):
        decision = catalogue.decision(decision_id)
        if decision is not None:
            yield ""
            yield from _decision(decision, catalogue.protocol)


def _format_accepted(law: Law) -> Iterator[str]:
    yield from _row("sent", law.sends)
    yield from _row("expected", law.expects)
    yield from _row("conforms", _alternatives(law.accept, law.id))
    for decision_id, readings in law.reading.items():
        for name, patterns in readings.items():
            told = f"{_alternatives(patterns, law.id)} (under {decision_id}={name})"
            yield from _row("conforms", told)
    yield from _row("open", _alternatives(law.undecided, law.id))


def _decision(decision: Decision, protocol: str) -> Iterator[str]:
    yield f"reading  {decision.id}"
    yield from _row("question", decision.text)
    yield from _row("concerns", ", ".join(decision.scope))
    for option in decision.option:
        peers = ", ".join(option.peers) or "no known peer"
        published = "; what the published text says" if option.name == decision.published else ""
        yield from _row(option.name, f"{option.meaning} ({peers}{published})")
        yield from _row("  shown by", _alternatives(option.shown_by, protocol))


def _capability(catalogue: Catalogue, capability: Capability) -> Iterator[str]:
    yield from wrap_after_heading(
        "capability", f"{capability.id}   {capability.title}", indent=INDENT
    )
    yield from _row("shown by", _alternatives(capability.shown_by, catalogue.protocol))
    yield from _row("absent by", _alternatives(capability.absent_by, catalogue.protocol))
    if capability.given_by:
        yield from _row("you give", f"--{capability.given_by}")
    yield from _row("try with", " or ".join(f"--{key}" for key in capability.helped_by))
    clauses = [clause.id for clause in catalogue.clauses() if capability.id in clause.needs]
    yield from _row("needed by", ", ".join(clauses))


def _group(group: Group) -> Iterator[str]:
    yield group.group
    yield from wrap_after_heading("", f"{group.title} (published text {group.document})", indent=2)
    width = max(len(clause.id) for clause in group.clause) if group.clause else 0
    for clause in group.clause:
        status = "" if clause.status == "tested" else f", {clause.status}"
        head = f"  {clause.id:<{width}}  {clause.level:<8} "
        yield from wrap_after_heading(
            head, f"{clause.law} [{clause.origin}{status}]", indent=len(head)
        )


def _decisions(laws: Sequence[Law]) -> list[str]:
    return list(dict.fromkeys(name for law in laws for name in law.reading))


def _alternatives(patterns: Sequence[str], of: str) -> str:
    said = (spoken(pattern.removesuffix(",*"), of) for pattern in patterns)
    return " | ".join(dict.fromkeys(said))


def _row(head: str, text: str) -> list[str]:
    return wrap_after_heading(f"  {head}", text, indent=INDENT) if text else []


def _plain(subject: Subject, clause: Clause | None) -> object:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(subject)
    if clause is not None:
        plain["clause"] = msgspec.to_builtins(msgspec.structs.replace(clause, case=()))
    return plain
