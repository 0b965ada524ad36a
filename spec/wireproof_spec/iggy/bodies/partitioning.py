"""How a request to send messages chooses their partition."""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Int8ub, Ranged, Record, field
from wireproof_spec.grammar.lengths import BoundsBy, Declared
from wireproof_spec.iggy.kinds import BALANCED, MESSAGES_KEY, PARTITION_ID


class Partitioning(Struct, frozen=True, gc=False):
    """How a send request chooses the partition: a kind (balanced, partition id, key) and a value.

    A value with `balanced` is ignored. That a partition id has 4 bytes is not part of the shape:
    servers answer another width with a status.
    """

    kind: int
    value: bytes


def make_balanced() -> Partitioning:
    """Return the partitioning by which the server chooses one partition for each request."""
    return Partitioning(BALANCED, b"")


def partition_id(number: int) -> Partitioning:
    """Return the partitioning that names a partition by number."""
    return Partitioning(PARTITION_ID, number.to_bytes(4, "little"))


def messages_key(key: bytes) -> Partitioning:
    """Return the partitioning by the hash of a key of 1 to 255 bytes."""
    return Partitioning(MESSAGES_KEY, key)


_BOUNDS = BoundsBy("kind", {BALANCED: (0, 255), PARTITION_ID: (1, 255), MESSAGES_KEY: (1, 255)})

PARTITIONING = Schema(
    "partitioning",
    "iggy.send.partitioning",
    Partitioning,
    Record(
        Partitioning,
        field("kind", Ranged(Int8ub, BALANCED, MESSAGES_KEY)),
        field("length", Declared(Int8ub, of="value", bounds=_BOUNDS)),
        field("value", Bytes(this.length)),
    ),
)
"""1-byte `kind` (1 balanced, 2 partition id, 3 messages key), 1-byte `length`, `value`."""
