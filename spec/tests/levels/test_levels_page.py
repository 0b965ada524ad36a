"""The pages on the levels of a revision have the figures that catalogue and assignments have.

The law of revision 2 is that of today without what the page of revision 3 lists as changed or new.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tool_modules import ROOT, load_tool

from wireproof_spec.clauses.catalogue import LEVELS
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.origin import ORIGINS

REVISIONS = (2, 3)
DOCUMENTS = {"000": "ext", "002": "iggy", "003": "oms", "004": "smart"}
ROW = re.compile(r"^\| `?([\w. -]+?)`? \| (.*) \|$", re.MULTILINE)
APACHE = "iggy.apache."
"""The clauses of generation apache, which the page of revision 3 counts apart."""
UNLIKE = {2: "four", 3: "three"}
each_page = pytest.mark.parametrize("revision", REVISIONS)
each_document = pytest.mark.parametrize("document", DOCUMENTS)


@dataclass(frozen=True)
class Held:
    """What a revision holds of a clause."""

    id: str
    level: str
    origin: str
    since: int


def page(revision: int) -> str:
    return (ROOT / "docs" / f"levels-revision-{revision}.md").read_text("utf-8")


def rows(revision: int, document: str) -> list[tuple[str, list[str]]]:
    """Return the rows of all tables of a document's section: first cell, other cells."""
    section = page(revision).partition(f"\n## {document}, ")[2].partition("\n## ")[0]
    return [(row[1], row[2].split(" | ")) for row in ROW.finditer(section)]


def changed(document: str) -> Mapping[str, list[str]]:
    """Return level and origin of revision 2 of the clauses that revision 3 has otherwise."""
    table = rows(3, document)
    return {name: cells[:2] for name, cells in table if "." in name and cells[2] in LEVELS}


def law(revision: int) -> dict[str, Held]:
    """Return the clauses of a revision by id."""
    catalogues = [load_catalogue(name) for name in ("nsq", "iggy", "oms")]
    held = {
        clause.id: Held(clause.id, clause.level, clause.origin, clause.since)
        for catalogue in catalogues
        for clause in catalogue.clauses()
        if clause.since <= revision
    }
    if revision < 3:
        for document in DOCUMENTS:
            for name, (level, origin) in changed(document).items():
                held[name] = replace(held[name], level=level, origin=origin)
    return held


def clauses_of(revision: int, document: str) -> dict[str, Held]:
    below = f"{DOCUMENTS[document]}."
    return {
        name: held
        for name, held in law(revision).items()
        if name.startswith(below) and not name.startswith(APACHE)
    }


def counts(levels: Iterable[str]) -> list[str]:
    tally = Counter(levels)
    return [str(tally[level]) for level in LEVELS]


@each_page
@each_document
def test_clauses_are_counted_by_level_and_origin(document: str, revision: int) -> None:
    table, clauses = dict(rows(revision, document)), clauses_of(revision, document).values()
    levels = [clause.level for clause in clauses]
    assert table[f"revision {revision}"] == [*counts(levels), str(len(levels))]
    for origin in ORIGINS:
        levels = [clause.level for clause in clauses if clause.origin == origin]
        assert table[origin] == counts(levels), origin


def test_clauses_of_generation_apache_are_counted_apart() -> None:
    section = page(3).partition("\n## Generation apache")[2].partition("\n## ")[0]
    table = {row[1]: row[2].split(" | ") for row in ROW.finditer(section)}
    held = [each for name, each in law(3).items() if name.startswith(APACHE)]
    assert table["generation apache"] == [*counts(each.level for each in held), str(len(held))]
    for origin in ORIGINS:
        own = counts(each.level for each in held if each.origin == origin)
        assert table[origin] == own, origin


