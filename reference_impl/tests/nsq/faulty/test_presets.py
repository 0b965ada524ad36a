"""Faults and variants as tables: complete, well-formed, and none without an effect."""

import re
from collections import defaultdict

import pytest

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.nsq import presets
from wireproof_reference_impl.nsq.behaviour import Behaviour, change_settings
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED
from wireproof_reference_impl.nsq.presets import FAULTS, VARIANTS
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.preset import ALTERNATIVE, CLAUSE, PARSER, VARIANT, Preset
from wireproof_spec.clauses.loading import load_catalogue

EVERY = [*FAULTS.values(), *VARIANTS.values()]


def test_every_preset_changes_the_behaviour() -> None:
    unchanged = [
        preset.name
        for preset in EVERY
        if not (preset.settings or preset.overrides)
        or (preset.settings and change_settings(Behaviour(), preset.settings) == Behaviour())
    ]
    assert unchanged == []


def test_every_override_can_be_put_in_place_and_taken_back() -> None:
    for preset in EVERY:
        with apply_overrides(preset.overrides):
            in_place = [vars(each.owner)[each.name] for each in preset.overrides]
        taken_back = [vars(each.owner)[each.name] for each in preset.overrides]
        assert not set(map(id, in_place)) & set(map(id, taken_back)), preset.name


def test_every_preset_is_named_and_described() -> None:
    assert {preset.name: wrong for preset in EVERY if (wrong := _wrong(preset))} == {}


def _wrong(preset: Preset) -> list[str]:
    """Return what of a preset is not as it should be; the text of a fault is a sentence."""
    end = "." if preset.name in FAULTS else ""
    right = {
        "name": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset.name),
        "text": re.fullmatch(r"[^\t\n]+[^.\t\n]", preset.text.removesuffix(end)),
        "kind": preset.kind in (CLAUSE, PARSER, VARIANT, ALTERNATIVE),
        "breaks": bool(preset.breaks) == (preset.kind == CLAUSE),
        "prefix": (preset.kind == PARSER) == preset.name.startswith("parser-"),
    }
    return [part for part, is_right in right.items() if not is_right]


def test_names_are_unique() -> None:
    assert not FAULTS.keys() & VARIANTS.keys()
    assert len(VARIANTS) >= 15


def test_every_clause_in_scope_has_its_faults() -> None:
    breaking = defaultdict(set)
    for preset in FAULTS.values():
        for clause in preset.breaks:
            breaking[clause].add(preset.name)
    least = {"must": 3, "should": 1}
    law = load_catalogue("nsq").for_target(is_client=False)
    clauses = [each for each in law.clauses() if each.id.startswith("ext.")]
    known = {each.id for each in load_catalogue("nsq").clauses()}
    lacking = {
        each.id: len(breaking[each.id])
        for each in clauses
        if each.status == "tested" and len(breaking[each.id]) < least.get(each.level, 0)
    }

    assert lacking == {}
    named = {name for preset in FAULTS.values() for name in preset.breaks}
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
    with pytest.raises(BadOption, match=r"is called 'late-latr' \(--list-faults shows all\)"):
        presets.build(PUBLISHED, fault_names=["late-latr"], variant_names=[])
    with pytest.raises(BadOption, match="no variant is called"):
        presets.build(PUBLISHED, fault_names=[], variant_names=["?"])


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(KeyError):
        change_settings(Behaviour(), {"publish.nothing": 1})
    with pytest.raises(KeyError):
        change_settings(Behaviour(), {"nothing": 1})
