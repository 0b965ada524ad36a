"""Trials, samples and mixes, and the matrix of their results."""

import io
import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from wireproof.commands.bundles.schema import make_schema
from wireproof.view.selftest import SelftestView
from wireproof.view.style import Style
from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.collect import collect
from wireproof_kit.selftest.matrix import Matrix, check_writable, page, write_matrix
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    MIX,
    VARIANT,
    RedCase,
    Trial,
    TrialResult,
    random_mixes,
    sample_trials,
    select_trials,
)
from wireproof_kit.selftest.trial import cases_of, is_decisive, is_unexpected
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.record import CaseRecord, Verdict

FAULTS = tuple(
    Trial(f"fault-{number}", FAULT, (f"fault-{number}",), breaks=(f"ext.group.{number % 4}",))
    for number in range(12)
)
VARIANTS = tuple(Trial(f"v{number}", VARIANT, (f"v{number}",)) for number in range(8))
ODD = Trial("odd", VARIANT, ("odd",), not_with=tuple(each.name for each in VARIANTS))
FAILED = {"ext.group.0": "nsq/a/b"}
RED = RedCase("nsq/x/y", "ext.other.z", "fail", "closed", "expected ok; saw closed")


def matrix(*rows: TrialResult) -> Matrix:
    made = Matrix("nsq", seed=1, planned=len(rows))
    for row in rows:
        made.add(row)
    return made


def test_mixes_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert random_mixes(VARIANTS, seed=3) == random_mixes(VARIANTS, seed=3)
    assert random_mixes(VARIANTS, seed=3) != random_mixes(VARIANTS, seed=4)
    assert len(random_mixes(VARIANTS, seed=3)) == 50


def test_what_goes_with_nothing_is_mixed_with_nothing() -> None:
    for mix in random_mixes((*VARIANTS, ODD), seed=1):
        assert ODD.name not in mix.switches or mix.switches == (ODD.name,)


def test_what_is_legal_meets_every_case_or_a_third_of_the_functions() -> None:
    instances = [item for item in collect("nsq") if not item.is_for_clients]
    functions = {(item.mark.id, item.clause.id) for item in instances}
    clauses = {item.clause.id for item in instances}
    named = [Trial(f"v{number}", VARIANT, (), every=False) for number in range(20)]
    drawn = [cases_of(trial, instances) for trial in named]
    assert cases_of(VARIANTS[0], instances) == instances
    for items in drawn:
        assert len({(item.mark.id, item.clause.id) for item in items}) == len(items)
        assert len(functions) / 3 < len(items) < len(functions) / 2
        assert {item.clause.id for item in items} == clauses
    assert drawn[0] != drawn[1]
    assert drawn[0] == cases_of(named[0], instances)
    assert {(item.mark.id, item.clause.id) for items in drawn for item in items} == functions


def test_a_mix_meets_fewer_than_half_of_the_functions_and_every_clause() -> None:
    instances = [item for item in collect("nsq") if not item.is_for_clients]
    functions = {(item.mark.id, item.clause.id) for item in instances}
    # One mix in four meets a function: after 30 one of 600 is missing now and then.
    trials = [Trial(f"mix-{number}", MIX, (), every=False) for number in range(60)]
    met = [cases_of(trial, instances) for trial in trials]
    for items in met:
        assert len(functions) / 3 < len(items) < len(functions) / 2
        assert {item.clause.id for item in items} == {item.clause.id for item in instances}
    assert {(item.mark.id, item.clause.id) for items in met for item in items} == functions


def test_a_fault_meets_every_case_of_its_clauses() -> None:
    instances = [item for item in collect("nsq") if not item.is_for_clients]
    clause = "ext.publish.header-name"
    fault = msgspec.structs.replace(FAULTS[0], breaks=(clause,))
    whole = cases_of(fault, instances)
    drawn = cases_of(msgspec.structs.replace(fault, every=False), instances)
    own = [item for item in instances if item.clause.id == clause]
    assert whole[: len(own)] == drawn[: len(own)] == own
    assert {item.id for item in drawn} < {item.id for item in whole}
    assert {item.clause.id for item in drawn} == {item.clause.id for item in whole}


def came_to(verdict: Verdict) -> CaseRecord:
    clause = FAULTS[0].breaks[0]
    return CaseRecord("nsq/x/y", "", clause, "must", "", "ok", verdict, "")


@pytest.mark.parametrize("verdict", ["fail", "unstable", "inconclusive", "error", "unsupported"])
def test_what_is_legal_turns_nothing_red_and_leaves_nothing_unjudged(verdict: Verdict) -> None:
    assert is_unexpected(VARIANTS[0], came_to(verdict))
    assert not is_unexpected(VARIANTS[0], came_to("pass"))
    assert not is_unexpected(VARIANTS[0], came_to("reading"))


def test_a_fault_turns_only_its_own_clauses_red() -> None:
    own, other = FAULTS[0], FAULTS[1]
    assert not is_unexpected(own, came_to("fail"))
    assert is_unexpected(other, came_to("fail"))
    assert is_unexpected(other, came_to("unstable"))
    assert is_unexpected(own, came_to("error"))
    assert not is_unexpected(other, came_to("unsupported"))


