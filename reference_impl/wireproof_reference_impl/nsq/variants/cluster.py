"""Legal variants of clusters."""

from wireproof_reference_impl.preset import Preset, variant
from wireproof_spec.nsq import error_codes


def _far_id(first: int, due: int) -> int:
    return due + (1000 if due > first else 0)


VARIANTS: tuple[Preset, ...] = (
    variant(
        "move-leaps-ids",
        "a node that became leader skips a thousand internal ids",
        {"cluster.next_id": _far_id},
    ),
    variant(
        "stranger-says-not-leader",
        "a node that holds no copy of a partition refuses a publish as if another node led it",
        {"cluster.absent": error_codes.E_FAILED_ON_NOT_LEADER},
    ),
)
