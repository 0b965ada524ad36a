"""Faults and variants of the example client by name."""

from collections.abc import Mapping
from itertools import chain

from wireproof_reference_impl.iggy.faulty.clients import (
    framing,
    parsing,
    reading,
    sending,
    trouble,
    verifying,
)
from wireproof_reference_impl.iggy.variants import clients
from wireproof_reference_impl.preset import Preset

_FAMILIES = (reading, framing, verifying, trouble, sending, parsing)

FAULTS: Mapping[str, Preset] = {
    each.name: each for each in chain.from_iterable(family.FAULTS for family in _FAMILIES)
}
VARIANTS: Mapping[str, Preset] = {each.name: each for each in clients.VARIANTS}
