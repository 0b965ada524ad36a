"""The run's conclusion: what is judged, what the exit code is, and never green by accident."""

import msgspec
import pytest
from small_law import CATALOGUE, header, record

from wireproof_kit.verdicts.next_step import next_step
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.clauses.catalogue import Capability, Clause, Group, Law
from wireproof_spec.record import CaseRecord, ClaimRecord

CORE = Clause(
    id="t.i.core",
    level="must",
    origin="text",
    role="broker",
    since=1,
    section="s",
    words=("w",),
    law="l",
    observed="o",
    status="tested",
    core=True,
    case=(Law("p/i/core", "s", "e", accept=("ok",)),),
)
SIDE = msgspec.structs.replace(
    CORE, id="t.i.side", core=False, level="should", case=(Law("p/i/side", "s", "e", ("ok",)),)
)
LAWS = msgspec.structs.replace(CATALOGUE, groups=(Group("t.i", "0", "T", (CORE, SIDE)),))


def core(verdict: str) -> CaseRecord:
    return record("x", case="p/i/core", clause="t.i.core", verdict=verdict, reason="why")


def side(verdict: str) -> CaseRecord:
    return record("x", case="p/i/side", clause="t.i.side", level="should", verdict=verdict)


@pytest.mark.parametrize(
    ("records", "profile", "code"),
    [
        ([core("pass"), side("pass")], "must", 0),
        ([core("reading")], "must", 0),
        ([core("fail")], "must", 1),
        ([core("pass"), side("fail")], "must", 0),
        ([core("pass"), side("fail")], "should", 1),
        ([core("known")], "must", 0),
        ([], "must", 2),
        ([side("pass")], "must", 2),
        ([core("unsupported"), side("pass")], "must", 2),
        ([core("unsupported")], "must", 2),
        ([core("error"), side("pass")], "must", 2),
        ([core("inconclusive"), side("pass")], "must", 3),
        ([core("inconclusive")], "must", 3),
        ([core("unstable")], "must", 3),
        ([core("pass"), core("unstable")], "must", 3),
        ([core("pass"), side("unstable")], "must", 0),
    ],
)
def test_exit_codes(records: list[CaseRecord], profile: str, code: int) -> None:
    assert conclude(header(profile=profile), records, LAWS, RunFactors()).exit == code


def test_an_unstable_case_may_be_allowed_by_the_user() -> None:
    records = [core("pass"), core("unstable")]
    assert conclude(header(), records, LAWS, RunFactors(allow_unstable=True)).exit == 0


@pytest.mark.parametrize("standing", [RunFactors(stale=("a",)), RunFactors(expired=("a",))])
def test_a_stale_or_expired_deviation_fails_the_run(standing: RunFactors) -> None:
    assert conclude(header(), [core("pass")], LAWS, standing).exit == 1


def test_an_interrupted_run_says_so() -> None:
    footer = conclude(header(), [core("pass")], LAWS, RunFactors(interrupted=True))
    assert footer.exit == 130
    assert "interrupted" in footer.statement


def test_a_group_without_its_core_asserted_is_not_judged() -> None:
    footer = conclude(header(), [side("pass")], LAWS, RunFactors())
    assert [group.judged for group in footer.groups] == [False]
    assert "NOT JUDGED" in footer.statement


def test_a_narrow_selection_is_judged_as_a_part_and_says_so() -> None:
    narrow = header(selection=("p/i/side",), profile="should")
    footer = conclude(narrow, [side("pass")], LAWS, RunFactors())
    assert footer.exit == 0
    assert footer.statement == "t.i (part) 1/1 should"


@pytest.mark.parametrize("prefix", ["t", "t.i", "p", "p/i", "p/i/core"])
def test_a_selection_that_holds_the_core_is_a_whole_group(prefix: str) -> None:
    footer = conclude(header(selection=(prefix,)), [side("pass")], LAWS, RunFactors())
    assert footer.exit == 2


@pytest.mark.parametrize("verdicts", [("pass",), ("pass", "fail"), ("unstable",)])
def test_a_selection_above_the_profile_is_not_green_and_names_the_profile(
    verdicts: tuple[str, ...],
) -> None:
    narrow = header(selection=("p/i/side",))
    footer = conclude(narrow, [side(verdict) for verdict in verdicts], LAWS, RunFactors())
    assert footer.exit == 2
    assert footer.statement.endswith(
        "nothing up to level must was run: --profile should lets these count"
    )


def test_what_counts_and_was_not_judged_leaves_a_reason_and_the_next_step() -> None:
    narrow = header(selection=("p/i",))
    records = [core("unsupported"), side("pass")]
    footer = conclude(narrow, records, LAWS, RunFactors())
    told = "nothing up to level must was judged: --profile should lets others count"
    assert footer.exit == 2
    assert footer.statement.endswith(told)
    part = msgspec.structs.replace(footer, groups=())
    assert next_step(narrow, records, part, LAWS) == told


def test_groups_that_are_left_out_for_one_reason_are_named_together() -> None:
    narrow = header(not_selected={"t.a": "old", "t.b": "--exclude", "t.c": "old"})
    footer = conclude(narrow, [core("pass")], LAWS, RunFactors())
    assert footer.statement.endswith("t.a, t.c not selected (old); t.b not selected (--exclude)")


