"""Partitioning: the partition that a request to send goes to."""

import mmh3

from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.requests import Partitioning
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.key_hash import xxh32
from wireproof_spec.iggy.kinds import BALANCED, PARTITION_ID


def chosen_partition(topic: Topic, partitioning: Partitioning) -> int:
    """Return the number of the partition in which a request's messages are stored.

    Balanced: in turns, one for each request. A key: its MurmurHash3 (x64, 128 bits, seed 0)
    modulo the number of partitions, 0 standing for the last.

    Raises:
        Refusal: the id of a partition is not of four bytes.
    """
    kind, value = partitioning
    if kind == BALANCED:
        return topic.take_turn()
    if kind == PARTITION_ID:
        if len(value) != 4:
            raise Refusal(status.CANNOT_PARSE_SLICE, "Cannot parse integer")
        return int.from_bytes(value, "little")
    hashed = mmh3.hash128(value, seed=0, x64arch=True, signed=False)
    return hashed % len(topic.partitions) or len(topic.partitions)


def tagged_partition(topic: Topic, partitioning: Partitioning) -> int:
    """Return the partition for a request's messages in the tagged generation: keys by XXH32.

    Raises:
        Refusal: the id of a partition is not of four bytes.
    """
    kind, value = partitioning
    if kind == PARTITION_ID and len(value) != 4:
        raise Refusal(status.INVALID_NUMBER_ENCODING, "Invalid number encoding")
    if kind in (BALANCED, PARTITION_ID):
        return chosen_partition(topic, partitioning)
    return xxh32(value) % len(topic.partitions) or len(topic.partitions)
