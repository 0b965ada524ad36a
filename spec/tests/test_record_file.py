"""The limits of a bundle's file hold at the same line, whenever values are counted."""

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_spec import record_file
from wireproof_spec.record_file import BundleTooLarge, count_values, read_lines

LINE = st.text('{[,"1', max_size=30).map(lambda text: text.encode() + b"\n")
LINES = st.lists(LINE, max_size=30)


def read_by_counting(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines as read_lines does, but count all values of all lines."""
    size = values = 0
    for number, line in enumerate(file, 1):
        own = count_values(line)
        size, values = size + len(line), values + own
        if (
            own > record_file.MOST_VALUES_IN_LINE
            or number > record_file.MOST_LINES
            or size > record_file.MOST_BYTES
            or values > record_file.MOST_VALUES
        ):
            raise BundleTooLarge
        yield line


def read_before_limit(lines: Iterator[bytes]) -> list[bytes]:
    found: list[bytes] = []
    with suppress(BundleTooLarge):
        found.extend(lines)
        found.append(b"whole")
    return found


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_file, "MOST_VALUES_IN_LINE", 20)
        patch.setattr(record_file, "MOST_LINES", 25)
        patch.setattr(record_file, "MOST_BYTES", 400)
        patch.setattr(record_file, "MOST_VALUES", 150)
        yield


@given(LINES, st.sampled_from([b"\n", b""]))
def test_limits_hold_as_if_all_values_were_counted(lines: list[bytes], cut: bytes) -> None:
    data = b"".join(lines).removesuffix(cut)

    found = read_before_limit(read_lines(io.BytesIO(data)))

    assert found == read_before_limit(read_by_counting(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([b"[" * 20], "line 1 has more than 20 values"),
        ([b"[[[[[[\n"] * 22, "it holds more than 150 values"),
        ([b"\n"] * 26, "it holds more than 25 lines"),
        ([b"1" * 40 + b"\n"] * 10, "it holds more than 400 bytes"),
    ],
)
def test_each_limit_is_named(lines: list[bytes], why: str) -> None:
    with pytest.raises(BundleTooLarge, match=why):
        list(read_lines(io.BytesIO(b"".join(lines))))