SMALL = msgspec.structs.replace(
    LAWS,
    groups=(Group("t.i", "0", "T", (msgspec.structs.replace(CORE, needs=("nodes",)), SIDE)),),
    capabilities=(
        *LAWS.capabilities,
        Capability("nodes", "two nodes", "nodes", ("ok",), ("one", "none"), small_by=("one",)),
    ),
)


@pytest.mark.parametrize(("seen", "code"), [("one", 0), ("none", 2)])
def test_a_deployment_too_small_for_the_core_makes_a_part(seen: str, code: int) -> None:
    """Who has one node only cannot show a cluster; who refuses one is not judged."""
    alone = header(claims={"nodes": ClaimRecord("absent", seen)}, profile="should")
    records = [core("unsupported"), side("pass")]
    footer = conclude(alone, records, SMALL, RunFactors())
    assert footer.exit == code
    assert footer.statement.startswith("t.i (part)") == (code == 0)


@pytest.mark.parametrize("excluded", ["t.i.core", "p/i/core", "p/i/core/one"])
def test_what_the_user_excludes_makes_its_group_a_part_and_is_named(excluded: str) -> None:
    narrow = header(not_selected={excluded: "--exclude"}, profile="should")
    footer = conclude(narrow, [side("pass")], LAWS, RunFactors())
    assert footer.exit == 0
    assert footer.statement == f"t.i (part) 1/1 should; {excluded} not selected (--exclude)"


def test_what_other_options_leave_out_makes_parts_and_is_named() -> None:
    narrow = header(narrowed=("-k core", "--lf"))
    footer = conclude(narrow, [core("pass")], LAWS, RunFactors())
    assert footer.exit == 0
    assert footer.statement == "t.i (part) 1/1 must; narrowed by -k core, --lf"


def test_what_the_kit_itself_leaves_out_makes_no_part() -> None:
    known = header(not_selected={"p/i/core": "known to be wrong"})
    assert conclude(known, [side("pass")], LAWS, RunFactors()).exit == 2


def test_what_passes_above_the_profile_does_not_make_up_for_what_was_not_judged() -> None:
    narrow = header(selection=("p/i/core", "p/i/side"))
    missing = [core("unsupported"), side("pass")]
    assert conclude(narrow, missing, LAWS, RunFactors()).exit == 2
    assert conclude(narrow, [core("unstable"), side("pass")], LAWS, RunFactors()).exit == 3


def test_the_statement_counts_conforming_and_asserted_cases_by_level() -> None:
    records = [core("pass"), core("fail"), side("pass"), side("unsupported")]
    said = "t.i 1/2 must, 1/1 should (1 of 2 judged, 1 unsupported)"
    assert conclude(header(), records, LAWS, RunFactors()).statement == said


def test_a_level_of_which_nothing_is_supported_is_told() -> None:
    records = [core("pass"), side("unsupported")]
    said = "t.i 1/1 must, none of 1 should judged (1 unsupported)"
    assert conclude(header(), records, LAWS, RunFactors()).statement == said


def test_coverage_counts_every_clause_once() -> None:
    footer = conclude(header(), [core("inconclusive"), core("pass")], LAWS, RunFactors())
    assert footer.coverage == {
        "clauses": 2,
        "asserted": 1,
        "touched": 0,
        "not_testable": 0,
        "untested": 1,
    }


def must(origin: str, verdict: str) -> CaseRecord:
    return record("x", case="p/i/core", clause="t.i.core", origin=origin, verdict=verdict)


MUSTS = [must("text", "pass"), must("base", "pass"), must("premise", "fail")]


@pytest.mark.parametrize(
    ("origins", "code", "counts"),
    [
        (("text", "base", "premise"), 1, "1/1 text, 1/1 base, 0/1 premise"),
        (("premise",), 1, "1/1 text not counted, 1/1 base not counted, 0/1 premise"),
        (("text", "base"), 0, "1/1 text, 1/1 base, 0/1 premise not counted"),
    ],
)
def test_musts_count_by_origin(origins: tuple[str, ...], code: int, counts: str) -> None:
    footer = conclude(header(origins=origins), MUSTS, LAWS, RunFactors())
    assert footer.exit == code
    assert footer.statement == f"t.i 2/3 must ({counts})"
    assert footer.groups[0].origins == {"text": (1, 1), "base": (1, 1), "premise": (0, 1)}


def test_where_all_conform_each_origin_has_one_number() -> None:
    footer = conclude(header(), [*MUSTS[:2], must("text", "reading")], LAWS, RunFactors())
    assert footer.statement == "t.i 3/3 must (2 text, 1 base)"


def test_a_must_whose_origin_is_not_recorded_counts() -> None:
    narrow = header(origins=("text",))
    assert conclude(narrow, [core("fail")], LAWS, RunFactors()).exit == 1


def test_a_run_of_musts_that_do_not_count_is_not_green() -> None:
    footer = conclude(header(origins=("text",)), [must("premise", "fail")], LAWS, RunFactors())
    assert footer.exit == 2
    assert footer.statement.endswith(
        "nothing up to level must (origin text) was run: --origin premise lets these count"
    )
