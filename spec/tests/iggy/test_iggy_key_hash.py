"""Hashes of keys, against published vectors and keys measured on real servers."""

import pytest

from wireproof_spec.iggy.key_hash import partition_of_key, xxh32

VECTORS = {
    b"": 0x02CC5D05,
    b"a": 0x550D7456,
    b"abc": 0x32D153FF,
    b"Nobody inspects the spammish repetition": 0xE2293B2F,
}


@pytest.mark.parametrize("data", VECTORS)
def test_xxh32_gives_the_published_values(data: bytes) -> None:
    assert xxh32(data) == VECTORS[data]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_key_leads_to_one_of_the_partitions(count: int) -> None:
    for generation in ("published", "tagged"):
        for number in range(50):
            assert 1 <= partition_of_key(b"%d" % number, count, generation) <= count
