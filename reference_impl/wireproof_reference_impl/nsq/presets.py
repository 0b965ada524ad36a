"""Named settings of the behaviour table: dialects, faults and variants."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl import preset as preset_table
from wireproof_reference_impl.nsq import faults, variants
from wireproof_reference_impl.nsq.behaviour import (
    Behaviour,
    changed,
    of_dialect,
)
from wireproof_reference_impl.nsq.preset import late_twin
from wireproof_reference_impl.preset import Preset, named

FAULTS: Mapping[str, Preset] = {
    each.name: each
    for preset in faults.FAULTS
    for each in (preset, late_twin(preset))
    if each is not None
}
VARIANTS: Mapping[str, Preset] = {preset.name: preset for preset in variants.VARIANTS}


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
        behaviour = changed(behaviour, named(FAULTS, "fault", name).settings)
    for name in variant_names:
        behaviour = changed(behaviour, named(VARIANTS, "variant", name).settings)
    return behaviour
