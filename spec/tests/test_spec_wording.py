import time

import pytest

from wireproof_spec.wording import count_bytes, show_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", '""'),
        (b"OK", '"OK"'),
        (b"\n", "0x0a"),
        (b"\xff", "0xff"),
        (7, "7"),
        (None, "None"),
        (b"a" * 46, '"' + "a" * 46 + '"'),
        (b"ab" * 30, '"' + "ab" * 11 + "a" + "…" + "b" + "ab" * 11 + '"'),
        (bytes(50), "0x" + "0" * 22 + "…" + "0" * 24),
        (b"a" * 100 + b"\n" + b"a" * 100, '"' + "a" * 23 + "…" + "a" * 23 + '"'),
    ],
)
def test_values_are_shown_short(value: object, text: str) -> None:
    assert show_value(value) == text


def test_long_bytes_are_shown_at_once() -> None:
    started = time.process_time()
    for _ in range(100):
        show_value(bytes(10_000_000))

    assert time.process_time() - started < 2


def test_bytes_are_counted_in_words() -> None:
    assert (count_bytes(0), count_bytes(1), count_bytes(2)) == ("0 bytes", "1 byte", "2 bytes")
