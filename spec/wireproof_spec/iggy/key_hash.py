"""The partition for a messages key: a hash modulo the number of partitions.

Published: MurmurHash3, x64, 128 bits, seed 0. Tagged: XXH32, seed 0.
"""

import mmh3

from wireproof_spec.iggy.generation import Generation

_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_BITS = 0xFFFFFFFF
_STRIPE, _LANE = 16, 4


def partition_of_key(key: bytes, count: int, generation: Generation) -> int:
    """Return the partition for a key, from 1 to `count`; a remainder of 0 means the last one."""
    return key_hash(key, generation) % count or count


def key_hash(key: bytes, generation: Generation) -> int:
    """Return the hash of a partitioning key: 128 bits for `published` servers, else 32."""
    if generation == "published":
        return mmh3.hash128(key, seed=0, x64arch=True, signed=False)
    return xxh32(key)


def xxh32(data: bytes) -> int:
    """Return the 32-bit xxHash of some bytes with seed 0."""
    one, two, three, four, five = _PRIMES
    stripes = len(data) // _STRIPE * _STRIPE
    found = _accumulate(data[:stripes]) if stripes else five
    found = found + len(data) & _BITS
    lanes = len(data) // _LANE * _LANE
    for at in range(stripes, lanes, _LANE):
        found = _rotate(found + _lane(data, at) * three, 17) * four & _BITS
    for byte in data[lanes:]:
        found = _rotate(found + byte * five, 11) * one & _BITS
    found = (found ^ found >> 15) * two & _BITS
    found = (found ^ found >> 13) * three & _BITS
    return found ^ found >> 16


def _accumulate(data: bytes) -> int:
    one, two, *_ = _PRIMES
    lanes = [one + two & _BITS, two, 0, -one & _BITS]
    for start in range(0, len(data), _STRIPE):
        for number, lane in enumerate(lanes):
            read = _lane(data, start + number * _LANE)
            lanes[number] = _rotate(lane + read * two, 13) * one & _BITS
    turned = (_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
    return sum(turned) & _BITS


def _lane(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _LANE], "little")


def _rotate(number: int, by: int) -> int:
    number &= _BITS
    return (number << by | number >> 32 - by) & _BITS