@each_page
@each_document
def test_the_rows_of_a_clause_have_its_level_and_origin(document: str, revision: int) -> None:
    clauses = clauses_of(revision, document)
    own = [(name, cells) for name, cells in rows(revision, document) if "." in name]
    for name, cells in own:
        at = max(i for i, cell in enumerate(cells[:3]) if cell in LEVELS)
        assert cells[at : at + 2] == [clauses[name].level, clauses[name].origin], name
    assert own or document == "003"


@each_document
def test_every_clause_of_revision_1_is_counted_at_its_old_level(document: str) -> None:
    clauses, table = clauses_of(2, document), rows(2, document)
    before = {name: cells[0] for name, cells in table if "." in name and cells[1] in LEVELS}
    levels = [before.get(c.id, c.level) for c in clauses.values() if c.since == 1]
    assert dict(table)["revision 1"] == [*counts(levels), str(len(levels))]


@each_document
def test_every_clause_of_revision_2_is_counted_at_its_old_level(document: str) -> None:
    levels = [clause.level for clause in clauses_of(2, document).values()]
    assert dict(rows(3, document))["revision 2"] == [*counts(levels), str(len(levels))]


@each_page
@each_document
def test_every_clause_new_in_a_revision_is_listed(document: str, revision: int) -> None:
    fresh = {held.id for held in clauses_of(revision, document).values() if held.since == revision}
    assert fresh <= {name for name, _ in rows(revision, document)}


@each_document
def test_every_clause_that_changed_in_revision_3_has_its_reason(document: str) -> None:
    section = page(3).partition(f"\n## {document}, ")[2].partition("\n## ")[0]
    reasons = section.partition("\nWhy each changed clause is what it is now:\n")[2]
    named = set(re.findall(r"`([\w.-]+)`", reasons))
    shorts = {name.rpartition(".")[2] for name in named}
    listed = {name for name, _ in rows(3, document) if "." in name}
    assert {n for n in listed - named if n.rpartition(".")[2] not in shorts} == set()


@each_page
def test_the_agreement_with_both_readers_is_as_written(revision: int) -> None:
    tool = load_tool("tools/levels/agreement.py")
    folder = Path(__file__).parent
    a, b = (tool.read_assignment(folder / f"assignment-{name}.jsonl") for name in "ab")

    def agreement(one: dict[str, str], other: dict[str, str], names: set[str]) -> str:
        return f"{tool.kappa([(one[name], other[name]) for name in sorted(names)]):.2f}"

    held = [each for each in law(revision).values() if each.origin == "text"]
    ours = {each.id: "none" if each.level == "observed" else each.level for each in held}
    seen = ours.keys() & a.keys() & b.keys()
    # Nobody invents a reader's line for a clause that is younger than the assignments.
    assert {each.id for each in held if each.since <= 2} == seen
    with_a, with_b = (agreement(ours, reader, seen) for reader in (a, b))
    text = " ".join(page(revision).split())
    assert f"Over the {len(seen)} clauses of origin text that both readers" in text
    assert f"is {with_a} with reader a and {with_b} with reader b" in text
    assert f"that of the readers themselves is {agreement(a, b, seen)}." in text
    apart = {name for name in seen if a[name] == b[name] != ours[name]}
    assert f"Both readers agree against us in {UNLIKE[revision]} clauses" in text
    assert len(apart) == {"three": 3, "four": 4}[UNLIKE[revision]]
    assert all(f"`{name}`" in text for name in apart)
    for document, group in DOCUMENTS.items():
        own = {name for name in seen if name.startswith(f"{group}.")}
        with_a, with_b = (agreement(ours, reader, own) for reader in (a, b))
        assert f"{document} {with_a} and {with_b}" in text


def test_the_present_levels_agree_well_with_each_reader() -> None:
    tool = load_tool("tools/levels/agreement.py")
    ours = tool.our_levels()
    for name in "ab":
        reader = tool.read_assignment(Path(__file__).parent / f"assignment-{name}.jsonl")
        pairs = [(ours[each], reader[each]) for each in sorted(ours.keys() & reader.keys())]
        assert tool.kappa(pairs) >= 0.8
