"""What the ledger of a run concludes: which breaches are repeated, which count, and as what."""

from collections.abc import Sequence

import pytest
from scripted_ledger import ScriptedLedger

from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.runner.ways import RUNS, Ways
from wireproof_kit.verdicts.judge import JudgeContext
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import ClaimRecord, HeaderRecord, TargetRecord, WayRecord

CLAUSE = "ext.consume.header-intact"
CHANGED = Finding(CLAUSE, "delivered:header-changed")
KEPT = Finding(CLAUSE)
CASE = "nsq/dispatch/left"


def bench() -> JudgeContext:
    catalogue = load_catalogue("nsq")
    claims = {each.id: ClaimRecord("shown", "ok") for each in catalogue.capabilities}
    return JudgeContext(catalogue, claims, {})


def ways_of(
    repeats: Sequence[Finding | None],
    *,
    first: Finding = CHANGED,
    cases: Sequence[str] = (CASE,),
    selected: frozenset[str] = frozenset({CLAUSE}),
) -> list[WayRecord]:
    """Conclude after these cases; None among the repeats: the case cannot run again."""
    again = iter(repeats)
    shown: list[Finding] = []

    def run_again(case: str) -> Transcript | None:
        assert case == cases[0]
        now = next(again)
        shown.extend([now] if now else [])
        return Transcript() if now else None

    ways = Ways("nsq", bench(), ScriptedLedger(first), lambda: ScriptedLedger(shown[-1]))
    for case in cases:
        ways.read(case, Transcript())
    return list(ways.conclude(run_again, selected))


def test_a_breach_of_one_run_is_repeated_by_its_case() -> None:
    (way,) = ways_of([CHANGED] * (RUNS - 1))

    assert (way.result.verdict, way.result.repeats.same) == ("fail", RUNS)
    assert way.result.case == f"nsq/passing/{CLAUSE}/again"
    assert (way.cases, way.counted) == ((CASE,), True)


def test_a_breach_that_does_not_come_each_time_is_unstable() -> None:
    (way,) = ways_of([CHANGED, KEPT, CHANGED, CHANGED])

    assert way.result.verdict == "unstable"


def test_a_breach_that_cannot_be_repeated_leaves_no_record() -> None:
    assert ways_of([None] * (RUNS - 1)) == []


def test_a_breach_is_decided_at_once_where_nothing_is_repeated() -> None:
    ways = Ways("nsq", bench(), ScriptedLedger(CHANGED))
    ways.read(CASE, Transcript())
    (way,) = ways.conclude(None, {CLAUSE})

    assert way.result.verdict == "fail"


@pytest.mark.parametrize("cases", [(CASE, CASE), (CASE, "nsq/dispatch/matching")])
def test_what_two_runs_have_shown_needs_no_repeat(cases: Sequence[str]) -> None:
    (way,) = ways_of([], cases=cases)

    assert way.result.verdict == "fail"
    assert way.cases == tuple(dict.fromkeys(cases))


def test_a_kept_way_passes() -> None:
    (way,) = ways_of([], first=KEPT)

    assert (way.result.verdict, way.kept, way.broken) == ("pass", 1, 0)


def test_a_way_of_a_clause_outside_the_selection_does_not_count() -> None:
    (way,) = ways_of([CHANGED] * (RUNS - 1), selected=frozenset({"ext.consume.layout"}))

    assert (way.result.verdict, way.counted) == ("fail", False)


def header() -> HeaderRecord:
    target = TargetRecord(url="nsq://127.0.0.1:4150", protocol="nsq")
    return HeaderRecord(1, "0", {}, 1, target, claims={}, readings={}, patience={})


EXITS = {
    "broken": (CHANGED, frozenset({CLAUSE}), 1),
    "not-selected": (CHANGED, frozenset[str](), 2),
    "kept": (KEPT, frozenset({CLAUSE}), 2),
}


@pytest.mark.parametrize(("found", "selected", "code"), EXITS.values(), ids=EXITS)
def test_only_a_broken_way_that_counts_decides_a_run(
    found: Finding, selected: frozenset[str], code: int
) -> None:
    ways = ways_of([found] * (RUNS - 1), first=found, selected=selected)

    footer = conclude(header(), [], load_catalogue("nsq"), RunFactors(), ways)

    assert footer.exit == code
    assert footer.verdicts == {}
    assert sum(footer.ways.values()) == sum(way.counted for way in ways)
