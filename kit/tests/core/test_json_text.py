from decimal import Decimal

import pytest

from wireproof_kit.decoding.json_text import json_line
from wireproof_spec.strict_json import JsonValue, read


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, True, None, "é\n"]}, r'{"a":[1,true,null,"\u00e9\n"]}'),
        ({"a": [Decimal("1.50"), {"b": Decimal("1E+400")}]}, '{"a":[1.50,{"b":1E+400}]}'),
        ([Decimal("NaN"), Decimal("-Infinity")], '["NaN","-Infinity"]'),
        (2**64, '"18446744073709551616"'),
        ([2**53, -(2**53)], "[9007199254740992,-9007199254740992]"),
        ({"n": [-(2**53) - 1, True]}, '{"n":["-9007199254740993",true]}'),
        ("\udcff", r'"\udcff"'),
    ],
)
def test_values_are_written_exactly(value: JsonValue, text: str) -> None:
    assert json_line(value) == text


def test_what_was_read_strictly_is_written_the_same() -> None:
    text = b'{"n":0.1000,"m":[1234567890,-0.0,{}],"k":"\\u00e9"}'

    assert json_line(read(text).value) == text.decode()
