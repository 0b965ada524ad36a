"""Faults and variants of the example client by name."""

from collections.abc import Mapping

from wireproof_reference_impl.preset import Preset

FAULTS: Mapping[str, Preset] = {}
VARIANTS: Mapping[str, Preset] = {}
