"""The proof of the judge for Iggy: a fault of each way to be wrong, and what is legal.

`make selftest SAMPLE=1` tries a fault of each clause, `make selftest` all of them.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec
import pytest

from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.runner.collect import collect
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    MIX,
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
FAULTS = list_trials(PROTOCOL, FAULT)
LEGAL = list_trials(PROTOCOL, VARIANT)
VARIANTS = [trial for trial in LEGAL if trial.kind == VARIANT]
TOGETHER = joint_trials([trial for trial in LEGAL if trial.kind == ALTERNATIVE])
SAMPLE = sample_trials((*FAULTS, *VARIANTS, *random_mixes(VARIANTS, seed=SEED)), seed=SEED)
FEW = (*{(trial.kind, trial.way): trial for trial in reversed(SAMPLE)}.values(), *TOGETHER)
WHOLE = (MIX, ALTERNATIVE)
"""Mixes of variants or alternatives meet every case; the others a sample of them."""
KINDS = {"must": 3, "should": 1, "observed": 1}
NOT_PUBLISHED = {"login"}
"""Needs of the tagged generation only; the selftest runs the published one."""
KINDS_OF_APACHE = {"must": 1}
"""The same of generation apache, whose faults are fewer."""
CASES = 480
"""A trial of every case has more than so many; generation apache has the fewest."""


def name(trial: Trial) -> str:
    return trial.name


@pytest.fixture(scope="module")
def fork_server() -> Iterator[BrokerForkServer]:
    with BrokerForkServer(PROTOCOL) as started:
        yield started


@pytest.mark.process
@pytest.mark.parametrize("trial", [trial for trial in FEW if trial.kind not in WHOLE], ids=name)
def test_faults_die_and_what_is_legal_lives(trial: Trial, fork_server: BrokerForkServer) -> None:
    judge(trial, fork_server)


def judge(trial: Trial, fork_server: BrokerForkServer) -> None:
    """Run the cases of a trial; each fault must be detected, and nothing legal may fail."""
    trial = msgspec.structs.replace(trial, every=trial.kind in WHOLE)
    with fork_server.reference(trial.options()) as url:
        seen = run_trial(trial, url, PROTOCOL, collect(PROTOCOL))
    assert seen.survived == ()
    assert seen.unexpected == ()
    assert seen.cases > (CASES if trial.every else 0)


def test_every_tested_clause_has_its_kinds_of_fault() -> None:
    ways: dict[str, set[str]] = defaultdict(set)
    for fault in FAULTS:
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


def test_names_are_unique_and_clauses_known() -> None:
    names = [trial.name for trial in (*FAULTS, *LEGAL)]
    assert len(names) == len(set(names))
    known = {clause.id for clause in load_catalogue(PROTOCOL).clauses()}
    assert {c for fault in FAULTS for c in (*fault.breaks, *fault.may_break)} <= known
