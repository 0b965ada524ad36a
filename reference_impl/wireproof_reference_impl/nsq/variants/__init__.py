"""Legal variants of the NSQ reference, by the server that differs."""

from wireproof_reference_impl.nsq.variants import broker, cluster, lookup
from wireproof_reference_impl.nsq.variants.alternatives import ALTERNATIVES
from wireproof_reference_impl.preset import Preset

VARIANTS: tuple[Preset, ...] = (
    *broker.VARIANTS,
    *lookup.VARIANTS,
    *cluster.VARIANTS,
    *ALTERNATIVES,
)
