"""Faults and variants of the example client by name."""

from collections.abc import Mapping
from itertools import chain

from wireproof_reference_impl.nsq.faulty.clients import (
    acknowledging,
    closing,
    connecting,
    consuming,
    finding,
    following,
    framing,
    handling,
    headers,
    ordering,
    parsing,
    publishing,
    several,
    sharding,
    tracing,
    unaltered,
)
from wireproof_reference_impl.nsq.variants import client_alternatives, client_reports, clients
from wireproof_reference_impl.preset import Preset

_FAMILIES = (
    connecting,
    framing,
    closing,
    finding,
    following,
    publishing,
    sharding,
    consuming,
    handling,
    acknowledging,
    ordering,
    headers,
    tracing,
    parsing,
    unaltered,
    several,
)

FAULTS: Mapping[str, Preset] = {
    each.name: each for each in chain.from_iterable(family.FAULTS for family in _FAMILIES)
}
VARIANTS: Mapping[str, Preset] = {
    each.name: each
    for each in (*clients.VARIANTS, *client_reports.VARIANTS, *client_alternatives.VARIANTS)
}
