"""Faults and variants as tables: complete, well-formed, and none without an effect."""

import re
from collections import defaultdict

import pytest

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.behaviour import Behaviour, changed
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED
from wireproof_reference_impl.nsq.preset import CLAUSE, PARSER, VARIANT, Preset
from wireproof_reference_impl.nsq.presets import FAULTS, VARIANTS
from wireproof_reference_impl.overrides import applied
from wireproof_spec.catalogue import load_catalogue

EVERY = [*FAULTS.values(), *VARIANTS.values()]


@pytest.mark.parametrize("preset", EVERY, ids=lambda preset: preset.name)
def test_every_preset_changes_the_behaviour(preset: Preset) -> None:
    assert preset.settings or preset.overrides
    assert changed(Behaviour(), preset.settings) != Behaviour() or not preset.settings
    with applied(preset.overrides):
        pass


@pytest.mark.parametrize("preset", EVERY, ids=lambda preset: preset.name)
def test_every_preset_is_named_and_described(preset: Preset) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset.name)
    assert re.fullmatch(r"[^\t\n]+[^.\t\n]", preset.text)
    assert preset.kind in (CLAUSE, PARSER, VARIANT)
    assert bool(preset.breaks) == (preset.kind == CLAUSE)
    assert (preset.kind == PARSER) == preset.name.startswith("parser-")
    assert not set(preset.breaks) & set(preset.may_break)


def test_names_are_unique() -> None:
    assert not FAULTS.keys() & VARIANTS.keys()
    assert len(VARIANTS) >= 15


def test_every_clause_in_scope_has_its_faults() -> None:
    breaking = defaultdict(set)
    for preset in FAULTS.values():
        for clause in preset.breaks:
            breaking[clause].add(preset.name)
    least = {"must": 3, "should": 1}
    clauses = [each for each in load_catalogue("nsq").clauses() if each.id.startswith("ext.")]
    known = {each.id for each in load_catalogue("nsq").clauses()}
    lacking = {
        each.id: len(breaking[each.id])
        for each in clauses
        if each.status == "tested" and len(breaking[each.id]) < least.get(each.level, 0)
    }

    assert lacking == {}
    named = {name for preset in FAULTS.values() for name in (*preset.breaks, *preset.may_break)}
    assert named <= known


def test_presets_are_put_on_top_of_each_other() -> None:
    both = presets.build(
        DEPLOYED, fault_names=["ok-empty"], variant_names=["id-gaps", "ext-version-1"]
    )
    deployed = presets.build(DEPLOYED, fault_names=[], variant_names=[])

    assert (both.publish.id_step, both.publish.ext_version) == (7, 1)
    assert both.order == deployed.order
    assert presets.build(PUBLISHED, fault_names=[], variant_names=[]) == Behaviour()


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(BadOption, match="did you mean 'trace-little-endian'"):
        presets.build(PUBLISHED, fault_names=["trace-litle-endian"], variant_names=[])
    with pytest.raises(BadOption, match="no variant is called"):
        presets.build(PUBLISHED, fault_names=[], variant_names=["?"])


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(KeyError):
        changed(Behaviour(), {"publish.nothing": 1})
    with pytest.raises(KeyError):
        changed(Behaviour(), {"nothing": 1})
