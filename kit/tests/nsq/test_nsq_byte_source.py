import io

import pytest

from wireproof_kit.decoding.decoded import Broken
from wireproof_kit.nsq.decoding.byte_source import CHUNK, LIMIT, ByteSource, take_many, take_value
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame, response_frame


def test_a_source_gives_back_what_was_only_looked_at() -> None:
    source = ByteSource(io.BytesIO(b"abcdef"), size=6)

    assert source.peek(2) == b"ab"
    assert source.peek(1) == b"a"
    assert (source.offset, source.left) == (0, 6)
    assert source.take(3) == b"abc"
    assert source.peek(9) == b"def"
    assert source.take(9) == b"def"
    assert (source.offset, source.left) == (6, 0)
    assert source.take(1) == b""


def test_a_file_that_grows_is_read_to_the_size_it_had() -> None:
    source = ByteSource(io.BytesIO(b"abcdef"), size=2)

    assert source.left == 2
    source.take(4)
    assert source.left == 0


def test_a_value_comes_with_its_bytes() -> None:
    data = response_frame(b"OK")
    source = ByteSource(io.BytesIO(data * 2), size=2 * len(data))

    assert take_value(source, SERVER_FRAME) == (ServerFrame(0, b"OK"), data)
    assert source.offset == len(data)


@pytest.mark.parametrize(
    ("size", "head", "fault"),
    [
        (18, "00000003", "size at byte 10: expected at least 4, found 3"),
        (18, "00000f00", "size at byte 10: expected 3840 bytes after it, found 4"),
        (18, "7fffffff", "size at byte 10: expected 2147483647 bytes after it, found 4"),
        (None, "00000f00", "data at byte 18: expected 3836 bytes, found 0"),
        (None, "7fffffff", f"size at byte 10: expected at most {LIMIT}, found 2147483647"),
    ],
)
def test_a_size_that_lies_is_a_fault_at_its_place(size: int | None, head: str, fault: str) -> None:
    data = response_frame(b"OK") + bytes.fromhex(head) + bytes(4)
    source = ByteSource(io.BytesIO(data), size=size)
    take_value(source, SERVER_FRAME)

    broken = take_value(source, SERVER_FRAME)

    assert isinstance(broken, Broken)
    assert (broken.offset, broken.data) == (10, data[10:])
    assert broken.sentence == f"the input: {fault} (smart.connection.frame)"


FRAMES = [response_frame(bytes(number % 300)) for number in range(2000)]


def test_many_values_are_those_taken_one_by_one() -> None:
    row = b"".join(FRAMES)
    one_by_one, many = (ByteSource(io.BytesIO(row), size=len(row)) for _ in range(2))
    expected = [take_value(one_by_one, SERVER_FRAME) for _ in FRAMES]
    found: list[tuple[ServerFrame, bytes, int]] = []
    while pieces := list(zip(*take_many(many, SERVER_FRAME), strict=True)):
        found += pieces

    assert [(value, data) for value, data, _ in found] == expected
    assert all(row.startswith(data, start) for _, data, start in found)
    assert many.offset == len(row)
    assert len(row) > 3 * CHUNK


def test_many_values_end_before_one_that_is_broken() -> None:
    row = b"".join(FRAMES[:5]) + bytes(4)
    source = ByteSource(io.BytesIO(row), size=len(row))

    assert len(take_many(source, SERVER_FRAME)[0]) == 5
    assert take_many(source, SERVER_FRAME) == ([], [], [])
    assert source.offset == len(row) - 4
    broken = take_value(source, SERVER_FRAME)
    assert isinstance(broken, Broken)
    assert broken.error.offset == len(row) - 4


def test_many_values_of_a_file_that_grows_end_where_it_ended() -> None:
    source = ByteSource(io.BytesIO(FRAMES[0] * 3), size=2 * len(FRAMES[0]))

    assert len(take_many(source, SERVER_FRAME)[0]) == 2


def test_a_pipe_is_read_value_by_value() -> None:
    source = ByteSource(io.BytesIO(FRAMES[0]), size=None)

    assert take_many(source, SERVER_FRAME) == ([], [], [])
    assert source.offset == 0
