import pytest

from wireproof_reference_impl.nsq.wire.go_text import marshal, quote

QUOTED = {
    "plain": '"plain"',
    'a"b\\c': r'"a\"b\\c"',
    "\n\t\r\x00\x7f": r'"\n\t\r\x00\x7f"',
    "\udcef\udcbb": r'"\xef\xbb"',
    "é消": '"é消"',
    "\ufeff": r'"\ufeff"',
}

NUMBERS = {
    0.0: "0",
    1.0: "1",
    0.1: "0.1",
    12345678901234567890.0: "12345678901234567000",
    1e21: "1e+21",
    1.5e300: "1.5e+300",
    1e-7: "1e-07",
    -2.5: "-2.5",
}


@pytest.mark.parametrize("text", QUOTED)
def test_quoted(text: str) -> None:
    assert quote(text) == QUOTED[text]


@pytest.mark.parametrize("value", NUMBERS)
def test_marshalled_number(value: float) -> None:
    assert marshal(value) == NUMBERS[value]


def test_marshalled_object() -> None:
    value = {"b": ["<&>", True, None, {"y": "é", "x": "\u2028"}], "a": "\udcff"}
    expected = r'{"a":"\ufffd","b":["\u003c\u0026\u003e",true,null,{"x":"\u2028","y":"é"}]}'
    assert marshal(value) == expected
