"""The protocol numbers that the kit knows, one module for each."""

from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.envelopes.v0_11 import V0_11
from wireproof_spec.iggy.apache.envelopes.v0_12 import V0_12

ENVELOPES: dict[str, Envelope] = {each.number: each for each in (V0_11, V0_12)}
"""By number; the first is that of the published pages and of the recorded bytes."""

OWN: Envelope = V0_11
"""The number that the kit speaks unless it is told another one."""
