"""Bytes as text in the forms in which people keep them: all of it is read back, or refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_kit.decoding.byte_text import find_form, read_text
from wireproof_kit.errors import UsageFault


def read(text: str) -> bytes:
    form = find_form(text.encode())
    assert form is not None, text
    return read_text(text.encode(), form, "in.txt")


def rows_of(data: bytes) -> list[tuple[int, bytes, str]]:
    """Return offset, bytes and text of each row of a dump."""
    rows = [(at, data[at : at + 16]) for at in range(0, len(data), 16)]
    return [(at, row, "".join(chr(b) if 32 <= b < 127 else "." for b in row)) for at, row in rows]


def xxd(data: bytes) -> str:
    pairs = [(at, row.hex(" ", -2), text) for at, row, text in rows_of(data)]
    return "".join(f"{at:08x}: {digits:<39}  {text}\n" for at, digits, text in pairs)


def digits(data: bytes) -> str:
    return data.hex()


def spaced_digits(data: bytes) -> str:
    return data.hex(" ").upper()


def hexdump(data: bytes) -> str:
    lines = [
        f"{at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  |{text}|\n"
        for at, row, text in rows_of(data)
    ]
    return "".join(lines) + f"{len(data):08x}\n"


@pytest.mark.parametrize("write", [xxd, hexdump, digits, spaced_digits])
@given(data=st.binary(min_size=1, max_size=70) | st.text("0aF \\|", min_size=1).map(str.encode))
def test_bytes_are_read_as_they_were_written(write: Callable[[bytes], str], data: bytes) -> None:
    assert read(write(data)) == data


@given(data=st.binary(min_size=1, max_size=70))
def test_escapes_are_read_as_they_were_written(data: bytes) -> None:
    assert read("".join(f"\\x{byte:02x}" for byte in data)) == data
    literal = repr(b"\0" + data)
    assert read(literal) == b"\0" + data
    assert read(f"$'{literal[2:-1]}'") == b"\0" + data or '"' in literal[:2]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("\ufeff00 01\n", b"\0\1"),
        ("0x00, 0x01,\n0x02", b"\0\1\2"),
        ("\\x00\\x06OK\n", b"\0\6OK"),
        ("\\0\\12\\377", b"\0\n\xff"),
        ("PUB t 0\\n\\x00\\x00\\x00\\x01x", b"PUB t 0\n\0\0\0\1x"),
        ('"a\\x00\\"\\n"', b'a\0"\n'),
        ("00000000: 3031 3233  0123\n*\n00000014: 34  4\n", b"0123" * 5 + b"4"),
        (
            "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
            "*\n00000040\n",
            bytes(64),
        ),
    ],
)
def test_a_text_in_one_of_the_forms_is_read(text: str, data: bytes) -> None:
    assert read(text) == data


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"  V2", b"PUB topic\n\0\0\0\1a", b"\0\0\0\6", b"GET / HTTP/1.1", b"IDENTIFY\n"],
)
def test_bytes_of_a_protocol_are_no_text(data: bytes) -> None:
    assert find_form(data) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("000", "in.txt: an odd number of hex digits (3): half a byte is missing"),
        ("\\x00\\xZZ", r"expected \x and two hex digits at character 4, found '\\xZZ'; --raw"),
        ("00000000: 0000\n00000010: 00\n", "line 2: expected offset 0x2, found 0x10; lines of"),
        ("00000000: 00\nhello\n", "line 2: expected an offset and hex digits, as of xxd"),
    ],
)
def test_a_text_with_a_mistake_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(UsageFault) as refused:
        read(text)

    assert sentence in str(refused.value)
