"""The streams and topics that fuzz cases use on a target."""

from dataclasses import dataclass

CASES_PREFIX = "wp_"
"""The prefix of stream names in cases; a case that may create another stream is hazardous."""


@dataclass(frozen=True, slots=True)
class Names:
    """The streams and topics of a campaign: one stream that is kept, and a scratch stream.

    The kept topic has `partitions` partitions, and a group that connections join. Cases delete
    things and add partitions only in the scratch stream, and may delete the scratch stream itself.
    """

    stream_id: int
    stream: str
    topic_id: int
    topic: str
    group_id: int
    scratch_id: int
    scratch: str
    partitions: int = 1
