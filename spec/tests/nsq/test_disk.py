import tracemalloc

import pytest
from msgspec.structs import replace

from wireproof_spec.decoding import encode
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord, RecordReader
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.stream import NEED_MORE
from wireproof_spec.wire_error import WireError

MESSAGE = Message(1, 0, 2, 3, None, None, None, b"body")


@pytest.mark.parametrize(
    ("extend", "indicator"), [(None, 0), (Extend(0, None), 10), (Extend(4, b"{}"), 10)]
)
def test_the_raw_size_is_that_of_the_bytes(extend: Extend | None, indicator: int) -> None:
    record = DiskRecord(replace(MESSAGE, extend=extend), indicator)

    assert record.raw_size == len(encode(DISK_RECORD, record))


def test_a_record_as_drawn_has_its_raw_size_too() -> None:
    record = DiskRecord(replace(MESSAGE, extend=Extend(0, b"")), 10)

    assert record.raw_size == 30 + 3 + 4


@pytest.mark.parametrize("length", [25, 101, 2**32 - 1])
def test_a_hostile_length_is_refused_at_once(length: int) -> None:
    reader = RecordReader("from-record", limit=100)
    reader.feed(encode(DISK_RECORD, DiskRecord(MESSAGE, 0)) + length.to_bytes(4, "big"))
    reader.next_record()

    with pytest.raises(WireError) as caught:
        reader.next_record()
    assert (caught.value.field, caught.value.offset) == ("length", 34)


def test_a_queue_that_ends_within_a_record_is_refused() -> None:
    reader = RecordReader("plain")
    reader.feed(encode(DISK_RECORD, DiskRecord(MESSAGE, 0))[:-1])
    assert reader.next_record() is NEED_MORE

    with pytest.raises(WireError) as caught:
        reader.finish()
    assert (caught.value.field, caught.value.offset) == ("message.body", 30)


def test_memory_stays_constant_over_a_long_queue() -> None:
    piece = encode(DISK_RECORD, DiskRecord(replace(MESSAGE, body=bytes(1000)), 0)) * 20
    reader = RecordReader("from-record")
    tracemalloc.start()
    try:
        for _ in range(300):  # 6 MB
            reader.feed(piece)
            while reader.next_record() is not NEED_MORE:
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert reader.offset == 300 * len(piece)
    assert peak < 1_000_000
