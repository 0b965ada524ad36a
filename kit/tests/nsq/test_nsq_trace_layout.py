import itertools
import struct

import pytest

from wireproof_kit.nsq.observe.trace_layout import FIELDS, looks_like_trace, observe_trace
from wireproof_suites.nsq.trace.message_ids import observe_increase

TRACE_ID = 0xA1A2A3A4A5A6A7A8
RIGHT = struct.pack(">2sQQQI", b"OK", 7, TRACE_ID, 1000, 45)

WRONG = {
    "little-endian": struct.pack("<2sQQQI", b"OK", 7, TRACE_ID, 1000, 45),
    "without-ok": RIGHT[2:],
    "size-8-bytes": struct.pack(">2sQQQQ", b"OK", 7, TRACE_ID, 1000, 45),
    "without-ok+size-8-bytes": struct.pack(">QQQQ", 7, TRACE_ID, 1000, 45),
    "without-ok+little-endian": struct.pack("<QQQI", 7, TRACE_ID, 1000, 45),
    "fields-swapped": struct.pack(">2sQQQI", b"OK", TRACE_ID, 7, 1000, 45),
    "fields-swapped+little-endian": struct.pack("<2sQQQI", b"OK", TRACE_ID, 7, 1000, 45),
    "id-differs": struct.pack(">2sQQQI", b"OK", 7, TRACE_ID + 1, 1000, 45),
    "internal_id-impossible": struct.pack(">2sQQQI", b"OK", 0, TRACE_ID, 0, 45),
    "disk_queue_data_size-impossible": struct.pack(">2sQQQI", b"OK", 7, TRACE_ID, 1000, 0),
    "length-29": RIGHT[:-1],
    "length-31": RIGHT + b"\0",
}


def test_the_published_layout_is_right() -> None:
    assert observe_trace(RIGHT, TRACE_ID).value == "trace"
    assert observe_trace(RIGHT, None).value == "trace"


@pytest.mark.parametrize(("name", "data"), WRONG.items(), ids=WRONG)
def test_another_layout_is_named_with_its_first_difference(name: str, data: bytes) -> None:
    observation = observe_trace(data, TRACE_ID)

    assert observation.value == f"trace:{name}"
    assert observation.difference is not None


@pytest.mark.parametrize("known", [True, False], ids=["id-known", "id-unknown"])
@pytest.mark.parametrize("trace_id", [0, 1, 2**32, 0x0101010101010101, 2**64 - 1])
@pytest.mark.parametrize("offset", [0, 45, 2**24, 2**33])
@pytest.mark.parametrize("internal_id", [1, 7, 256, 2**24, 2**31 + 1])
def test_little_endian_is_named_whatever_the_ids(
    internal_id: int, offset: int, trace_id: int, *, known: bool
) -> None:
    """Small numbers of the other byte order must not pass for numbers of the right one."""
    data = struct.pack("<2sQQQI", b"OK", internal_id, trace_id, offset, 45)
    observation = observe_trace(data, trace_id if known else None)
    assert observation.value == "trace:little-endian"


@pytest.mark.parametrize("trace_id", [0, 1, TRACE_ID, None])
@pytest.mark.parametrize("offset", [0, 1000])
def test_a_first_id_that_is_also_1_in_the_other_byte_order_is_not_accused(
    offset: int, trace_id: int | None
) -> None:
    data = struct.pack(">2sQQQI", b"OK", 1 << 56, trace_id or 0, offset, 45)
    assert observe_trace(data, trace_id).value == "trace"


@pytest.mark.parametrize(
    ("numbers", "value"),
    [
        ([1 << 56, (1 << 56) + 1], "increasing"),
        ([1 << 56, 2 << 56, 3 << 56], "little-endian"),
        ([1 << 56], "increasing"),
    ],
)
def test_a_second_id_tells_the_byte_order(numbers: list[int], value: str) -> None:
    assert observe_increase(numbers).value == value


@pytest.mark.parametrize("order", list(itertools.permutations(FIELDS))[1:], ids="-".join)
def test_every_order_of_the_fields_is_told_from_the_published_one(order: tuple[str, ...]) -> None:
    numbers = dict(zip(FIELDS, (7, TRACE_ID, 1000, 45), strict=True))
    widths = {"disk_queue_data_size": 4}
    data = b"OK" + b"".join(numbers[f].to_bytes(widths.get(f, 8), "big") for f in order)

    observation = observe_trace(data, TRACE_ID)

    # Offset and internal id look alike, so swapping just these two cannot be told.
    alike = order.index("trace_id") == 1 and order[3] == "disk_queue_data_size"
    assert observation.value == ("trace" if alike else "trace:fields-swapped")


def test_the_first_difference_says_where() -> None:
    difference = observe_trace(WRONG["id-differs"], TRACE_ID).difference

    assert difference is not None
    assert (difference.field, difference.offset) == ("trace_id", 10)
    assert difference.expected == str(TRACE_ID)


@pytest.mark.parametrize(
    ("data", "trace_id", "expected"),
    [
        (RIGHT, None, True),
        (RIGHT[2:], TRACE_ID, True),
        (RIGHT[2:], None, False),
        (b"OK", TRACE_ID, False),
        (b'{"k":"v"}', TRACE_ID, False),
        (b"x" + TRACE_ID.to_bytes(8, "little"), TRACE_ID, True),
    ],
)
def test_what_can_only_be_meant_as_a_trace_response(
    data: bytes, trace_id: int | None, expected: bool
) -> None:
    assert looks_like_trace(data, trace_id) is expected
