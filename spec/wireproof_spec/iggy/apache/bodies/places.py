"""Which partition a request means: partitioning of a send, optional partition of other requests.

Identifiers are those of the other generations, consumers those of generation `tagged`.
"""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Field, Int8ub, Int32ul, Ranged, Record, field
from wireproof_spec.grammar.lengths import BoundsBy, Declared
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.kinds import BALANCED, MESSAGES_KEY, PARTITION_ID


class OptionalPartition(Struct, frozen=True, gc=False):
    """A partition id that may be left out: `flag` is 1 for a set id; for 0 the id is 0 too."""

    flag: int
    partition_id: int


ANY_PARTITION = OptionalPartition(0, 0)


def one_partition(number: int) -> OptionalPartition:
    """Return the partition id of a request that names one; partitions count from 0."""
    return OptionalPartition(1, number)


_BOUNDS = BoundsBy("kind", {BALANCED: (0, 0), PARTITION_ID: (4, 4), MESSAGES_KEY: (1, 255)})

PARTITIONING = Schema(
    "apache partitioning",
    "iggy.apache.send.metadata-length",
    Partitioning,
    Record(
        Partitioning,
        field("kind", Ranged(Int8ub, BALANCED, MESSAGES_KEY)),
        field("length", Declared(Int8ub, of="value", bounds=_BOUNDS)),
        field("value", Bytes(this.length)),
    ),
)
"""1-byte `kind`, 1-byte `length` (balanced 0, partition id 4, messages key 1 to 255), `value`."""

OPTIONAL_PARTITION = Schema(
    "apache optional partition",
    "iggy.apache.poll.head",
    OptionalPartition,
    Record(OptionalPartition, field("flag", Ranged(Int8ub, 0, 1)), field("partition_id", Int32ul)),
)
"""1-byte `flag`, 4-byte `partition_id`."""


class StreamRequest(Struct, frozen=True, gc=False):
    """The body of a request to get or delete one stream."""

    stream: Identifier


class TopicRequest(Struct, frozen=True, gc=False):
    """The body of a request to get or delete one topic."""

    stream: Identifier
    topic: Identifier


def topic_fields() -> tuple[Field, Field]:
    """Return the layout of the stream and the topic that a request means."""
    return field("stream", IDENTIFIER.shape), field("topic", IDENTIFIER.shape)


STREAM_REQUEST = Schema(
    "apache stream request",
    "iggy.apache.poll.unknown",
    StreamRequest,
    Record(StreamRequest, field("stream", IDENTIFIER.shape)),
)
"""`stream`."""
TOPIC_REQUEST = Schema(
    "apache topic request",
    "iggy.apache.poll.unknown",
    TopicRequest,
    Record(TopicRequest, *topic_fields()),
)
"""`stream`, `topic`."""
