"""Faults of heartbeats: they stay out, or nobody minds that they are not answered."""

from wireproof_reference_impl.nsq.core.heartbeat import Heartbeat
from wireproof_reference_impl.nsq.preset import Preset, missing
from wireproof_reference_impl.overrides import replace_function

_HEARTBEAT = "smart.connection.heartbeat"


def _do_nothing(heartbeat: Heartbeat, now_ns: int) -> None:
    """Do nothing."""


FAULTS: tuple[Preset, ...] = (
    missing(
        "heartbeat-never",
        "no heartbeat is ever sent",
        breaks=_HEARTBEAT,
        overrides=(replace_function(Heartbeat, "_arm", _do_nothing),),
    ),
    missing(
        "heartbeat-unanswered-tolerated",
        "a client that answers no heartbeat stays connected",
        breaks=_HEARTBEAT,
        overrides=(replace_function(Heartbeat, "_check_silence", _do_nothing),),
    ),
)
