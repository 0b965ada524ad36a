"""The JSON header of PUB_EXT: accepted and refused values."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub_ext
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.publish_results import is_success, observe_left_out

NOT_JSON = {
    "brace": b"{",
    "cut-in-name": b'{"k',
    "cut-after-name": b'{"k"',
    "cut-after-colon": b'{"k":',
    "cut-in-value": b'{"k":"v',
    "cut-after-value": b'{"k":"v"',
    "cut-after-comma": b'{"k":"v",',
    "cut-after-number": b'{"k":1',
    "no-value": b'{"k":}',
    "plus-alone": b'{"k":+}',
    "minus-alone": b'{"k":-}',
    "text-behind-number": b'{"k":1x}',
    "nan-behind-number": b'{"k":1nan}',
    "text-behind-nan": b'{"k":NaNx}',
    "text-behind-small-nan": b'{"k":nanx}',
    "word-in-array": b'{"k":[x]}',
    "array-closed-by-a-brace": b'{"k":[}',
    "no-colon": b'{"k" "v"}',
    "no-comma": b'{"k":"v" "l":"w"}',
    "comma-at-end": b'{"k":"v",}',
    "comma-first": b'{,"k":"v"}',
    "comma-alone": b"{,}",
    "name-alone": b'{"k"}',
    "name-without-quotes": b'{k:"v"}',
    "value-without-quotes": b'{"k":v}',
    "single-quotes": b"{'k':'v'}",
    "equals-sign": b'{"k"="v"}',
    "wrong-bracket": b'{"k":"v"]',
    "text": b"hello",
    "text-of-pairs": b"k=v",
    "cut-word": b"nul",
    "two-objects": b'{"k":"v"}{"l":"w"}',
    "text-behind": b'{"k":"v"}x',
    "text-behind-nothing": b"{}x",
    "brace-behind": b'{"k":"v"}}',
    "comment": b'{"k":"v"/*c*/}',
    "byte-order-mark": b'\xef\xbb\xbf{"k":"v"}',
    "utf-16": '{"k":"v"}'.encode("utf-16-be"),
    "blank": b" ",
    "nul": b"\x00",
    "nul-behind": b'{"k":"v"}\x00',
    "binary": b"\x00\xff\x80\x7f",
    "greatest-byte": b"\xff",
}

BAD_NAME_CHARACTERS = {
    "space": " ",
    "exclamation-mark": "!",
    "quotation-mark": '"',
    "dollar-sign": "$",
    "percent-sign": "%",
    "ampersand": "&",
    "apostrophe": "'",
    "parenthesis": "(",
    "closing-parenthesis": ")",
    "asterisk": "*",
    "plus-sign": "+",
    "comma": ",",
    "full-stop": ".",
    "slash": "/",
    "colon": ":",
    "semicolon": ";",
    "less-than": "<",
    "equals-sign": "=",
    "greater-than": ">",
    "question-mark": "?",
    "at-sign": "@",
    "bracket": "[",
    "backslash": "\\",
    "closing-bracket": "]",
    "circumflex": "^",
    "grave-accent": "`",
    "brace": "{",
    "bar": "|",
    "closing-brace": "}",
    "tilde": "~",
    "line-feed": "\n",
    "nul": "\x00",
    "delete": "\x7f",
    "latin-letter": "é",
    "full-width-digit": "\uff11",
    "kelvin-sign": "\u212a",
    "emoji": "😀",
}

BAD_NAMES = {
    "empty": "",
    "first": ".ab",
    "last": "ab.",
    "line-feed-last": "ab\n",
    "beside-a-good-one": "a b",
    "behind-the-signs": "## a",
}

SCALARS = {
    "number": b'{"k":1}',
    "negative-number": b'{"k":-1}',
    "fraction": b'{"k":1.5}',
    "exponent": b'{"k":1e3}',
    "big-number": b'{"k":18446744073709551616}',
    "true": b'{"k":true}',
    "false": b'{"k":false}',
    "null": b'{"k":null}',
    "second-value": b'{"k":"v","l":1}',
}

LOOSE_JSON = {
    "same-name-twice": b'{"k":"v","k":"v"}',
    "same-name-two-values": b'{"k":"v","k":"w"}',
    "same-name-escaped": rb'{"k":"v","\u006b":"w"}',
    "two-trace-ids": b'{"##trace_id":"1","##trace_id":"2"}',
    "object-inside": b'{"k":{"l":"v"}}',
    "array-inside": b'{"k":["v"]}',
    "empty-object-inside": b'{"k":{}}',
    "empty-array-inside": b'{"k":[]}',
    "hundred-levels": b'{"k":' + b"[" * 100 + b"]" * 100 + b"}",
    "raw-line-feed": b'{"k":"a\nb"}',
    "raw-tab": b'{"k":"a\tb"}',
    "raw-control": b'{"k":"a\x01b"}',
    "raw-nul": b'{"k":"a\x00b"}',
    "raw-control-in-name": b'{"a\x1fb":"v"}',
    "not-utf-8": b'{"k":"\xff"}',
    "not-utf-8-cut": b'{"k":"\xc3"}',
    "not-utf-8-overlong": b'{"k":"\xc0\xaf"}',
    "not-utf-8-surrogate": b'{"k":"\xed\xa0\x80"}',
    "not-utf-8-in-name": b'{"\xff":"v"}',
    "nan": b'{"k":NaN}',
    "infinity": b'{"k":Infinity}',
    "minus-infinity": b'{"k":-Infinity}',
    "leading-zero": b'{"k":01}',
    "unknown-escape": rb'{"k":"\x41"}',
    "short-escape": rb'{"k":"\u41"}',
}

NOT_AN_OBJECT = {
    "array": b'["k","v"]',
    "string": b'"k"',
    "number": b"1",
    "true": b"true",
    "null": b"null",
}

ORDINARY = {"k": "v"}
UNKNOWN_RESERVED = {
    "unknown": {"##wp_unknown": "v"},
    "signs-alone": {"##": "v"},
    "other-case": {"##TRACE_ID": "v"},
}


@case("nsq/publish/header-json", clause="ext.publish.header-json")
@pytest.mark.parametrize("header", NOT_JSON.values(), ids=NOT_JSON)
def test_header_that_is_not_json(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT with a header that is not JSON is refused."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/header-json-unpublished", clause="ext.publish.header-json")
@pytest.mark.parametrize(
    "header", [b'{"k":"v"', b"hello", b'{"k":"v"}x'], ids=["cut", "text", "tail"]
)
def test_message_under_a_refused_header(
    broker: Broker, ext_topic: Topic, header: bytes
) -> Observation:
    """A message whose header is refused is not delivered."""
    refused, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.ask(pub_ext(ext_topic, header, refused))
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=refused)


@case("nsq/publish/name-character", clause="ext.publish.header-name")
@pytest.mark.parametrize("character", BAD_NAME_CHARACTERS.values(), ids=BAD_NAME_CHARACTERS)
def test_name_with_a_foreign_character(
    broker: Broker, ext_topic: Topic, character: str
) -> Observation:
    """PUB_EXT refuses header names with characters other than letters, digits, _ - #."""
    with broker.connect(topic=ext_topic) as client:
        frame = pub_ext(ext_topic, {f"a{character}b": "v"}, broker.unique_body())
        answer = client.ask(frame)

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/name-form", clause="ext.publish.header-name")
@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_illegal_name(broker: Broker, ext_topic: Topic, name: str) -> Observation:
    """PUB_EXT refuses an empty header name or one with an illegal character anywhere."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, {"k": "v", name: "v"}, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/value-type", clause="ext.publish.header-value")
@pytest.mark.parametrize("header", SCALARS.values(), ids=SCALARS)
def test_value_that_is_no_string(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT refuses header values that are not JSON strings, or accepts all of them."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/strict", clause="ext.publish.header-strict")
@pytest.mark.parametrize("header", LOOSE_JSON.values(), ids=LOOSE_JSON)
def test_loose_json(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT refuses a header that is ambiguous JSON or has nested values."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/strict", clause="ext.publish.header-json")
@pytest.mark.parametrize("header", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT)
def test_header_that_is_no_object(broker: Broker, ext_topic: Topic, header: bytes) -> Observation:
    """PUB_EXT refuses a header that is JSON but not an object."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, header, broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/reserved-name", clause="ext.publish.reserved-name")
@pytest.mark.parametrize("header", UNKNOWN_RESERVED.values(), ids=UNKNOWN_RESERVED)
def test_unknown_reserved_name(
    broker: Broker, ext_topic: Topic, header: dict[str, str]
) -> Observation:
    """An unknown header name that begins with ## is refused or left out."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer:
        answer = observe(broker.publish(ext_topic, body, {**ORDINARY, **header}))
        if not is_success(answer):
            return answer
        return observe_left_out(consumer.next(), body=body, kept=ORDINARY, reserved=header)
