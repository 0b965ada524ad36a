"""Where values stand in a JSON text."""

import pytest

from wireproof_reference_impl.iggy.http.json_place import Path, describe_place, find_span

TEXT = '{"a": [1, {"b\\n": "x,]}"}], "\\u0061b":{}, "c" : -12.50}'


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), TEXT),
        (("a",), '[1, {"b\\n": "x,]}"}]'),
        (("a", 0), "1"),
        (("a", 1, "b\n"), '"x,]}"'),
        (("ab",), "{}"),
        (("c",), "-12.50"),
    ],
)
def test_a_value_is_found_by_its_path(path: Path, value: str) -> None:
    start, end = find_span(f" {TEXT}\n", path)
    assert f" {TEXT}\n"[start:end] == value


def test_lines_and_columns_count_bytes_from_1() -> None:
    assert describe_place('{"é": 1}', 7) == "at line 1 column 8"
    assert describe_place('{\n "a": 1}', 10) == "at line 2 column 8"
