"""The JSON Schemas, and the readers of JSON, against bodies recorded from real servers."""

from collections import Counter

import pytest
from check_each import check_each

from wireproof_spec import strict_json
from wireproof_spec.json_schema import check
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange
from wireproof_spec.nsq.names import NSQ_CONTENT_TYPE, V1_ACCEPT, V1_CONTENT_TYPE
from wireproof_spec.wire_error import WireError

NSQD = golden.nsqd_http()
NSQLOOKUPD = golden.nsqlookupd_http()

NO_BODY = {"", "OK"}
NOT_OURS = ("/info", "/topics", "/channels", "/nodes", "/listlookup", "/cluster/stats")
"""Answers that nothing here reads; their errors have the schemas of all errors."""

ANSWERS = {"/pub_ext": "nsq/pub-ext-answer", "/pubtrace": "nsq/pub-ext-answer"}
UNESCAPED = 'strconv.Atoi: parsing "abc": invalid syntax'
"""A text that both servers paste into their JSON as it is, quotes and all."""


def is_v1(exchange: HttpExchange) -> bool:
    headers = {name.lower(): value for name, value in exchange.response_headers.items()}
    return headers.get(NSQ_CONTENT_TYPE.lower()) == V1_CONTENT_TYPE


def schema_of(exchange: HttpExchange) -> str:
    """Name the schema of a body by its kind and by the style of the answer alone."""
    path = exchange.path.partition("?")[0]
    style = "" if is_v1(exchange) else "-wrapped"
    if exchange.status == 200:
        return ANSWERS.get(path, "nsq/lookup") + style
    if path.startswith("/topic/") and exchange.status == 400:
        return "nsq/topic-create-error"
    return "nsq/error-answer" + style


def bodies(exchanges: tuple[HttpExchange, ...]) -> list[HttpExchange]:
    return [
        exchange
        for exchange in exchanges
        if exchange.response_body.decode() not in NO_BODY
        and not (exchange.status == 200 and exchange.path.startswith(NOT_OURS))
    ]


def is_unescaped(exchange: HttpExchange) -> bool:
    return UNESCAPED.encode() in exchange.response_body


@check_each(bodies(NSQD + NSQLOOKUPD), lambda row: row.name)
def test_bodies_follow_their_schema(exchange: HttpExchange) -> None:
    if is_unescaped(exchange):
        with pytest.raises(WireError):
            strict_json.read(exchange.response_body)
        return
    json = strict_json.read(exchange.response_body)

    assert json.faults == ()
    assert check(schema_of(exchange), json.value) == ()


def test_every_schema_of_an_answer_is_met() -> None:
    met = Counter(schema_of(row) for row in bodies(NSQD + NSQLOOKUPD) if not is_unescaped(row))

    assert met.keys() == {
        "nsq/error-answer",
        "nsq/error-answer-wrapped",
        "nsq/lookup",
        "nsq/lookup-wrapped",
        "nsq/pub-ext-answer",
        "nsq/pub-ext-answer-wrapped",
        "nsq/topic-create-error",
    }


def test_the_wrong_style_breaks_the_schema() -> None:
    for exchange in bodies(NSQD):
        if not is_unescaped(exchange):
            value = strict_json.read(exchange.response_body).value
            name = schema_of(exchange)
            other = name.removesuffix("-wrapped") if "wrapped" in name else f"{name}-wrapped"
            assert check(other, value) != ()


def test_the_style_follows_what_was_accepted() -> None:
    for exchange in bodies(NSQD):
        if exchange.path.startswith(("/pub?", "/pub_ext?", "/mpub?")) and exchange.status != 405:
            assert is_v1(exchange) == (exchange.request_headers.get("Accept") == V1_ACCEPT)


def test_success_without_trace_is_two_bytes() -> None:
    plain = [row for row in NSQD if row.status == 200 and row.path.startswith(("/pub?", "/mpub"))]

    assert plain != []
    assert {row.response_body for row in plain} == {b"OK"}


def test_rows_without_an_answer_are_known() -> None:
    silent = {row.name for row in NSQD if row.status is None}

    assert silent == {"mpub/empty_body", "mpub/only_newlines"}


def test_elided_requests_are_known() -> None:
    assert {row.name for row in NSQD if not row.whole} == {
        "pub/too_big",
        "pub/too_big_v1",
        "pub/max_size",
        "pub_ext/ext_65533",
        "pub_ext/ext_65534",
        "pub_ext/ext_65535",
        "pub_ext/ext_70000",
        "mpub/msg_too_big",
        "mpub/body_too_big",
    }
