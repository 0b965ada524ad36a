"""What cases name on a target."""

from dataclasses import dataclass

CASES_PREFIX = "wp_"
"""Streams of cases begin so; a case that may make another one is hazardous."""


@dataclass(frozen=True, slots=True)
class Names:
    """What was made for a campaign: a stream with a topic that is kept, and one to play with.

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
