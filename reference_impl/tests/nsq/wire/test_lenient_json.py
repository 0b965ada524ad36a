import pytest

from wireproof_reference_impl.nsq.wire.lenient_json import OPAQUE, BadJson, Lenient, read

TAKEN: dict[bytes, Lenient] = {
    b"{}": {},
    b' { "a" : "b" } ': {"a": "b"},
    b'{"a":"1","a":"2"}': {"a": "1"},
    b'{"a":1,"b":[{}],"c":null,"d":{"e":"f"}}': {
        "a": OPAQUE,
        "b": OPAQUE,
        "c": OPAQUE,
        "d": {"e": "f"},
    },
    b'{"a":"\n\x00"}': {"a": "\n\x00"},
    rb'{"a":"\x"}': {"a": r"\x"},
    rb'{"\u0061":"\u0062\"\\n"}': {"a": 'b"\\n'},
    rb'{"a":"\u00"}': {"a": r"\u00"},
    b'{"a":NaN,"b":007,"c":-inf,"d":+1e}': dict.fromkeys("abcd", OPAQUE),
    b'"s"': "s",
    b"[]": OPAQUE,
    b"12": OPAQUE,
    b"true": OPAQUE,
    b'{"a":"\xff"}': {"a": "\udcff"},
}

REFUSED = {
    b"": 'cannot parse JSON: cannot parse empty string; unparsed tail: ""',
    b"hello": 'cannot parse JSON: cannot parse number: unexpected char: "h"; '
    'unparsed tail: "hello"',
    b"nul": 'cannot parse JSON: unexpected value found: "nul"; unparsed tail: "nul"',
    b"{": "cannot parse JSON: cannot parse object: missing '}'; unparsed tail: \"\"",
    b'{"a"': "cannot parse JSON: cannot parse object: missing ':' after object key; "
    'unparsed tail: ""',
    b'{"a":"b': "cannot parse JSON: cannot parse object: cannot parse object value: "
    'cannot parse string: missing closing \'"\'; unparsed tail: ""',
    b'{"a":"b" "c"}': "cannot parse JSON: cannot parse object: missing ',' after object value; "
    'unparsed tail: "\\"c\\"}"',
    b'{"a":[1 2]}': "cannot parse JSON: cannot parse object: cannot parse object value: "
    "cannot parse array: missing ',' after array value; unparsed tail: \"2]}\"",
    b'{"a":"b"} x': 'unexpected tail: "x"',
}


@pytest.mark.parametrize("data", TAKEN)
def test_what_the_broker_takes(data: bytes) -> None:
    assert read(data) == TAKEN[data]


@pytest.mark.parametrize("data", REFUSED)
def test_what_the_broker_refuses_and_how(data: bytes) -> None:
    with pytest.raises(BadJson) as caught:
        read(data)

    assert caught.value.why == REFUSED[data]


@pytest.mark.parametrize("bracket", [b'{"a":', b"["])
def test_depth_is_limited(bracket: bytes) -> None:
    closing = b"}" if bracket[:1] == b"{" else b"]"
    assert read(bracket * 299 + b"1" + closing * 299) is not None
    with pytest.raises(BadJson, match="too big depth"):
        read(bracket * 300 + b"1" + closing * 300)
    with pytest.raises(BadJson):
        read(bracket * 50_000)