@pytest.mark.parametrize(
    ("kind", "breaks", "level", "decisive"),
    [
        (FAULT, ("ext.group.0",), "should", True),
        (FAULT, ("ext.group.1",), "must", False),
        (VARIANT, (), "should", True),
        (ALTERNATIVE, (), "must", True),
        (ALTERNATIVE, (), "should", False),
    ],
)
def test_an_undecided_case_is_run_again_where_it_decides_something(
    kind: str, breaks: tuple[str, ...], level: Level, *, decisive: bool
) -> None:
    record = msgspec.structs.replace(came_to("inconclusive"), level=level)

    assert is_decisive(Trial("t", kind, (), breaks=breaks), record) is decisive


def test_a_sample_has_a_fault_of_every_clause() -> None:
    chosen = sample_trials((*FAULTS, *VARIANTS), seed=5)
    faults = [trial for trial in chosen if trial.kind == FAULT]
    assert {clause for fault in faults for clause in fault.breaks} == {
        f"ext.group.{number}" for number in range(4)
    }
    assert len(faults) == 4
    assert len(chosen) == 7
    assert chosen == sample_trials((*FAULTS, *VARIANTS), seed=5)


def test_a_sample_for_some_clauses_has_faults_of_these_alone() -> None:
    chosen = sample_trials((*FAULTS, *VARIANTS), seed=5, clauses={"ext.group.2", "not.broken"})
    faults = [trial for trial in chosen if trial.kind == FAULT]
    assert [fault.breaks for fault in faults] == [("ext.group.2",)]


@pytest.mark.parametrize("seed", range(20))
def test_a_trial_more_leaves_the_others_of_a_sample(seed: int) -> None:
    before = sample_trials((*FAULTS, *VARIANTS), seed=seed)
    more = (Trial("added", FAULT, ("added",), FAULTS[0].breaks), Trial("legal", VARIANT, ()))

    after = sample_trials((*FAULTS, *more, *VARIANTS), seed=seed)

    assert len(set(before) - set(after)) <= len(more)


def test_names_select_and_unknown_ones_are_refused() -> None:
    assert [trial.name for trial in select_trials(FAULTS, ["fault-3"], ())] == ["fault-3"]
    with pytest.raises(UsageFault, match="did you mean 'fault-1"):
        select_trials(FAULTS, ["fault-1x"], ())


def test_switches_become_options() -> None:
    assert FAULTS[0].options() == ["--fault", "fault-0"]
    assert Trial("mix-01", MIX, ("a", "b")).options() == ["--variant", "a", "--variant", "b"]


@pytest.mark.parametrize(
    ("row", "verdict", "code"),
    [
        (TrialResult(FAULTS[0], red=FAILED), "died", 0),
        (TrialResult(FAULTS[0], survived=("ext.group.0",)), "survived", 1),
        (
            TrialResult(FAULTS[0], red=FAILED, unexpected=(RED,)),
            "unexpected",
            1,
        ),
        (TrialResult(VARIANTS[0], cases=9), "lived", 0),
        (TrialResult(VARIANTS[0], unexpected=(RED,)), "alarm", 1),
        (TrialResult(FAULTS[0], trouble="it did not start"), "trouble", 2),
    ],
)
def test_verdicts_and_exit_codes(row: TrialResult, verdict: str, code: int) -> None:
    made = matrix(row)
    assert row.verdict == verdict
    assert made.exit == code


def test_a_selftest_without_trials_is_not_a_success() -> None:
    assert matrix().exit == 2


def test_an_interrupted_one_says_so() -> None:
    made = matrix(TrialResult(FAULTS[0], red=FAILED))
    made.interrupted = True
    assert made.exit == 130


def test_a_fault_that_survives_and_turns_others_red_counts_as_both() -> None:
    summary = matrix(
        TrialResult(FAULTS[0], survived=("ext.group.0",), unexpected=(RED,))
    ).summary()
    assert (summary["faults"], summary["survived"], summary["unexpected"]) == (1, 1, 1)


def test_the_matrix_is_written_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "matrix.jsonl"
    check_writable(path)
    write_matrix(path, matrix(TrialResult(FAULTS[0], red=FAILED), TrialResult(ODD)))
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [line.get("verdict") for line in lines] == [None, "died", "lived", None]
    assert lines[1]["trial"]["name"] == "fault-0"
    assert lines[-1]["false_alarms"] == 0


def test_the_events_of_a_selftest_fit_their_schema() -> None:
    result = TrialResult(FAULTS[0], red=FAILED, unexpected=(RED,))
    events = io.StringIO()
    view = SelftestView(io.StringIO(), None, events, Style(), total=1)

    view.show(result)
    view.end(matrix(result), None, None)

    shown = [json.loads(line) for line in events.getvalue().splitlines()]
    schema = Draft202012Validator(make_schema("selftest"))
    for event in shown:
        schema.validate(event)
    assert [event["event"] for event in shown] == ["trial", "verdict"]
    assert (shown[0]["verdict"], shown[1]["exit"]) == ("unexpected", 1)


def test_the_page_names_groups_and_faults() -> None:
    told = "\n".join(page(matrix(TrialResult(FAULTS[0], red=FAILED))))
    assert "| ext.group | 1 | 1 | 1 | 100 % |" in told
    assert "| fault-0 |" in told


def test_a_form_that_is_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"\.md or \.jsonl"):
        check_writable(tmp_path / "matrix.html")
