import tracemalloc

import pytest

from wireproof_spec.decoding import encode
from wireproof_spec.nsq.publish import PUB_BODY, PubBody
from wireproof_spec.stream import NEED_MORE, SizedReader
from wireproof_spec.wire_error import WireError

ONE = encode(PUB_BODY, PubBody(b"one"))


def reader(limit: int = 100) -> SizedReader[PubBody]:
    return SizedReader(PUB_BODY, limit)


def test_nothing_fed_needs_more() -> None:
    assert reader().next() is NEED_MORE
    reader().finish()


def test_values_come_one_by_one() -> None:
    values = reader()
    values.feed(ONE * 2 + ONE[:5])

    assert [values.next(), values.next()] == [PubBody(b"one")] * 2
    assert values.next() is NEED_MORE
    assert (values.pending, values.offset) == (ONE[:5], 14)


def test_an_error_counts_from_the_start_of_the_stream_and_stays() -> None:
    values = reader()
    values.feed(ONE + b"\xff\xff\xff\xff")
    assert values.next() == PubBody(b"one")

    for _ in range(2):
        with pytest.raises(WireError) as caught:
            values.next()
        assert (caught.value.field, caught.value.offset) == ("size", 7)


def test_a_size_over_the_limit_is_refused_before_its_bytes_come() -> None:
    values = reader(limit=2)
    values.feed(ONE[:4])

    with pytest.raises(WireError) as caught:
        values.next()
    assert (caught.value.expected, caught.value.found) == ("at most 2", "3")


@pytest.mark.parametrize("cut", range(1, len(ONE)))
def test_an_end_within_a_value_is_refused(cut: int) -> None:
    values = reader()
    values.feed(ONE + ONE[:cut])
    values.next()

    with pytest.raises(WireError) as caught:
        values.finish()
    assert caught.value.offset in (7, 11)


def test_memory_does_not_grow_with_the_stream() -> None:
    values = reader(limit=1 << 16)
    piece = encode(PUB_BODY, PubBody(bytes(10_000))) * 5
    tracemalloc.start()
    try:
        for _ in range(200):  # 10 MB
            values.feed(piece)
            while values.next() is not NEED_MORE:
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert values.offset == 200 * len(piece)
    assert peak < 1_000_000
