import json
import time
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wireproof_spec.strict_json import (
    BYTE_ORDER_MARK,
    CONTROL_BYTE,
    DUPLICATE_NAME,
    INVALID_UTF8,
    LONE_SURROGATE,
    MAX_DEPTH,
    NOT_A_NUMBER,
    NUMBER_RANGE,
    JsonValue,
    read,
    same_json,
)
from wireproof_spec.wire_error import WireError

VALUES: list[tuple[bytes, JsonValue]] = [
    (b'{"a":"b"}', {"a": "b"}),
    (b' [1, true, null, "\\u00e9\\n"] ', [1, True, None, "é\n"]),
    (b"12345678901234567890123", 12345678901234567890123),
    (b"-0", 0),
    (b"1.50", Decimal("1.50")),
    (b"1e3", Decimal(1000)),
    (b"1e999999", Decimal("1e999999")),
    (b"9" * 5000, Decimal("9" * 5000)),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    ('{"ü/~":"ß"}'.encode(), {"ü/~": "ß"}),
    (b"{}", {}),
    (b'""', ""),
]

FAULTS: list[tuple[bytes, list[tuple[str, str]]]] = [
    (b'{"a":1,"b":2,"a":3}', [(DUPLICATE_NAME, "/a")]),
    (b'{"a":1,"a":2,"a":3}', [(DUPLICATE_NAME, "/a"), (DUPLICATE_NAME, "/a")]),
    (b'{"a":1,"\\u0061":2}', [(DUPLICATE_NAME, "/a")]),
    (b'{"x/y~":[0,{"d":1,"d":1}]}', [(DUPLICATE_NAME, "/x~1y~0/1/d")]),
    (b'{"a":"\n"}', [(CONTROL_BYTE, "/a")]),
    (b'{"a\x00":1}', [(CONTROL_BYTE, "/a\x00")]),
    (b'{"a":"\xff"}', [(INVALID_UTF8, "/a")]),
    (b'{"a":"\xed\xa0\x80"}', [(INVALID_UTF8, "/a")]),
    (b'["\\udcff"]', [(LONE_SURROGATE, "/0")]),
    (b'["\\ud800x"]', [(LONE_SURROGATE, "/0")]),
    (b'["\xff\\ud800"]', [(INVALID_UTF8, "/0")]),
    (b"[NaN, Infinity, -Infinity]", [(NOT_A_NUMBER, f"/{at}") for at in range(3)]),
    (b"1e99999999999999999999", [(NUMBER_RANGE, "")]),
    (b"\xef\xbb\xbf{}", [(BYTE_ORDER_MARK, "")]),
    (b'"\\n"', []),
    (b'\t{ "a" :\r\n1 }', []),
]

REFUSED: list[tuple[bytes, int, str]] = [
    (b"", 0, "value"),
    (b"  ", 2, "value"),
    (b"nul", 0, "value"),
    (b"{", 1, "property name enclosed in double quotes"),
    (b'{"k":}', 5, "value"),
    (b'{"a":"b",}', 9, "property name enclosed in double quotes"),
    (b"[1, ]", 4, "value"),
    (b"{'k':1}", 1, "property name enclosed in double quotes"),
    (b"{} x", 3, "no more bytes"),
    (b"007", 1, "no more bytes"),
    (b"[1 2]", 3, "',' delimiter"),
    (b'{"\xc3\xa9" 1}', 6, "':' delimiter"),
    (b"\xef\xbb\xbf{} x", 6, "no more bytes"),
    (b'"abc', 0, "JSON (Unterminated string starting at)"),
    (b'["a\\', 1, "JSON (Unterminated string starting at)"),
    (b'"\\x"', 1, "JSON (Invalid \\escape)"),
    (b"\xff", 0, "value"),
    (b"[" * (MAX_DEPTH + 1), MAX_DEPTH, f"at most {MAX_DEPTH} levels"),
    (
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        MAX_DEPTH,
        f"at most {MAX_DEPTH} levels",
    ),
    (b'"\xc3\xa9[",' + b"[" * (MAX_DEPTH + 1), 6 + MAX_DEPTH, f"at most {MAX_DEPTH} levels"),
]


