"""The proof of the judge, as tests: a fault of each way to be wrong, a variant and a mix.

`make selftest SAMPLE=1` tries a fault of each clause, `make selftest` all of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
KINDS = {"must": 3, "should": 1}
ACCUSED_ONCE = (("duplicates", "nsq/dispatch/first-message"),)
"""Legal variants, and the cases that failed against them although the texts allow the variant."""
WAYS = {"missing", "boundary", "wrong-value", "extra", "condition", "late"}


class Trials(NamedTuple):
    """The trials of the reference, and those of them that the tests try."""

    faults: tuple[Trial, ...]
    variants: tuple[Trial, ...]
    few: tuple[Trial, ...]


@pytest.fixture(scope="module")
def trials() -> Trials:
    """Ask the reference for its faults: a parameter of a test would ask in every worker."""
    faults = list_trials("nsq", FAULT)
    variants = tuple(each for each in list_trials("nsq", VARIANT) if each.kind == VARIANT)
    sample = sample_trials((*faults, *variants, *random_mixes(variants, seed=SEED)), seed=SEED)
    few = {(trial.kind, trial.way): trial for trial in reversed(sample)}
    return Trials(faults, variants, tuple(few.values()))


@pytest.fixture(scope="module")
def fork_server() -> Iterator[BrokerForkServer]:
    with BrokerForkServer("nsq") as started:
        yield started


@pytest.mark.process
def test_faults_die_and_what_is_legal_lives(
    trials: Trials, fork_server: BrokerForkServer, subtests: pytest.Subtests
) -> None:
    """Each meets as many cases as when all are tried; `make matrix` lets a mix meet every case."""
    assert {trial.way for trial in trials.few if trial.kind == FAULT} == WAYS
    assert {trial.kind for trial in trials.few} == {FAULT, VARIANT, MIX}
    for few in trials.few:
        trial = msgspec.structs.replace(few, every=False)
        with subtests.test(trial.name), fork_server.reference(trial.options()) as url:
            seen = run_trial(trial, url, "nsq", collect("nsq"))
            assert seen.survived == ()
            assert seen.unexpected == ()
            assert seen.cases > (0 if trial.kind == FAULT else 200)


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


@pytest.mark.process
def test_every_tested_clause_has_its_kinds_of_fault(trials: Trials) -> None:
    ways: dict[str, set[str]] = defaultdict(set)
    for fault in trials.faults:
        for clause in fault.breaks:
            ways[clause].add(fault.way)
    short = {
        clause.id
        for clause in load_catalogue("nsq").for_target(is_client=False).clauses()
        if clause.status == "tested" and len(ways[clause.id]) < KINDS.get(clause.level, 0)
    }
    assert short == set()


@pytest.mark.process
def test_every_fault_says_in_what_way_it_is_wrong(trials: Trials) -> None:
    assert [fault.name for fault in trials.faults if fault.way not in WAYS] == []


@pytest.mark.process
def test_names_are_unique_and_clauses_known(trials: Trials) -> None:
    names = [trial.name for trial in (*trials.faults, *trials.variants)]
    assert len(names) == len(set(names))
    known = {clause.id for clause in load_catalogue("nsq").clauses()}
    assert {c for fault in trials.faults for c in (*fault.breaks, *fault.may_break)} <= known


@pytest.mark.process
def test_there_are_enough_variants_and_mixes(trials: Trials) -> None:
    assert len(trials.variants) >= 25
    every = random_mixes(trials.variants, seed=SEED)
    assert len({mix.switches for mix in every}) == 50


@pytest.mark.process
def test_a_mix_holds_only_what_goes_together(trials: Trials) -> None:
    apart = {variant.name: variant.not_with for variant in trials.variants}
    for mix in random_mixes(trials.variants, seed=SEED):
        assert len(mix.switches) >= 2
        assert not _together_in_conflict(mix.switches, apart)


def _together_in_conflict(names: Sequence[str], apart: dict[str, tuple[str, ...]]) -> bool:
    return any(other in apart[each] for each in names for other in names)
