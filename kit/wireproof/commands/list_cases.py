"""``wireproof list``: the cases with clause, level and needs."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_reports.wording import count_noun

Form = Literal["text", "json", "md"]

EXAMPLES = (
    ("wireproof list", "list every case"),
    (
        "wireproof list nsq/publish ext.http",
        "cases whose id, or whose clause id, begins with one of these",
    ),
    ("wireproof list --format md > cases.md", "write a Markdown table"),
)


@click.command("list", cls=Command, examples=EXAMPLES)
@click.argument("ids", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "md")),
    help="Output format; default text.",
)
def list_cases(ids: tuple[str, ...], form: Form | None) -> None:
    """List the cases with clause, level and needs."""
    instances = select(collect(), ids)
    chosen: Form = form or ("json" if manner().json else "text")
    for line in _FORMS[chosen](instances):
        echo(line)


def select(instances: Sequence[Instance], prefixes: Sequence[str]) -> list[Instance]:
    """Return the cases whose ids begin with a prefix; a slash at the end of a prefix is ignored.

    Raises:
        UsageFault: a prefix selects no case.
    """
    from wireproof_kit.protocols import known_protocols
    from wireproof_kit.runner.run import describe_unmatched
    from wireproof_spec.clauses.loading import load_catalogue

    prefixes = [prefix.rstrip("/") or prefix for prefix in prefixes]
    for prefix in prefixes:
        if not any(item.is_selected_by(prefix) for item in instances):
            catalogues = [load_catalogue(protocol) for protocol in known_protocols()]
            raise UsageFault(describe_unmatched(prefix, instances, catalogues))
    tell_contained(instances, prefixes)
    return [item for item in instances if is_chosen(item, prefixes)]


def tell_contained(instances: Sequence[Instance], prefixes: Sequence[str]) -> None:
    """Print a line for each prefix that selects all that another one selects, and more.

    A prefix that is contained in another one gets no line of its own.
    """
    chosen = {
        prefix: {item.id for item in instances if item.is_selected_by(prefix)}
        for prefix in dict.fromkeys(prefixes)
    }
    for wide, cases in chosen.items():
        if any(cases < other for other in chosen.values()):
            continue
        inside = [repr(narrow) for narrow, its in chosen.items() if its and its < cases]
        if inside:
            echo(
                f"wireproof: {wide!r} contains {', '.join(inside)}: all its {len(cases)} cases "
                f"are selected; leave {wide!r} out to select only the narrower ids",
                err=True,
            )


def is_chosen(instance: Instance, prefixes: Sequence[str]) -> bool:
    """Return True if a case id begins with one of the prefixes, or if there are no prefixes."""
    return not prefixes or any(instance.is_selected_by(prefix) for prefix in prefixes)


def facts(instance: Instance) -> dict[str, object]:
    """Return a case as the fields of the JSON listing: id, clause, level, needs and so on."""
    return {
        "case": instance.id,
        "clause": instance.clause.id,
        "level": instance.clause.level,
        "origin": instance.clause.origin,
        "document": instance.clause.document,
        "section": instance.clause.section,
        "words": list(instance.clause.words),
        "premise": instance.clause.premise,
        "needs": list(instance.needs),
        "hazard": instance.mark.hazard,
        "waiting": instance.mark.waiting,
        "since": instance.clause.since,
        "title": instance.title,
        "hash": instance.hash,
    }


def _text(instances: Sequence[Instance]) -> Iterator[str]:
    width = max((len(item.id) for item in instances), default=0)
    clause_width = max((len(item.clause.id) for item in instances), default=0)
    for item in instances:
        remarks = list(item.needs) + ["hazard"] * item.mark.hazard
        clause = item.clause
        force = f"{clause.level:<8}  {clause.origin:<9}"
        told = f"{item.id:<{width}}  {force}  {clause.id:<{clause_width}}"
        yield f"{told}  {', '.join(remarks)}".rstrip()
    cases = count_noun(len(instances), "case")
    yield f"{cases} of {count_noun(len({item.clause.id for item in instances}), 'clause')}"


def _json(instances: Sequence[Instance]) -> Iterator[str]:
    yield json.dumps([facts(item) for item in instances], indent=2)


def _markdown(instances: Sequence[Instance]) -> Iterator[str]:
    yield "| case | level | origin | clause | needs | what it does |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for item in instances:
        needs = ", ".join(item.needs)
        title = item.title.replace("|", "\\|")
        clause = item.clause
        force = f"{clause.level} | {clause.origin} | `{clause.id}`"
        yield f"| `{item.id}` | {force} | {needs} | {title} |"


_FORMS: dict[Form, Callable[[Sequence[Instance]], Iterator[str]]] = {
    "text": _text,
    "json": _json,
    "md": _markdown,
}
