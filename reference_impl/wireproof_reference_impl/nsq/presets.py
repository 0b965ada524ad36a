"""Dialects, faults and variants by name, and the behaviour and overrides of a combination."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl import preset as preset_table
from wireproof_reference_impl.nsq import faulty, variants
from wireproof_reference_impl.nsq.behaviour import (
    Behaviour,
    change_settings,
    of_dialect,
)
from wireproof_reference_impl.nsq.core.commands import publish_pipelined
from wireproof_reference_impl.nsq.faulty.corners import RESTRICTED
from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_reference_impl.preset import LATE, Preset, find_preset


def _late_twin(preset: Preset) -> Preset | None:
    """Return the fault that delivers wrongly 3 s later than this one, or None."""
    if preset.late is None:
        return None
    return replace(
        preset,
        name=f"{preset.name}-late",
        text=f"3 s late, besides what is due: {preset.text}",
        settings=preset.late.settings,
        overrides=preset.late.overrides,
        way=LATE,
        late=None,
    )


FAULTS: Mapping[str, Preset] = {
    each.name: each
    for preset in faulty.FAULTS
    for each in (preset, _late_twin(preset))
    if each is not None
}
VARIANTS: Mapping[str, Preset] = {preset.name: preset for preset in variants.VARIANTS}


def _never_fits(behaviour: Behaviour) -> bool:
    return False


_ONE_BY_ONE = replace_function(publish_pipelined, "fits", _never_fits)


def conflicts(preset: Preset) -> tuple[str, ...]:
    """Return the names of variants that cannot be combined with a preset.

    They are declared, or have the same setting.
    """
    return preset_table.conflicts(preset, VARIANTS)


def build(dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]) -> Behaviour:
    """Return the behaviour of a dialect, changed by faults and variants.

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
    """Return the fault with this name, which may be restricted to a corner: `NAME@CORNER`."""
    return RESTRICTED.find(name, lambda own: find_preset(FAULTS, "fault", own))


def overrides(
    fault_names: Sequence[str], variant_names: Sequence[str] = ()
) -> tuple[Override, ...]:
    """Return the overrides of faults and variants, in the order in which to apply them.

    A broker with overrides reads each command by itself: pipelined publishes that are stored
    together would bypass most of the functions that faults replace.

    Raises:
        BadOption: a name that does not exist.
    """
    presets = [find_preset(VARIANTS, "variant", name) for name in variant_names]
    presets += [_fault(name) for name in fault_names]
    found = tuple(override for preset in presets for override in preset.overrides)
    return (_ONE_BY_ONE, *found) if found else ()
