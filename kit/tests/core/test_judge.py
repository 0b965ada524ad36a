"""The judge over a small catalogue of its own: readings, repeats, slowness, claims."""

import pytest
from small_law import CAPABILITY, CATALOGUE, bench, record

from wireproof_kit.verdicts.judge import JudgeContext, claim_state, judge_record, signature
from wireproof_spec.record import ClaimRecord, DifferenceRecord, RepeatsRecord, SeenRecord


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        ("ok,open", "published", "pass"),
        ("ok,closed", "deployed", "pass"),
        ("ok", "published", "fail"),
        ("error:P,open", "published", "pass"),
        ("error:P,open", "deployed", "fail"),
        ("error:D,open", "deployed", "reading"),
        ("error:D,open", "published", "fail"),
        ("error:X,open", "deployed", "fail"),
        ("odd", "deployed", "inconclusive"),
        ("inconclusive:arrangement", "published", "inconclusive"),
        ("kit-error:KeyError", "published", "error"),
        ("died", "published", "fail"),
    ],
)
def test_an_observation_is_judged_under_the_bound_reading(
    value: str, bound: str, verdict: str
) -> None:
    assert judge_record(record(value), bench(bound)).verdict == verdict


def test_a_probe_that_could_not_run_leaves_every_registered_reading_open() -> None:
    open_bench = bench(None, seen="unavailable")
    assert judge_record(record("error:P,open"), open_bench).verdict == "pass"
    assert judge_record(record("error:D,open"), open_bench).verdict == "reading"
    assert judge_record(record("error:X,open"), open_bench).verdict == "fail"


def test_a_probe_that_showed_no_registered_reading_holds_to_the_published_one() -> None:
    strange = bench(None, seen="something else")
    assert judge_record(record("error:P,open"), strange).verdict == "pass"
    assert judge_record(record("error:D,open"), strange).verdict == "fail"


def test_only_the_chosen_readings_count() -> None:
    deployed = record("error:D,open")
    assert judge_record(deployed, bench("deployed", reading="published")).verdict == "fail"
    assert judge_record(deployed, bench("deployed", reading="deployed")).verdict == "reading"
    assert judge_record(deployed, bench("deployed")).reading == "spelling=deployed"


@pytest.mark.parametrize(
    ("control", "verdict"), [("prompt", "fail"), ("slow", "inconclusive"), (None, "inconclusive")]
)
def test_an_overdue_answer_fails_only_if_the_control_was_prompt(
    control: str | None, verdict: str
) -> None:
    assert (
        judge_record(record("silence", overdue=True, control=control), bench()).verdict == verdict
    )


def test_repeats_that_differ_in_verdict_are_unstable() -> None:
    repeats = RepeatsRecord(runs=3, same=2, others=(SeenRecord(value="ok,open"),))
    judgement = judge_record(record("error:X,open", repeats=repeats), bench())
    assert judgement.verdict == "unstable"
    assert "2 of 3" in judgement.reason


def test_one_death_among_repeats_is_a_failure_not_a_flicker() -> None:
    repeats = RepeatsRecord(runs=3, same=2, others=(SeenRecord(value="ok,open"),))
    judgement = judge_record(record("died", repeats=repeats), bench())
    assert (judgement.verdict, judgement.reason) == ("fail", "the target died in 2 of 3 repeats")


def test_repeats_that_fail_in_different_ways_still_fail() -> None:
    repeats = RepeatsRecord(runs=2, same=1, others=(SeenRecord(value="error:Y,open"),))
    assert judge_record(record("error:X,open", repeats=repeats), bench()).verdict == "fail"


def test_a_signature_follows_field_and_value_and_nothing_else() -> None:
    seen = SeenRecord(value="v", difference=DifferenceRecord("attempts", 8, "1", "40961"))
    other = SeenRecord(value="v", difference=DifferenceRecord("attempts", 9, "2", "7"))
    assert signature("c", seen, CATALOGUE) == signature("c", other, CATALOGUE)
    assert signature("c", seen, CATALOGUE) != signature("d", seen, CATALOGUE)
    assert signature("c", seen, CATALOGUE) != signature("c", SeenRecord(value="v"), CATALOGUE)


def test_a_named_fault_has_one_signature_in_every_clause_and_at_every_field() -> None:
    seen = SeenRecord("trace:swapped,open", difference=DifferenceRecord("size", 8, "1", "2"))
    other = SeenRecord("trace:swapped", difference=DifferenceRecord("offset", 0, "0", "9"))
    assert signature("c", seen, CATALOGUE) == signature("d", other, CATALOGUE)
    assert signature("c", seen, CATALOGUE) != signature(
        "c", SeenRecord("trace:cut,open"), CATALOGUE
    )


@pytest.mark.parametrize("value", ["error:D,open", "response:hello", "trace:wrong", "missing"])
def test_what_conforms_somewhere_or_names_nothing_is_no_named_fault(value: str) -> None:
    assert CATALOGUE.flaw(value) == ""


def test_what_the_target_neither_claims_nor_shows_is_unsupported() -> None:
    absent = JudgeContext(
        CATALOGUE, {"ext": ClaimRecord(state="absent", observation="error:E")}, {}
    )
    judgement = judge_record(record("unavailable"), absent)
    assert judgement.verdict == "unsupported"
    assert "error:E" in judgement.reason


def test_a_case_without_law_is_our_own_error() -> None:
    assert judge_record(record("ok,open", case="p/i/other"), bench()).verdict == "error"


@pytest.mark.parametrize(
    ("seen", "claimed", "state"),
    [
        ("ok", False, "shown"),
        ("ok", True, "shown"),
        ("error:E", False, "absent"),
        ("error:E", True, "broken"),
        ("odd", False, "unknown"),
        ("odd", True, "broken"),
    ],
)
def test_a_claim_is_held_against_its_probe(seen: str, claimed: bool, state: str) -> None:
    assert claim_state(CAPABILITY, seen, claimed=claimed) == state
