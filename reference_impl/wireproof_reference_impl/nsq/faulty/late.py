"""Faults that do wrongly 3 s later what they should not do at all."""

from typing import Final

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.overrides import Original, Override, around

LATE_NS: Final = 3_000_000_000
"""Long enough that whoever waits for an answer or a sentinel has stopped waiting."""


class ServeTime:
    """The time at which a channel was last told to send what it can."""

    def __init__(self) -> None:
        self.now_ns = 0

    def noted(self) -> Override:
        """Return the override that notes the time."""

        def serve(original: Original, channel: Channel, now_ns: int) -> None:
            self.now_ns = now_ns
            original(channel, now_ns)

        return around(Channel, "serve", serve)
