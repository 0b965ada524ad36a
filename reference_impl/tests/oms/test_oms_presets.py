"""Faults and variants of the OpenMessaging reference: complete, and none without an effect."""

import re
from collections import defaultdict
from collections.abc import Sequence

import pytest
from check_each import check_each
from oms_sessions import transcript

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.oms.presets import FAULTS, VARIANTS, build, overrides
from wireproof_reference_impl.preset import ALTERNATIVE, CLAUSE, PARSER, VARIANT, WAYS, Preset
from wireproof_spec.clauses.loading import load_catalogue

EVERY = [*FAULTS.values(), *VARIANTS.values()]

EITHER_READING = {"oms.expire.base"}
"""Both readings of expireTime conform; who discards nothing breaks another clause."""


def test_every_preset_is_named_and_described() -> None:
    assert {preset.name: wrong for preset in EVERY if (wrong := _wrong(preset))} == {}


def _wrong(preset: Preset) -> list[str]:
    """Return what of a preset is not as it should be; the text of a fault is a sentence."""
    end = "." if preset.name in FAULTS else ""
    right = {
        "name": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset.name),
        "text": re.fullmatch(r"[^\t\n]+[^.\t\n]", preset.text.removesuffix(end)),
        "kind": preset.kind in (CLAUSE, PARSER, VARIANT, ALTERNATIVE),
        "way": (preset.way in WAYS) == bool(preset.breaks) == (preset.kind == CLAUSE),
    }
    return [part for part, is_right in right.items() if not is_right]


def test_names_are_unique() -> None:
    families = [preset.name for preset in EVERY]
    assert len(families) == len({*families})


def test_clauses_of_faults_exist_and_those_that_must_hold_have_three() -> None:
    clauses = [*load_catalogue("oms").clauses()]
    named = {name for preset in FAULTS.values() for name in preset.breaks}
    assert named <= {each.id for each in clauses}
    breaking = defaultdict[str, set[str]](set)
    for preset in FAULTS.values():
        for clause in preset.breaks:
            breaking[clause].add(preset.name)
    lacking = {
        each.id: sorted(breaking[each.id])
        for each in clauses
        if each.level == "must" and each.role == "server" and len(breaking[each.id]) < 3
    }
    assert lacking.keys() == EITHER_READING


@pytest.fixture(scope="module")
def plain() -> Sequence[object]:
    return transcript()


def test_a_session_without_faults_is_always_the_same(plain: Sequence[object]) -> None:
    assert transcript() == plain


@pytest.mark.slow
@check_each([name for name, preset in FAULTS.items() if preset.kind == CLAUSE])
def test_every_fault_shows(name: str, plain: Sequence[object]) -> None:
    assert transcript(faults=[name]) != plain


@check_each([*VARIANTS])
def test_every_variant_shows(name: str, plain: Sequence[object]) -> None:
    assert transcript(variants=[name]) != plain


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(BadOption, match="did you mean 'delay-ignored'"):
        build(fault_names=["delay-ignred"], variant_names=[])
    with pytest.raises(BadOption, match="did you mean 'counts-from-0'"):
        overrides([], ["counts-from-1"])
