"""Permitted alternatives: the other way wherever the texts leave a choice to the broker."""

from wireproof_reference_impl.nsq.variants.alternatives import (
    commands,
    connections,
    delivery,
    lookups,
    positions,
    publishing,
    services,
    unstated,
)
from wireproof_reference_impl.preset import Preset

ALTERNATIVES: tuple[Preset, ...] = (
    *positions.ALTERNATIVES,
    *commands.ALTERNATIVES,
    *connections.ALTERNATIVES,
    *publishing.ALTERNATIVES,
    *delivery.ALTERNATIVES,
    *services.ALTERNATIVES,
    *lookups.ALTERNATIVES,
    *unstated.ALTERNATIVES,
)
