"""The proof of the judge, as tests: a fault of each way to be wrong, a variant and a mix.

`make selftest SAMPLE=1` tries a fault of each clause, `make selftest` all of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.runner.collect import collect
from wireproof_kit.selftest.plan import (
    FAULT,
    MIX,
    VARIANT,
    Trial,
    list_trials,
    random_mixes,
    sample_trials,
)
from wireproof_kit.selftest.trial import run_trial
from wireproof_spec.clauses.loading import load_catalogue

pytestmark = pytest.mark.long

SEED = 1
FAULTS = list_trials("nsq", FAULT)
VARIANTS = tuple(each for each in list_trials("nsq", VARIANT) if each.kind == VARIANT)
SAMPLE = sample_trials((*FAULTS, *VARIANTS, *random_mixes(VARIANTS, seed=SEED)), seed=SEED)
FEW = tuple({(trial.kind, trial.way): trial for trial in reversed(SAMPLE)}.values())
KINDS = {"must": 3, "should": 1}
ACCUSED_ONCE = (("duplicates", "nsq/dispatch/first-message"),)
"""Legal variants, and the cases that failed against them although the texts allow the variant."""
WAYS = {"missing", "boundary", "wrong-value", "extra", "condition", "late"}


def name(trial: Trial) -> str:
    return trial.name


@pytest.fixture(scope="module")
def fork_server() -> Iterator[BrokerForkServer]:
    with BrokerForkServer("nsq") as started:
        yield started


@pytest.mark.process
@pytest.mark.parametrize("trial", FEW, ids=name)
def test_faults_die_and_what_is_legal_lives(trial: Trial, fork_server: BrokerForkServer) -> None:
    """A mix of variants meets every case here; the others as many as when all are tried."""
    trial = msgspec.structs.replace(trial, every=trial.kind == MIX)
    with fork_server.reference(trial.options()) as url:
        seen = run_trial(trial, url, "nsq", collect("nsq"))
    assert seen.survived == ()
    assert seen.unexpected == ()
    assert seen.cases > (1000 if trial.every else 0)


@pytest.mark.process
@pytest.mark.parametrize(("variant", "cases"), ACCUSED_ONCE)
def test_what_was_accused_once_is_not_again(
    variant: str, cases: str, fork_server: BrokerForkServer
) -> None:
    trial = Trial(variant, VARIANT, (variant,))
    asked = [each for each in collect("nsq") if each.id.startswith(cases)]
    with fork_server.reference(trial.options()) as url:
        seen = run_trial(trial, url, "nsq", asked)
    assert seen.cases == len(asked) > 0
    assert seen.unexpected == ()


def test_the_few_are_of_every_way() -> None:
    assert {trial.way for trial in FEW if trial.kind == FAULT} == WAYS
    assert {trial.kind for trial in FEW} == {trial.kind for trial in SAMPLE}


def test_every_tested_clause_has_its_kinds_of_fault() -> None:
    ways: dict[str, set[str]] = defaultdict(set)
    for fault in FAULTS:
        for clause in fault.breaks:
            ways[clause].add(fault.way)
    short = {
        clause.id
        for clause in load_catalogue("nsq").for_target(is_client=False).clauses()
        if clause.status == "tested" and len(ways[clause.id]) < KINDS.get(clause.level, 0)
    }
    assert short == set()


def test_every_fault_says_in_what_way_it_is_wrong() -> None:
    assert [fault.name for fault in FAULTS if fault.way not in WAYS] == []


def test_names_are_unique_and_clauses_known() -> None:
    names = [trial.name for trial in (*FAULTS, *VARIANTS)]
    assert len(names) == len(set(names))
    known = {clause.id for clause in load_catalogue("nsq").clauses()}
    assert {c for fault in FAULTS for c in (*fault.breaks, *fault.may_break)} <= known


def test_there_are_enough_variants_and_mixes() -> None:
    assert len(VARIANTS) >= 25
    every = random_mixes(VARIANTS, seed=SEED)
    assert len({mix.switches for mix in every}) == 50


def test_a_mix_holds_only_what_goes_together() -> None:
    apart = {variant.name: variant.not_with for variant in VARIANTS}
    for mix in random_mixes(VARIANTS, seed=SEED):
        assert len(mix.switches) >= 2
        assert not _together_in_conflict(mix.switches, apart)


def _together_in_conflict(names: Sequence[str], apart: dict[str, tuple[str, ...]]) -> bool:
    return any(other in apart[each] for each in names for other in names)
