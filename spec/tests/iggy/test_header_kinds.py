"""The fifteen kinds of header values, by one table of value and bytes used in both directions."""

import pytest

from wireproof_spec.iggy import header_kinds
from wireproof_spec.iggy.header_kinds import (
    HEADER_KINDS,
    KIND_WIDTHS,
    HeaderContent,
    header_bytes,
    header_value,
    kind_code,
)
from wireproof_spec.wire_error import WireError

VALUES: list[tuple[str, HeaderContent, str]] = [
    ("raw", b"\x00\xff\x10", "00ff10"),
    ("string", "value1", "76616c756531"),
    ("string", "é", "c3a9"),
    ("bool", True, "01"),
    ("bool", False, "00"),
    ("int8", -5, "fb"),
    ("int8", -128, "80"),
    ("int16", -12345, "c7cf"),
    ("int32", 2**31 - 1, "ffffff7f"),
    ("int64", -(2**63), "0000000000000080"),
    ("int128", -1, "ff" * 16),
    ("uint8", 255, "ff"),
    ("uint16", 54321, "31d4"),
    ("uint32", 1, "01000000"),
    ("uint64", 123456, "40e2010000000000"),
    ("uint128", 2**128 - 1, "ff" * 16),
    ("float32", 1.5, "0000c03f"),
    ("float64", -0.25, "000000000000d0bf"),
]
EACH = pytest.mark.parametrize(("kind", "value", "data"), VALUES)


def code(kind: str) -> int:
    found = kind_code(kind)
    assert found is not None
    return found


@EACH
def test_values_come_from_their_bytes(kind: str, value: HeaderContent, data: str) -> None:
    found = header_value(code(kind), bytes.fromhex(data))

    assert found == value
    assert type(found) is type(value)


@EACH
def test_bytes_come_from_their_values(kind: str, value: HeaderContent, data: str) -> None:
    assert header_bytes(code(kind), value) == bytes.fromhex(data)


def test_every_kind_is_in_the_table() -> None:
    assert {kind for kind, _, _ in VALUES} == set(HEADER_KINDS.values())
    assert sorted(HEADER_KINDS) == list(range(1, 16))
    assert kind_code("String") is None


@pytest.mark.parametrize("kind", KIND_WIDTHS)
@pytest.mark.parametrize("more", [-1, 1])
def test_another_width_is_refused(kind: int, more: int) -> None:
    with pytest.raises(WireError) as caught:
        header_value(kind, bytes(KIND_WIDTHS[kind] + more))

    assert caught.value.clause == "iggy.headers.kinds"
    assert HEADER_KINDS[kind] in caught.value.expected


@pytest.mark.parametrize(
    ("kind", "data"), [("bool", "02"), ("string", "ff"), ("raw", None), ("bool", "")]
)
def test_bytes_that_spell_nothing_are_refused(kind: str, data: str | None) -> None:
    number = 16 if data is None else code(kind)
    with pytest.raises(WireError):
        header_value(number, bytes.fromhex(data or ""))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8", 128),
        ("uint8", -1),
        ("uint128", 2**128),
        ("bool", 1),
        ("int8", True),
        ("float32", 1),
        ("float32", 1e300),
        ("string", b"x"),
        ("string", "\ud800"),
        ("raw", "x"),
    ],
)
def test_values_that_do_not_fit_are_refused(kind: str, value: HeaderContent) -> None:
    with pytest.raises(WireError, match=f"a value of kind {kind}"):
        header_bytes(code(kind), value)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(WireError):
        header_bytes(0, b"")
    assert header_kinds.RAW == 1
