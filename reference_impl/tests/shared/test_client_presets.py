"""Faults and variants of the example clients as tables: complete, and none without an effect."""

from collections import Counter
from collections.abc import Mapping

import pytest

from wireproof_reference_impl.iggy import client_presets as iggy
from wireproof_reference_impl.nsq import client_presets as nsq
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.preset import Preset
from wireproof_spec.clauses.loading import load_catalogue

FAULTS: Mapping[str, Mapping[str, Preset]] = {"nsq": nsq.FAULTS, "iggy": iggy.FAULTS}
VARIANTS: Mapping[str, Mapping[str, Preset]] = {"nsq": nsq.VARIANTS, "iggy": iggy.VARIANTS}
of_each_protocol = pytest.mark.parametrize("protocol", FAULTS)


@of_each_protocol
def test_every_tested_clause_has_two_faults(protocol: str) -> None:
    breaking = Counter(clause for fault in FAULTS[protocol].values() for clause in fault.breaks)
    law = load_catalogue(protocol).for_target(is_client=True)
    tested = [clause.id for clause in law.clauses() if clause.status == "tested"]

    assert tested
    assert [clause for clause in tested if breaking[clause] < 2] == []


@of_each_protocol
def test_faults_name_clauses_of_clients(protocol: str) -> None:
    law = load_catalogue(protocol).for_target(is_client=True)
    known = {clause.id for clause in law.clauses()}
    named = {clause for fault in FAULTS[protocol].values() for clause in fault.breaks}
    assert named <= known


@of_each_protocol
def test_every_preset_has_overrides_that_can_be_put_in_place(protocol: str) -> None:
    for preset in (*FAULTS[protocol].values(), *VARIANTS[protocol].values()):
        assert preset.overrides or preset.settings, preset.name
        with apply_overrides(preset.overrides):
            pass
    assert not FAULTS[protocol].keys() & VARIANTS[protocol].keys()
