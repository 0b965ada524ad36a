import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_reports.exchange.reproducer import literal


def evaluated(source: str) -> object:
    return eval(source, {"__builtins__": {}, "zlib": zlib, "base64": base64})


@given(st.binary(max_size=300))
def test_says_the_same_bytes(data: bytes) -> None:
    assert evaluated(literal(data)) == data


@pytest.mark.parametrize(
    "data",
    [b"", b"a" * 70000, b"x" + b"\0" * 5000 + b"y", bytes(range(256)) * 300, b"'\"\\\n" * 50],
)
def test_long_bytes_stay_short(data: bytes) -> None:
    source = literal(data)

    assert evaluated(source) == data
    assert len(source) < 3000
