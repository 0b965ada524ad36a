"""The proof of the judge for Iggy: a fault of each way to be wrong, and what is legal.

`make selftest SAMPLE=1` tries a fault of each clause, `make selftest` all of them. In `make
matrix` a mix meets every case.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import pytest

from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.runner.collect import collect
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    VARIANT,
    Trial,
    joint_trials,
    list_trials,
    random_mixes,
    sample_trials,
)
from wireproof_kit.selftest.trial import run_trial
from wireproof_spec.clauses.catalogue import Clause
from wireproof_spec.clauses.loading import load_catalogue

pytestmark = pytest.mark.long

PROTOCOL = "iggy"
SEED = 1
KINDS = {"must": 3, "should": 1, "observed": 1}
NOT_PUBLISHED = {"login"}
"""Needs of the tagged generation only; the selftest runs the published one."""
KINDS_OF_APACHE = {"must": 1}
"""The same of generation apache, whose faults are fewer."""
CASES = 60
"""A trial of what is legal has more than so many cases; generation apache has the fewest."""


class Trials(NamedTuple):
    """The trials of the reference, and those of them that the tests try."""

    faults: tuple[Trial, ...]
    legal: tuple[Trial, ...]
    few: tuple[Trial, ...]


@pytest.fixture(scope="module")
def trials() -> Trials:
    """Ask the reference for its faults: a parameter of a test would ask in every worker."""
    faults, legal = list_trials(PROTOCOL, FAULT), list_trials(PROTOCOL, VARIANT)
    variants = [trial for trial in legal if trial.kind == VARIANT]
    together = joint_trials([trial for trial in legal if trial.kind == ALTERNATIVE])
    sample = sample_trials((*faults, *variants, *random_mixes(variants, seed=SEED)), seed=SEED)
    few = {(trial.kind, trial.way): trial for trial in reversed(sample)}
    return Trials(faults, legal, (*few.values(), *together))


@pytest.fixture(scope="module")
def fork_server() -> Iterator[BrokerForkServer]:
    with BrokerForkServer(PROTOCOL) as started:
        yield started


@pytest.mark.process
def test_faults_die_and_what_is_legal_lives(
    trials: Trials, fork_server: BrokerForkServer, subtests: pytest.Subtests
) -> None:
    for each in trials.few:
        trial = msgspec.structs.replace(each, every=False)
        with subtests.test(trial.name), fork_server.reference(trial.options()) as url:
            seen = run_trial(trial, url, PROTOCOL, collect(PROTOCOL))
            assert seen.survived == ()
            assert seen.unexpected == ()
            assert seen.cases > (0 if trial.kind == FAULT else CASES)


@pytest.mark.process
def test_every_tested_clause_has_its_kinds_of_fault(trials: Trials) -> None:
    ways: dict[str, set[str]] = defaultdict(set)
    for fault in trials.faults:
        for clause in fault.breaks:
            ways[clause].add(fault.way)
    short = [
        f"{clause.id} ({clause.level}): {', '.join(sorted(ways[clause.id])) or 'no fault'}"
        for clause in load_catalogue(PROTOCOL).for_target(is_client=False).clauses()
        if clause.status == "tested"
        and NOT_PUBLISHED.isdisjoint(clause.needs)
        and len(ways[clause.id]) < _kinds(clause).get(clause.level, 0)
    ]
    assert short == []


def _kinds(clause: Clause) -> dict[str, int]:
    return KINDS_OF_APACHE if "apache" in clause.needs else KINDS


@pytest.mark.process
def test_names_are_unique_and_clauses_known(trials: Trials) -> None:
    names = [trial.name for trial in (*trials.faults, *trials.legal)]
    assert len(names) == len(set(names))
    known = {clause.id for clause in load_catalogue(PROTOCOL).clauses()}
    assert {c for fault in trials.faults for c in (*fault.breaks, *fault.may_break)} <= known
