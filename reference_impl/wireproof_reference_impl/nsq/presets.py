"""Dialects, faults and variants by name, and what a broker with some of them does otherwise."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl import preset as preset_table
from wireproof_reference_impl.nsq import faulty, variants
from wireproof_reference_impl.nsq.behaviour import (
    Behaviour,
    change_settings,
    of_dialect,
)
from wireproof_reference_impl.nsq.core.commands import publish_pipelined
from wireproof_reference_impl.nsq.faulty import corners
from wireproof_reference_impl.nsq.preset import late_twin
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_reference_impl.preset import Preset, find_preset

FAULTS: Mapping[str, Preset] = {
    each.name: each
    for preset in faulty.FAULTS
    for each in (preset, late_twin(preset))
    if each is not None
}
VARIANTS: Mapping[str, Preset] = {preset.name: preset for preset in variants.VARIANTS}


def _never_fits(behaviour: Behaviour) -> bool:
    return False


_ONE_BY_ONE = replace_function(publish_pipelined, "fits", _never_fits)


def conflicts(preset: Preset) -> tuple[str, ...]:
    """Return the variants that one is never mixed with: declared, or set the same thing."""
    return preset_table.conflicts(preset, VARIANTS)


def build(dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]) -> Behaviour:
    """Return the behaviour that a dialect, then faults and variants make.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = of_dialect(dialect)
    for name in fault_names:
        behaviour = change_settings(behaviour, _fault(name).settings)
    for name in variant_names:
        behaviour = change_settings(behaviour, find_preset(VARIANTS, "variant", name).settings)
    return behaviour


def _fault(name: str) -> Preset:
    """Return the fault of a name, which may be restricted to a corner: `NAME@CORNER`."""
    own, at, corner = name.partition(corners.SEPARATOR)
    preset = find_preset(FAULTS, "fault", own)
    return corners.cornered(preset, corner) if at else preset


def overrides(
    fault_names: Sequence[str], variant_names: Sequence[str] = ()
) -> tuple[Override, ...]:
    """Return what faults and variants replace in the core, in the order of replacement.

    A broker with overrides reads each command by itself: publishes that are taken together would
    pass most of the functions by that a fault replaces.

    Raises:
        BadOption: a name that does not exist.
    """
    presets = [find_preset(VARIANTS, "variant", name) for name in variant_names]
    presets += [_fault(name) for name in fault_names]
    found = tuple(override for preset in presets for override in preset.overrides)
    return (_ONE_BY_ONE, *found) if found else ()
