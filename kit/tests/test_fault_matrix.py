"""The proof of the judge: every fault dies, every variant lives.

Each fault of the reference must turn a case of each clause it declares red, and nothing else;
no legal variant may turn anything red. Faults are run against the cases of the clauses they
declare; `make matrix` runs them against every case.
"""

import os
from collections import Counter

import pytest

from wireproof_kit.instance import Instance
from wireproof_kit.rehearsal import Switch, rehearse, switches
from wireproof_spec.catalogue import load_catalogue

FAULTS = switches("nsq", "--list-faults")
VARIANTS = switches("nsq", "--list-variants")
FAULT_PATIENCE_S = 4.0
VARIANT_PATIENCE_S = 6.0
PER_LEVEL = {"must": 3, "should": 1}
WHOLE = os.environ.get("WIREPROOF_MATRIX") == "whole"


def name(switch: Switch) -> str:
    return switch.name


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_fault_dies(fault: Switch) -> None:
    def is_about(instance: Instance) -> bool:
        return WHOLE or instance.clause.id in fault.breaks

    rehearsal = rehearse("nsq", fault, option="--fault", wanted=is_about, timeout=FAULT_PATIENCE_S)
    assert rehearsal.survived() == set()
    assert [(r.case, r.verdict, r.reason) for r in rehearsal.unexpected()] == []


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_a_variant_lives(variant: Switch) -> None:
    rehearsal = rehearse(
        "nsq", variant, option="--variant", wanted=lambda _: True, timeout=VARIANT_PATIENCE_S
    )
    red = [r for r in rehearsal.records if r.verdict not in ("pass", "reading", "unsupported")]
    assert [(r.case, r.verdict, r.reason) for r in red] == []
    assert len(rehearsal.records) > 700


def test_every_tested_clause_has_its_kinds_of_fault() -> None:
    counts = Counter(clause for fault in FAULTS for clause in fault.breaks)
    short = [
        f"{clause.id}: {counts[clause.id]} of {PER_LEVEL[clause.level]}"
        for clause in load_catalogue("nsq").clauses()
        if clause.status == "tested" and counts[clause.id] < PER_LEVEL.get(clause.level, 0)
    ]
    assert short == []


def test_there_are_enough_variants_and_names_are_unique() -> None:
    assert len(VARIANTS) >= 15
    names = [switch.name for switch in (*FAULTS, *VARIANTS)]
    assert len(names) == len(set(names))


def test_switches_name_known_clauses() -> None:
    known = {clause.id for clause in load_catalogue("nsq").clauses()}
    assert {c for fault in FAULTS for c in (*fault.breaks, *fault.may_break)} <= known
