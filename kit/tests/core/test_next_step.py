"""The next step that a user is told when something was not judged."""

import msgspec
import pytest
from small_law import header, record

from wireproof_kit.verdicts.next_step import next_step
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.record import (
    CaseRecord,
    ClaimRecord,
    ClaimState,
    FooterRecord,
    GroupRecord,
    RepeatsRecord,
    Verdict,
)

NSQ = load_catalogue("nsq")


def told(
    observation: str,
    *given: str,
    verdict: Verdict = "unsupported",
    code: int = 2,
    http: ClaimState = "absent",
    note: str = "",
) -> str:
    """Return what is told of a run whose target showed this instead of ordered topics."""
    claims = {
        "order": ClaimRecord("absent", observation, note=note),
        "http": ClaimRecord(http, "ok"),
    }
    begun = header(claims=claims)
    begun = msgspec.structs.replace(
        begun, target=msgspec.structs.replace(begun.target, given=given)
    )
    case: CaseRecord = record(
        "x", clause="smart.order.command", verdict=verdict, needs=("order",), reason="why"
    )
    groups = (
        GroupRecord("smart.order", "t", judged=False, whole=True, why="why"),
        GroupRecord("smart.trace", "t", judged=False, whole=True),  # its core cases are undecided
    )
    return next_step(begun, [case], FooterRecord({}, groups, {}, code, ""), NSQ)


def test_what_the_kit_had_no_way_to_probe_names_the_addresses_that_help() -> None:
    assert told("unavailable") == (
        "not judged: smart.order; give --http HOST:PORT or --lookupd HOST:PORT, so that "
        "these can be tested: ordered topics; or judge the rest alone with --exclude smart.order"
    )


def test_an_address_that_was_given_is_not_asked_for() -> None:
    assert "give --lookupd HOST:PORT, so that" in told("unavailable", "http")


def test_advice_rests_on_what_the_probes_found() -> None:
    refused = (
        "no way to a fresh ordered plain topic: POST /topic/create was answered http:403,other; "
        "--topic fresh_ordered_topic=NAME names one that is there"
    )
    step = told("unavailable", http="shown", note=refused)

    assert "--http" not in step
    assert "give --lookupd HOST:PORT or --topic fresh_ordered_topic=NAME, so that" in step
    assert "--http" in told("unavailable", http="absent")


@pytest.mark.parametrize(
    ("observation", "given"), [("error:E_INVALID", ()), ("unavailable", ("http", "lookupd"))]
)
def test_what_the_target_lacks_can_only_be_left_out(
    observation: str, given: tuple[str, ...]
) -> None:
    assert told(observation, *given) == (
        "not judged: smart.order; judge the rest alone with --exclude smart.order"
    )


def test_a_kit_error_is_to_be_reported() -> None:
    assert told("ok", verdict="error") == (
        "this is an error of the kit: report it and attach the bundle"
    )


def test_a_run_that_was_done_needs_no_step() -> None:
    assert told("unavailable", code=0) == ""


@pytest.mark.parametrize(
    ("observation", "verdict", "code", "is_told"),
    [
        ("inconclusive:paused", "inconclusive", 3, True),
        ("inconclusive:exhausted", "inconclusive", 3, True),
        ("inconclusive:arrangement", "inconclusive", 3, False),
        ("inconclusive:paused", "inconclusive", 1, False),
    ],
)
def test_what_the_machine_left_undecided_is_to_be_run_again(
    observation: str, verdict: Verdict, code: int, is_told: bool
) -> None:
    begun = header()
    case = record("x", observation=observation, verdict=verdict, reason="why")
    step = next_step(begun, [case], FooterRecord({}, (), {}, code, ""), NSQ)
    assert ("with --lf when this machine has less to do" in step) is is_told


@pytest.mark.parametrize(
    ("observation", "advice"),
    [
        ("inconclusive:target-died", "the target ended: start it and run the undecided cases"),
        (
            "inconclusive:timeout",
            "more time: run the undecided cases again with --lf --case-timeout",
        ),
        ("inconclusive:cut-off", "with --lf over a way that resets no connection by itself"),
    ],
)
def test_what_the_target_left_undecided_is_not_the_machines(observation: str, advice: str) -> None:
    cases = [
        record("x", observation=each, verdict="inconclusive", reason="why")
        for each in (observation, "ok")
    ]
    cases[1] = msgspec.structs.replace(cases[1], verdict="pass")
    step = next_step(header(), cases, FooterRecord({}, (), {}, 3, ""), NSQ)

    assert advice in step
    assert "less to do" not in step


def test_what_was_seen_once_is_to_be_run_again() -> None:
    once = record("x", observation="bad", verdict="inconclusive", reason="seen once")
    unrepeated = msgspec.structs.replace(once, repeats=RepeatsRecord(1, 1, (), "spent"))
    step = next_step(header(), [unrepeated], FooterRecord({}, (), {}, 3, ""), NSQ)

    assert step == "run the undecided cases again with --lf: their failures were seen once"