@pytest.mark.parametrize(("data", "value"), VALUES)
def test_values_stay_exact(data: bytes, value: JsonValue) -> None:
    found = read(data)

    assert found.faults == ()
    assert same_json(found.value, value)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(("data", "faults"), FAULTS)
def test_liberties_are_seen_and_placed(data: bytes, faults: list[tuple[str, str]]) -> None:
    assert [(fault.kind, fault.pointer) for fault in read(data).faults] == faults


@pytest.mark.parametrize(("data", "offset", "expected"), REFUSED)
def test_what_is_no_json_is_refused_where_it_breaks(
    data: bytes, offset: int, expected: str
) -> None:
    with pytest.raises(WireError) as caught:
        read(data)

    assert caught.value.field == "json"
    assert (caught.value.offset, caught.value.expected) == (offset, expected)


@pytest.mark.parametrize("data", [data for data, _ in VALUES])
def test_the_short_way_and_the_long_way_find_the_same(data: bytes) -> None:
    long = read(data + b"\n")  # a control byte: literals are looked at one by one

    assert read(data).faults == long.faults == ()
    assert same_json(read(data).value, long.value)


def test_of_a_name_that_occurs_twice_the_last_value_stands() -> None:
    assert read(b'{"a":1,"a":2}').value == {"a": 2}


def test_bytes_that_are_no_utf8_can_be_had_back() -> None:
    value = read(b'"\xff\xfe"').value

    assert isinstance(value, str)
    assert value.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_the_deepest_nesting_is_read() -> None:
    assert read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH).faults == ()


def test_much_side_by_side_is_read() -> None:
    assert read(b"[" + b'{"a":[]},' * MAX_DEPTH + b"0]").value == [*[{"a": []}] * MAX_DEPTH, 0]


HOSTILE = [
    b'"' + b'\\"' * 100_000,
    b'"' * 100_001,
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b"1" * 200_000,
    b"1." + b"1" * 200_000,
    b"1e" + b"9" * 200_000,
    b"\\" * 200_000,
    b'"' + b"\\" * 200_001,
    b'{"a":1,' + b'"a":1,' * 30_000 + b'"a":1}',
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_return_soon(data: bytes) -> None:
    started = time.process_time()
    with suppress(WireError):  # accepted or refused: only the time matters here
        read(data)

    assert time.process_time() - started < 3


SAME: list[tuple[JsonValue, JsonValue, bool]] = [
    (1, Decimal("1.0"), True),
    (Decimal("1E+2"), 100, True),
    (2**64, Decimal(float(2**64 + 1)), True),
    (2**64 + 1, Decimal(float(2**64 + 1)), False),
    (True, 1, False),
    (0, False, False),
    (None, False, False),
    ("1", 1, False),
    ([1], (1,), False),  # type: ignore[list-item]  # no JSON value, and none is the same
    ({"a": 1, "b": 2}, {"b": 2, "a": Decimal(1)}, True),
    ({"a": 1}, {"a": 1, "b": 1}, False),
    ([1, 2], [2, 1], False),
    ([1], [1, 1], False),
    ([{"a": [None]}], [{"a": [None]}], True),
    (Decimal("NaN"), Decimal("NaN"), True),
    (Decimal("NaN"), 1, False),
    ("é", "e\u0301", False),
]


@pytest.mark.parametrize(("a", "b", "same"), SAME)
def test_sameness_is_exact(a: JsonValue, b: JsonValue, same: bool) -> None:
    assert same_json(a, b) is same
    assert same_json(b, a) is same


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=12,
)


@settings(deadline=None)
@given(value=json_values, ascii_only=st.booleans())
def test_whatever_was_dumped_is_read(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    found = read(text.encode("utf-8", "surrogatepass"))

    assert same_json(found.value, value) or "\\ud" in json.dumps(value)
    assert {fault.kind for fault in found.faults} <= {LONE_SURROGATE, INVALID_UTF8}


@settings(deadline=None)
@given(
    data=st.binary(max_size=60)
    | st.text('{}[]":,\\u0d8ntrfalse1e-. \n', max_size=40).map(str.encode)
)
def test_any_bytes_are_json_or_a_wire_error(data: bytes) -> None:
    try:
        found = read(data)
    except WireError as error:
        within = 0 <= error.offset <= len(data)
    else:
        within = isinstance(found.faults, tuple)

    assert within
