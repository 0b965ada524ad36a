"""Checksums with seed 0: XxHash3-64 of frames and batches, XXH32 of partitioning keys."""

from collections.abc import Iterable

import xxhash


def xxh3_64(data: bytes) -> int:
    """Return the XxHash3-64 of some bytes."""
    return xxhash.xxh3_64_intdigest(data)


def partition_of_key(key: bytes, count: int) -> int:
    """Return the partition for a messages key, 0 to `count` - 1: its XXH32 modulo the count.

    Clause: iggy.apache.send.key
    """
    return xxhash.xxh32_intdigest(key) % count


def join_checksums(numbers: Iterable[int]) -> bytes:
    """Return checksums as the bytes over which the checksum of their batch is computed."""
    return b"".join(number.to_bytes(8, "little") for number in numbers)
