"""The catalogue holds together, and its patterns mean what they say."""

from collections import Counter

import msgspec
import pytest
from check_each import check_each

from wireproof_spec.catalogue import (
    Catalogue,
    Clause,
    Decision,
    Law,
    Option,
    faults,
    is_below,
    load_catalogue,
    matches,
)

CATALOGUES = {protocol: load_catalogue(protocol) for protocol in ("nsq", "oms", "iggy")}
NSQ = CATALOGUES["nsq"]
CLAUSES = [clause for catalogue in CATALOGUES.values() for clause in catalogue.clauses()]
each_catalogue = pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)


@each_catalogue
def test_the_catalogue_has_no_fault(catalogue: Catalogue) -> None:
    assert list(faults(catalogue)) == []


def test_there_are_at_most_thirty_decisions_and_some_in_each_catalogue() -> None:
    counts = [len(catalogue.decisions) for catalogue in CATALOGUES.values()]
    assert min(counts) > 0
    assert sum(counts) <= 30


@each_catalogue
def test_every_tested_clause_has_a_case(catalogue: Catalogue) -> None:
    assert [c.id for c in catalogue.clauses() if c.status == "tested" and not c.case] == []


@each_catalogue
def test_every_group_names_its_core(catalogue: Catalogue) -> None:
    tested = [g for g in catalogue.groups if any(c.status == "tested" for c in g.clause)]
    assert [g.group for g in tested if not any(c.core for c in g.clause)] == []


@each_catalogue
def test_a_law_belongs_to_one_clause(catalogue: Catalogue) -> None:
    laws = Counter(law.id for clause in catalogue.clauses() for law in clause.case)
    assert [name for name, count in laws.items() if count > 1] == []


@check_each(CLAUSES, lambda clause: clause.id)
def test_each_clause_notes_the_words_that_led_to_its_level(clause: Clause) -> None:
    assert clause.words
    assert clause.section
    assert clause.observed
    silent = clause.words == "silent"
    assert not silent or clause.level == "observed"


@pytest.mark.parametrize(
    ("observation", "pattern", "fits"),
    [
        ("error:E_BAD_BODY,open", "error:*,open", True),
        ("error:E_BAD_BODY,open", "error:*", False),
        ("error:E_BAD_BODY,open", "*,*", True),
        ("error:E_BAD_BODY,open", "error:E_BAD_BODY,closed", False),
        ("ok", "ok", True),
        ("okay", "ok", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
    ],
)
def test_a_star_stops_at_a_comma(observation: str, pattern: str, fits: bool) -> None:
    assert matches(observation, [pattern]) is fits


@pytest.mark.parametrize(
    ("identifier", "prefix", "below"),
    [
        ("nsq/publish/a", "nsq/publish", True),
        ("nsq/publishing", "nsq/publish", False),
        ("ext.publish.a", "ext", True),
        ("extra.a", "ext", False),
        ("nsq", "nsq", True),
        ("nsq", "nsq/publish", False),
        ("anything", "", True),
    ],
)
def test_a_prefix_ends_at_a_separator(identifier: str, prefix: str, below: bool) -> None:
    assert is_below(identifier, prefix) is below


def test_the_longest_id_gives_the_law() -> None:
    clause = next(NSQ.clauses())
    laws = (Law("nsq/a", "s", "e", ("ok",)), Law("nsq/a/b", "s", "e", ("no",)))
    group = msgspec.structs.replace(
        NSQ.groups[0], clause=(msgspec.structs.replace(clause, case=laws),)
    )
    catalogue = msgspec.structs.replace(NSQ, groups=(group,))
    assert [
        law.id if law else None
        for law in (catalogue.law(clause.id, name) for name in ("nsq/a/b/c", "nsq/a/x", "nsq/b"))
    ] == ["nsq/a/b", "nsq/a", None]


def test_a_contradiction_is_named() -> None:
    clause = msgspec.structs.replace(
        next(NSQ.clauses()),
        status="not testable",
        why="",
        needs=("wings",),
        case=(Law("c", "s", "e"), Law("d", "s", "e", (), (), {"trace-empty": {"odd": ()}})),
    )
    group = msgspec.structs.replace(NSQ.groups[0], clause=(clause, clause))
    broken: Catalogue = msgspec.structs.replace(NSQ, groups=(group,))
    said = " ".join(faults(broken))
    for words in ("without saying why", "wings", "accepts nothing", "trace-empty=odd", "twice"):
        assert words in said


def test_a_decision_knows_its_published_reading() -> None:
    options = (Option("any", "m", ("a",)), Option("published", "m", ("p",)))
    decision = Decision("d", "t", (), "d", options)
    assert decision.published == "published"
    assert Decision("d", "t", (), "d", options[:1]).published == "any"
    assert decision.find_shown("a") == "any"
    assert decision.find_shown("z") is None
