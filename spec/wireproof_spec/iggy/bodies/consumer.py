"""The consumer that polls or stores an offset: a single one, or a consumer group."""

from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Int8ub, Int32ul, Ranged, Record, Shape, field
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier
from wireproof_spec.iggy.kinds import CONSUMER_KIND, GROUP_KIND


class Consumer(Struct, frozen=True, gc=False):
    """A consumer or group in a request: kind and number; `tagged` servers take an `Identifier`."""

    kind: int
    id: int | Identifier


def _consumer(identity: Shape) -> Record:
    return Record(
        Consumer, field("kind", Ranged(Int8ub, CONSUMER_KIND, GROUP_KIND)), field("id", identity)
    )


CONSUMER = Schema("consumer", "iggy.poll.consumer", Consumer, _consumer(Int32ul))
"""1-byte `kind` (1 consumer, 2 consumer group), 4-byte `id`."""
CONSUMER_TAGGED = Schema(
    "consumer, tagged", "iggy.poll.consumer", Consumer, _consumer(IDENTIFIER.shape)
)
"""1-byte `kind`, an identifier."""
