import struct

import pytest

from wireproof_kit.nsq.observe.delivery import Delivery, Layout, read_delivery
from wireproof_kit.nsq.observe.observations import (
    find_difference,
    is_respelled,
    observe,
    observe_absence,
    observe_delivery,
    observe_http,
)
from wireproof_kit.nsq.wire.answers import (
    Answer,
    Closed,
    ErrorFrame,
    Nonsense,
    Pushed,
    Response,
    Silent,
    refusal,
)
from wireproof_kit.nsq.wire.http import HttpAnswer, make_failed
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.strict_json import read
from wireproof_spec.wire_error import WireError
from wireproof_suites.nsq.steps.publish_results import observe_left_out

FAULT = WireError(clause="c", field="size", offset=0, expected="at least 4", found="0")
EXT = Layout(extend=True, ordered=False)
BODY, HEADER = b"the body", b'{"k":"v"}'

ANSWERS: dict[str, tuple[Answer, str]] = {
    "ok": (Response(b"OK"), "ok"),
    "trace": (Response(struct.pack(">2sQQQI", b"OK", 7, 9, 0, 45)), "trace"),
    "json": (Response(b'{"version":"1"}'), "json"),
    "text": (Response(b"CLOSE_WAIT"), "response:CLOSE_WAIT"),
    "long-text": (Response(b"x" * 100), "response:" + "x" * 20),
    "comma": (Response(b"a,b"), "response:a;b"),
    "binary": (Response(b"\xff\0\1"), "response:binary-3"),
    "not-quite-ok": (Response(b"OK\n"), "response:binary-3"),
    "error": (refusal(b"E_BAD_BODY IDENTIFY too big"), "error:E_BAD_BODY"),
    "error-alone": (refusal(b"E_BAD_PROTOCOL"), "error:E_BAD_PROTOCOL"),
    "error-with-blank": (refusal(b"E_TOPIC_NOT_EXIST "), "error:E_TOPIC_NOT_EXIST"),
    "error-unreadable": (refusal(b"\xff\xfe"), "error:unreadable"),
    "error-empty": (refusal(b""), "error:unreadable"),
    "message": (Pushed(b"m"), "message"),
    "closed": (Closed("end"), "closed"),
    "reset": (Closed("reset"), "closed"),
    "silence": (Silent(0.3), "silence"),
    "nonsense": (Nonsense(FAULT), "nonsense"),
}


@pytest.mark.parametrize(("answer", "word"), ANSWERS.values(), ids=ANSWERS)
def test_each_answer_has_its_word(answer: Answer, word: str) -> None:
    assert observe(answer).value == word


def test_the_state_after_it_stands_behind_a_comma() -> None:
    assert observe(Response(b"OK"), then="open").value == "ok,open"
    assert observe(ErrorFrame("E_X", b"E_X"), then="closed").value == "error:E_X,closed"
    assert observe(Closed("end"), then="closed").value == "closed"


def test_what_is_owed_and_missing_is_overdue() -> None:
    assert observe(Silent(1.0)).overdue
    assert observe(Response(b"OK"), then="stuck").overdue
    assert not observe(Closed("end")).overdue
    assert observe_delivery(None, body=BODY).overdue


def message(header: bytes | None, body: bytes = BODY) -> bytes:
    extend = Extend(0, None) if header is None else Extend(4, header)
    value = Message(1, 1, 2, 3, extend, None, None, body)
    return encode(message_schema(extend=True, ordered=False), value)


def delivered(data: bytes, due: Layout = EXT) -> Delivery:
    return read_delivery(data, due, frozenset({BODY}))


DELIVERIES = {
    "as-sent": (message(HEADER), HEADER, "delivered:as-sent"),
    "without-header": (message(None), None, "delivered:as-sent"),
    "header-changed": (message(b'{"k":"w"}'), HEADER, "delivered:header-changed"),
    "header-respelled": (message(b'{ "k":"v"}'), HEADER, "delivered:as-sent"),
    "header-lost": (message(None), HEADER, "delivered:no-header"),
    "header-invented": (message(HEADER), None, "delivered:header-changed"),
    "body-changed": (message(HEADER, b"the tidy"), HEADER, "delivered:body-changed"),
    "too-short": (b"\0" * 10, HEADER, "delivered:undecodable"),
}


@pytest.mark.parametrize(("data", "header", "word"), DELIVERIES.values(), ids=DELIVERIES)
def test_each_delivery_has_its_word(data: bytes, header: bytes | None, word: str) -> None:
    observation = observe_delivery(delivered(data), body=BODY, header=header)

    assert observation.value == word
    assert (observation.difference is None) is (word == "delivered:as-sent")


def test_a_header_may_be_respelled_where_only_its_value_counts() -> None:
    found = delivered(message(b'{ "k" : "v" }'))

    assert observe_delivery(found, body=BODY, header=HEADER).value.endswith("as-sent")
    exact = observe_delivery(found, body=BODY, header=HEADER, exact=True)
    assert exact.value == "delivered:header-respelled"


RESPELLED = {
    "names-in-another-order": (b'{"a":"1","b":"2"}', b'{"b":"2","a":"1"}', True),
    "own-names-left-out": (b'{"a":"1","##trace_id":"7"}', b'{"a":"1"}', True),
    "other-name-left-out": (b'{"a":"1","b":"2"}', b'{"a":"1"}', False),
    "number-rounded": (b'{"a":18446744073709551617}', b'{"a":1.8446744073709552e19}', True),
    "number-changed": (b'{"a":5}', b'{"a":6}', False),
    "name-in-lower-case": (b'{"A":"1"}', b'{"a":"1"}', False),
    "value-in-lower-case": (b'{"a":"X"}', b'{"a":"x"}', False),
    "number-for-text": (b'{"a":"5"}', b'{"a":5}', False),
}


