"""The catalogue holds together, and its patterns mean what they say."""

from collections import Counter

import msgspec
import pytest
from check_each import check_each

from wireproof_spec.clauses.catalogue import (
    Catalogue,
    Clause,
    Decision,
    Law,
    Level,
    Option,
    is_below,
    matches,
)
from wireproof_spec.clauses.loading import faults, is_above_origin, load_catalogue
from wireproof_spec.clauses.origin import Origin

CATALOGUES = {protocol: load_catalogue(protocol) for protocol in ("nsq", "oms", "iggy")}
NSQ = CATALOGUES["nsq"]
CLAUSES = [clause for catalogue in CATALOGUES.values() for clause in catalogue.clauses()]

each_catalogue = pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)


@each_catalogue
def test_the_catalogue_has_no_fault(catalogue: Catalogue) -> None:
    assert list(faults(catalogue)) == []


def test_there_are_at_most_forty_decisions_and_some_in_each_catalogue() -> None:
    counts = [len(catalogue.decisions) for catalogue in CATALOGUES.values()]
    assert min(counts) > 0
    assert sum(counts) <= 40


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
def test_each_clause_says_what_real_peers_do(clause: Clause) -> None:
    assert clause.observed


@pytest.mark.parametrize(
    ("origin", "level", "above"),
    [
        ("text", "must", False),
        ("base", "must", False),
        ("premise", "must", False),
        ("inference", "must", True),
        ("inference", "should", False),
        ("deployed", "must", True),
        ("deployed", "should", True),
        ("deployed", "may", True),
        ("deployed", "observed", False),
    ],
)
def test_an_origin_bears_a_level(origin: Origin, level: Level, above: bool) -> None:
    clause = msgspec.structs.replace(CLAUSES[0], origin=origin, level=level)
    assert is_above_origin(clause) is above


def test_what_is_judged_by_readings_alone_may_be_more_than_observed() -> None:
    accepted: dict[str, tuple[str, ...]] = {"published": ("ok",), "deployed": ("error:*",)}
    by_reading = (Law("c", "s", "e", (), (), {"trace-empty": accepted}),)
    clause = msgspec.structs.replace(
        CLAUSES[0], origin="deployed", level="should", case=by_reading
    )
    also = (*by_reading, Law("d", "s", "e", ("ok",)))
    assert not is_above_origin(clause)
    assert is_above_origin(msgspec.structs.replace(clause, case=also))
    assert is_above_origin(msgspec.structs.replace(clause, level="must"))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"words": ()}, "has origin text and quotes no words"),
        ({"origin": "inference", "level": "may"}, "has origin inference and quotes words"),
        ({"origin": "inference", "words": ()}, "is must, more than its origin inference bears"),
        (
            {"origin": "deployed", "words": (), "level": "may"},
            "is may, more than its origin deployed bears",
        ),
        ({"origin": "premise", "words": ()}, "has origin premise and names no premise"),
        ({"premise": "whole"}, "has origin text and names the premise whole"),
        ({"origin": "base"}, "has origin base and quotes 000"),
        ({"document": "elsewhere"}, "has origin text and quotes elsewhere"),
    ],
)
def test_an_origin_that_contradicts_the_rest_is_named(
    changed: dict[str, object], words: str
) -> None:
    whole = NSQ.clause("ext.publish.accept")
    assert whole is not None
    clause = msgspec.structs.replace(whole, **changed)
    group = msgspec.structs.replace(NSQ.groups[0], document="000", clause=(clause,))
    said = list(faults(msgspec.structs.replace(NSQ, groups=(group,))))
    assert said == [f"clause ext.publish.accept {words}"]


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
        found[1].id if found else None
        for found in map(catalogue.find_law, ("nsq/a/b/c", "nsq/a/x", "nsq/b"))
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


def test_a_case_belongs_to_the_clause_with_the_longest_law() -> None:
    first, second = list(NSQ.clauses())[:2]
    laws = (Law("nsq/a", accept=("ok",)), Law("nsq/a/b.c", accept=("no",)))
    clauses = tuple(
        msgspec.structs.replace(clause, case=(law,))
        for clause, law in zip((first, second), laws, strict=True)
    )
    group = msgspec.structs.replace(NSQ.groups[0], clause=clauses)
    catalogue = msgspec.structs.replace(NSQ, groups=(group,))
    names = ("nsq/a", "nsq/a/x", "nsq/a/b", "nsq/a/b.c/d", "nsq/a/b.cd", "nsq", "nsq/ab", "")
    found = [catalogue.find_law(name) for name in names]
    assert [each and each[0].id for each in found] == [
        *[first.id] * 3, second.id, first.id, None, None, None
    ]  # fmt: skip
