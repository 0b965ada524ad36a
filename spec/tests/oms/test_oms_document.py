"""Whatever bytes are read, every rule sees something, and every fault has a place in them."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_spec.oms import golden
from wireproof_spec.oms.document import Document, Gap, read
from wireproof_spec.oms.names import ATTRIBUTES, HEADER_ATTRIBUTES, PARTS, Kind
from wireproof_spec.oms.rules import RULES
from wireproof_spec.oms.types import is_base64, literal
from wireproof_spec.oms.whole import UNPRINTABLE_SIGN, nearest

KINDS = st.sampled_from(list(Kind))
TEXTS = [row.data for row in golden.documents()]
NAMES = st.sampled_from(["message", *PARTS, *ATTRIBUTES, *HEADER_ATTRIBUTES, "a/b~", "\ud800", ""])
LITERALS = st.sampled_from(["NaN", "-Infinity", "1e999", "-0.0", '"\\ud800"', '"\x00"', "null"])


@st.composite
def odd_text(draw: st.DrawFn) -> bytes:
    """Write JSON with names that repeat, and values that only a lenient parser takes."""
    value = draw(st.recursive(LITERALS, lambda inside: object_text(inside) | list_text(inside)))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return mark + value.encode("utf-8", "surrogatepass")


def object_text(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(NAMES.map(json.dumps), inside), max_size=5)
    return pairs.map(lambda found: "{" + ", ".join(f"{name}:{text}" for name, text in found) + "}")


def list_text(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inside, max_size=3).map(lambda found: f"[ {','.join(found)}\n]")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Take a golden document and cut it, or put other bytes into it."""
    data = draw(st.sampled_from(TEXTS))
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(max_size=4)) + data[at + draw(st.integers(0, 4)) :]


def check_all(document: Document) -> None:
    for rule in RULES.values():
        sight = rule(document)
        assert sight.state
        for fault in sight.faults:
            place = document.place(fault)
            assert 0 <= place.offset <= len(document.data)
            assert place.line >= 1
            assert place.column >= 1
            assert fault.expected
            assert fault.found


@given(st.binary() | damaged() | odd_text(), KINDS)
def test_no_bytes_are_too_odd(data: bytes, kind: Kind) -> None:
    check_all(read(data, kind))


@pytest.mark.parametrize(
    "data", [b"{" * 5000, b'{"message":' * 301, b"1" * 100_000, b'{"a":1e-9}']
)
def test_extremes_are_read(data: bytes) -> None:
    for kind in Kind:
        check_all(read(data, kind))


def test_a_part_that_is_not_there_is_told_from_one_that_cannot_be() -> None:
    whole = read(b'{"message": {"header": []}}', Kind.MESSAGE)
    assert whole.extension_header is Gap.ABSENT
    assert whole.attribute("priority") is Gap.ABSENT
    assert whole.header == []
    broken = read(b'{"message": 1}', Kind.MESSAGE)
    assert broken.extension_header is Gap.LOST
    alone = read(b'{"priority": null}', Kind.EXTENSION_HEADER)
    assert alone.message is Gap.LOST
    assert alone.attribute("priority") is None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("", True), ("aGVsbG8=", True), ("aGVsbG8", False), ("aGVs\n", False), ("a b=", False)],
)
def test_base64_is_told_from_other_text(text: str, is_one: bool) -> None:
    assert is_base64(text) is is_one


def test_unprintable_are_controls_surrogates_and_separators() -> None:
    signs = map(chr, range(sys.maxunicode + 1))
    due = {sign for sign in signs if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")}
    found = set(UNPRINTABLE_SIGN.findall("".join(map(chr, range(sys.maxunicode + 1)))))
    assert found == due


def test_a_name_of_any_length_is_compared_at_once() -> None:
    assert nearest("PARTITION", ATTRIBUTES) == "partition"
    assert nearest("partition" * 1_000_000, ATTRIBUTES) is None


def test_long_values_are_cut() -> None:
    assert literal("é" * 100) == "'" + "\\xe9" * 14 + "\\xe…"
    assert len(literal(10**4000)) == 61
    assert literal({"a": 1}) == "a dictionary of 1"
