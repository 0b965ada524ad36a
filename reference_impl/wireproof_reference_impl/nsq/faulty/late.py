"""Faults that do something forbidden 3 s late."""

from typing import Final

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.overrides import Original, Override, around

LATE_NS: Final = 3_000_000_000
"""Long enough that whoever waits for an answer or a sentinel has stopped waiting."""


class ServeTime:
    """Records the time at which a channel last served its clients, for late faults."""

    def __init__(self) -> None:
        self.now_ns = 0

    def note_time(self) -> Override:
        """Return the override that records the time at each serving."""

        def serve(original: Original, channel: Channel, now_ns: int) -> None:
            self.now_ns = now_ns
            original(channel, now_ns)

        return around(Channel, "serve", serve)
