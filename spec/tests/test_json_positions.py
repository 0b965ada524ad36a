"""The place of each value and name of a JSON text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_spec import strict_json
from wireproof_spec.oms.json_positions import JsonPlaces, TextPosition, child_pointer, place_at
from wireproof_spec.strict_json import JsonValue

TEXT = '{\n  "a": [1, {"b~/": "ü"}],\r\n  "ü": NaN, "c":{}}'.encode()


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", TextPosition(0, 1, 1)),
        ("/a", TextPosition(9, 2, 8)),
        ("/a/0", TextPosition(10, 2, 9)),
        ("/a/1/b~0~1", TextPosition(21, 2, 20)),
        ("/ü", TextPosition(38, 3, 8)),
        ("/c", TextPosition(47, 3, 17)),
        ("/c/not-there", TextPosition(47, 3, 17)),
        ("/a/1/b~0~1/deeper/still", TextPosition(21, 2, 20)),
    ],
)
def test_a_value_is_found_by_its_pointer(pointer: str, place: TextPosition) -> None:
    assert JsonPlaces(TEXT).value(pointer) == place


def test_a_name_is_found_and_an_item_has_none() -> None:
    places = JsonPlaces(TEXT)
    assert places.name("/ü") == TextPosition(32, 3, 3)
    assert places.name("/a/1/b~0~1") == TextPosition(14, 2, 13)
    assert places.name("/a/0") == places.value("/a/0")


def test_of_two_equal_names_the_last_counts() -> None:
    places = JsonPlaces(b'{"k": 1, "\\u006b": 2}')
    assert places.name("/k").column == 10
    assert places.value("/k").column == 20


def test_a_byte_order_mark_and_bad_utf8_shift_bytes_alone() -> None:
    places = JsonPlaces(b'\xef\xbb\xbf["\xff", 1]')
    assert places.value("") == TextPosition(3, 1, 1)
    assert places.value("/1") == TextPosition(9, 1, 7)


def test_a_byte_has_a_line_and_a_column() -> None:
    assert place_at(TEXT, 38) == TextPosition(38, 3, 8)
    assert place_at(b"", 0) == TextPosition(0, 1, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_the_text_at_a_place_is_the_value(value: JsonValue, ascii: bool, indent: int) -> None:
    data = json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    places = JsonPlaces(data)
    text = data.decode("utf-8", "surrogateescape")
    read = strict_json.read(data).value
    for pointer, below in walk(read, ""):
        place = places.value(pointer)
        line = text.split("\n")[place.line - 1]
        rest = "\n".join([line[place.column - 1 :], *text.split("\n")[place.line :]])
        found, _ = json.JSONDecoder(strict=False).raw_decode(rest)
        assert found == below
        tail = data[place.offset :].decode("utf-8", "surrogateescape")
        assert tail == rest


def walk(value: JsonValue, pointer: str) -> list[tuple[str, JsonValue]]:
    found = [(pointer, value)]
    if isinstance(value, dict):
        for name, below in value.items():
            found += walk(below, child_pointer(pointer, name))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            found += walk(below, f"{pointer}/{index}")
    return found
