"""The streams and topics that fuzz cases use on a target."""

from dataclasses import dataclass

CASES_PREFIX = "wp_"
"""Streams of cases begin so; a case that may make another one is hazardous."""


@dataclass(frozen=True, slots=True)
class Names:
    """The stream and topic of a campaign that are kept, and a stream that cases may change.

    The topic has `partitions`, and a group that connections join. What cases delete, or make
    partitions in, lies in the scratch stream alone, which may also be missing.
    """

    stream_id: int
    stream: str
    topic_id: int
    topic: str
    group_id: int
    scratch_id: int
    scratch: str
    partitions: int = 1
