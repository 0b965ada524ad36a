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
from wireproof_reference_impl.iggy.faulty.clients.apache import batches, requests
from wireproof_reference_impl.iggy.faulty.clients.apache import reading as apache_reading
from wireproof_reference_impl.iggy.faulty.clients.apache import trouble as apache_trouble
from wireproof_reference_impl.iggy.variants import apache_clients, clients
from wireproof_reference_impl.preset import Preset

_FAMILIES = (
    *(reading, framing, verifying, trouble, sending, parsing),
    *(requests, batches, apache_reading, apache_trouble),
)

FAULTS: Mapping[str, Preset] = {
    each.name: each for each in chain.from_iterable(family.FAULTS for family in _FAMILIES)
}
VARIANTS: Mapping[str, Preset] = {
    each.name: each for each in (*clients.VARIANTS, *apache_clients.VARIANTS)
}
