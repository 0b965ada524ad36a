"""The rows of faults of the example NSQ client."""

from wireproof_reference_impl.client_faults import Rows, constant, die
from wireproof_reference_impl.overrides import around

__all__ = ["around", "boundary", "condition", "constant", "die", "extra", "missing", "wrong_value"]

_ROWS = Rows("smart.", "ext.", "smart.")
missing, boundary, wrong_value = _ROWS.missing, _ROWS.boundary, _ROWS.wrong_value
extra, condition = _ROWS.extra, _ROWS.condition
