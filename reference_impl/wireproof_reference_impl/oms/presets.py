"""Named changes of the reference: faults and variants."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.faulty import (
    attributes,
    counting,
    delay,
    documents,
    expiry,
    headers,
    message,
    once,
    parsing,
    partitions,
    priority,
    properties,
    store,
    transactions,
)
from wireproof_reference_impl.oms.faulty.corners import RESTRICTED
from wireproof_reference_impl.oms.variants import choices
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import Preset, find_preset
from wireproof_reference_impl.settings import change_settings

FAULTS: Mapping[str, Preset] = {
    preset.name: preset
    for family in (
        delay,
        expiry,
        counting,
        priority,
        partitions,
        attributes,
        properties,
        headers,
        transactions,
        store,
        message,
        once,
        documents,
        parsing,
    )
    for preset in family.FAULTS
}
VARIANTS: Mapping[str, Preset] = {preset.name: preset for preset in choices.VARIANTS}


def build(*, fault_names: Sequence[str], variant_names: Sequence[str]) -> Behaviour:
    """Return the server's behaviour with these faults and variants.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = Behaviour()
    for preset in _find(fault_names, variant_names):
        behaviour = change_settings(behaviour, preset.settings)
    return behaviour


def overrides(fault_names: Sequence[str], variant_names: Sequence[str]) -> tuple[Override, ...]:
    """Return the overrides of faults and variants in the order in which to apply them.

    Raises:
        BadOption: a name that does not exist.
    """
    found = _find(fault_names, variant_names)
    return tuple(override for preset in found for override in preset.overrides)


def _find(fault_names: Sequence[str], variant_names: Sequence[str]) -> list[Preset]:
    faults = [RESTRICTED.find(name, _fault) for name in fault_names]
    return faults + [find_preset(VARIANTS, "variant", name) for name in variant_names]


def _fault(name: str) -> Preset:
    return find_preset(FAULTS, "fault", name)