@pytest.mark.parametrize(("sent", "found", "respelled"), RESPELLED.values(), ids=RESPELLED)
def test_respelled_is_the_same_value_but_for_what_a_broker_may_change(
    sent: bytes, found: bytes, respelled: bool
) -> None:
    assert is_respelled(sent, found) is respelled


@pytest.mark.parametrize(("found", "respelled"), [(b"1.50", True), (b"1.5000001", False)])
def test_exactly_respelled_numbers_keep_their_digits(found: bytes, respelled: bool) -> None:
    assert is_respelled(b'{"a":1.5}', b'{"a":%s}' % found, exact=True) is respelled
    assert not is_respelled(*RESPELLED["number-rounded"][:2], exact=True)


@pytest.mark.parametrize("header", [b"{", b'{"k":"w"}'])
def test_another_value_is_a_change_however_it_is_spelled(header: bytes) -> None:
    found = delivered(message(header))

    word = observe_delivery(found, body=BODY, header=HEADER).value
    assert word == "delivered:header-changed"


@pytest.mark.parametrize(("excess", "is_noted"), [(1, True), (8, True), (9, False), (-1, False)])
def test_bytes_behind_a_body_may_come_from_a_wrong_frame_size(excess: int, is_noted: bool) -> None:
    body = (BODY + b"123456789")[: len(BODY) + excess]
    seen = observe_delivery(delivered(message(HEADER, body)), body=BODY, header=HEADER)

    assert seen.value == "delivered:body-changed"
    assert ("the size of this frame is wrong" in seen.note) == is_noted


LEFT_OUT = {
    "left-out": (message(b'{"k": "v"}'), "delivered:header-changed"),
    "stored": (message(b'{"k":"v","##x":"1"}'), "delivered:as-sent"),
    "stored-in-another-order": (message(b'{"##x":"1","k":"v"}'), "delivered:as-sent"),
    "value-changed": (message(b'{"k":"v","##x":"2"}'), "delivered:header-corrupted"),
    "another-name-lost": (message(b'{"##x":"1"}'), "delivered:header-corrupted"),
    "all-lost": (message(None), "delivered:header-corrupted"),
    "body-changed": (message(b'{"k":"v"}', b"the tidy"), "delivered:body-changed"),
}


@pytest.mark.parametrize(("data", "word"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_corrupted_header_is_not_one_without_the_reserved_name(data: bytes, word: str) -> None:
    seen = observe_left_out(delivered(data), body=BODY, kept={"k": "v"}, reserved={"##x": "1"})

    assert seen.value == word


def test_a_delivery_in_another_layout_is_named_by_it() -> None:
    plain = encode(
        message_schema(extend=False, ordered=True), Message(1, 1, 2, 3, None, 5, 6, BODY)
    )

    word = observe_delivery(delivered(plain), body=BODY, header=HEADER).value
    assert word == "delivered:layout-plain" or word == "delivered:layout-ordered"


def test_absence_needs_a_sentinel() -> None:
    unwanted = delivered(message(HEADER))

    assert observe_absence(None, of=BODY).value == "no-sentinel"
    assert observe_absence([], of=BODY).value == "absent"
    assert observe_absence([unwanted], of=BODY).value == "unwanted"
    assert observe_absence([unwanted], of=b"another").value == "absent"


@pytest.mark.parametrize(
    ("expected", "found", "at"),
    [(b"abc", b"abd", 2), (b"abc", b"ab", 2), (b"", b"x", 0), (b"ab", b"abc", 2)],
)
def test_the_first_difference_of_two_byte_strings(expected: bytes, found: bytes, at: int) -> None:
    assert find_difference("f", expected=expected, found=found).offset == at


def http(status: int, body: bytes) -> HttpAnswer:
    try:
        json = read(body)
    except WireError:
        json = None
    return HttpAnswer(status, (), body, json)


HTTP_ANSWERS = {
    "ok": (http(200, b"OK"), "http:200,ok"),
    "quoted": (http(200, b'"OK"'), "http:200,ok"),
    "empty": (http(200, b""), "http:200,empty"),
    "message": (
        http(400, b'{"message":"E_INVALID_JSON_HEADER"}'),
        "http:400,E_INVALID_JSON_HEADER",
    ),
    "wrapped": (
        http(500, b'{"status_code":500,"status_txt":"INVALID_TRACE_ID","data":null}'),
        "http:500,INVALID_TRACE_ID",
    ),
    "trace": (
        http(200, b'{"status":"OK","id":1,"trace_id":"7","queue_offset":0,"rawsize":40}'),
        "http:200,trace",
    ),
    "text": (http(503, b'{"message":"extend data exceed the limit"}'), "http:503,extend"),
    "page": (http(502, b"<html>"), "http:502,other"),
    "silence": (make_failed("silence"), "http:silence"),
    "closed": (make_failed("closed"), "http:closed"),
}


@pytest.mark.parametrize(("answer", "word"), HTTP_ANSWERS.values(), ids=HTTP_ANSWERS)
def test_each_http_answer_has_its_word(answer: HttpAnswer, word: str) -> None:
    assert observe_http(answer).value == word
