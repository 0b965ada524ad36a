"""The page on the levels of revision 2 has the figures that catalogue and assignments have."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from tool_modules import ROOT, load_tool

from wireproof_spec.clauses.catalogue import LEVELS, Clause
from wireproof_spec.clauses.loading import load_catalogue

PAGE = (ROOT / "docs" / "levels-revision-2.md").read_text("utf-8")
DOCUMENTS = {"000": "ext", "002": "iggy", "003": "oms", "004": "smart"}
CLAUSES = [c for name in ("nsq", "iggy", "oms") for c in load_catalogue(name).clauses()]
ROW = re.compile(r"^\| `?([\w. -]+?)`? \| (.*) \|$", re.MULTILINE)
each_document = pytest.mark.parametrize("document", DOCUMENTS)


def rows(document: str) -> list[tuple[str, list[str]]]:
    """Return the rows of all tables of a document's section: first cell, other cells."""
    section = PAGE.partition(f"\n## {document}, ")[2].partition("\n## ")[0]
    return [(row[1], row[2].split(" | ")) for row in ROW.finditer(section)]


def clauses_of(document: str) -> dict[str, Clause]:
    below = f"{DOCUMENTS[document]}."
    return {clause.id: clause for clause in CLAUSES if clause.id.startswith(below)}


def counts(levels: Iterable[str]) -> list[str]:
    tally = Counter(levels)
    return [str(tally[level]) for level in LEVELS]


@each_document
def test_clauses_are_counted_by_level_and_origin(document: str) -> None:
    table, clauses = dict(rows(document)), clauses_of(document).values()
    levels = [clause.level for clause in clauses]
    assert table["revision 2"] == [*counts(levels), str(len(levels))]
    for origin in ("text", "base", "premise", "inference", "deployed"):
        levels = [clause.level for clause in clauses if clause.origin == origin]
        assert table[origin] == counts(levels), origin


@each_document
def test_the_rows_of_a_clause_have_its_level_and_origin(document: str) -> None:
    clauses = clauses_of(document)
    own = [(name, cells) for name, cells in rows(document) if "." in name]
    for name, cells in own:
        at = 1 if cells[1] in LEVELS else 0
        assert cells[at : at + 2] == [clauses[name].level, clauses[name].origin], name
    assert own


@each_document
def test_every_clause_of_revision_1_is_counted_at_its_old_level(document: str) -> None:
    clauses, table = clauses_of(document), rows(document)
    before = {name: cells[0] for name, cells in table if "." in name and cells[1] in LEVELS}
    levels = [before.get(c.id, c.level) for c in clauses.values() if c.since == 1]
    assert dict(table)["revision 1"] == [*counts(levels), str(len(levels))]


@each_document
def test_every_clause_new_in_revision_2_is_listed(document: str) -> None:
    fresh = {clause.id for clause in clauses_of(document).values() if clause.since == 2}
    assert fresh <= {name for name, _ in rows(document)}


def test_the_agreement_with_both_readers_is_as_written() -> None:
    tool = load_tool("tools/levels/agreement.py")
    folder = Path(__file__).parent
    a, b = (tool.read_assignment(folder / f"assignment-{name}.jsonl") for name in "ab")

    def agreement(one: dict[str, str], other: dict[str, str], names: set[str]) -> str:
        return f"{tool.kappa([(one[name], other[name]) for name in sorted(names)]):.2f}"

    ours = tool.our_levels()
    seen = ours.keys() & a.keys() & b.keys()
    assert ours.keys() == seen
    with_a, with_b = (agreement(ours, reader, seen) for reader in (a, b))
    text = " ".join(PAGE.split())
    assert f"Over the {len(seen)} clauses of origin text that both readers saw" in text
    assert f"is {with_a} with reader a and {with_b} with reader b" in text
    assert f"that of the readers themselves is {agreement(a, b, seen)}." in text
    apart = {name for name in seen if a[name] == b[name] != ours[name]}
    assert "Both readers agree against us in four clauses" in text
    assert len(apart) == 4
    assert all(f"`{name}`" in text for name in apart)
    for document, group in DOCUMENTS.items():
        own = {name for name in seen if name.startswith(f"{group}.")}
        with_a, with_b = (agreement(ours, reader, own) for reader in (a, b))
        assert f"{document} {with_a} and {with_b}" in text
