"""Faults and variants of the example client by name, and the overrides of a combination."""

from collections.abc import Mapping, Sequence
from itertools import chain

from wireproof_reference_impl.nsq.faulty.clients import (
    closing,
    connecting,
    consuming,
    finding,
    following,
    handling,
    headers,
    ordering,
    parsing,
    publishing,
    sharding,
    tracing,
)
from wireproof_reference_impl.nsq.variants import clients
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import Preset, find_preset

_FAMILIES = (
    connecting,
    closing,
    finding,
    following,
    publishing,
    sharding,
    consuming,
    handling,
    ordering,
    headers,
    tracing,
    parsing,
)

FAULTS: Mapping[str, Preset] = {
    each.name: each for each in chain.from_iterable(family.FAULTS for family in _FAMILIES)
}
VARIANTS: Mapping[str, Preset] = {each.name: each for each in clients.VARIANTS}


def overrides(fault_names: Sequence[str], variant_names: Sequence[str]) -> tuple[Override, ...]:
    """Return the overrides of faults and variants, in the order in which to apply them.

    Raises:
        BadOption: a name that does not exist.
    """
    presets = [find_preset(VARIANTS, "variant", name) for name in variant_names]
    presets += [find_preset(FAULTS, "fault", name) for name in fault_names]
    return tuple(override for preset in presets for override in preset.overrides)
