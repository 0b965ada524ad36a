"""Which partition a message goes to."""

import mmh3

from wireproof_reference_impl.nsq.client.core.topology import Place, Topology


def shard(key: bytes, partition_num: int) -> int:
    """Return the partition for a sharding id; it depends on the id and partition_num alone.

    The hash is that of go-nsq, murmur3 of 32 bits, so that both send an id the same way.
    """
    return mmh3.hash(key, signed=False) % partition_num


def place_of_key(topology: Topology, key: bytes) -> Place | None:
    """Return partition and node for messages of a sharding id; None if it has no leader now."""
    number = shard(key, topology.partition_num or len(topology.leaders) or 1)
    address = topology.leaders.get(number)
    return None if address is None else Place(number, address)


def place_in_turn(topology: Topology, turn: int) -> Place:
    """Return the partition and node whose turn it is; the topic must have one."""
    return topology.places[turn % len(topology.places)]
