"""Each clause that binds a broker: traffic that holds it, and traffic that breaks it."""

import pytest
from nsq_traffic import (
    BEAT,
    EXT,
    OK,
    ORDERED,
    PUB,
    TAGGED,
    Row,
    Traffic,
    check_each_clause_has_rows,
    check_row,
    finish,
    header,
    identified,
    in_order,
    message,
    pub_ext,
    pub_trace,
    requeue,
    sized,
    subscribed,
    tagged,
    traced,
)

from wireproof_kit.nsq.proxy.node_state import Known
from wireproof_spec.nsq.frame import message_frame, response_frame
from wireproof_spec.nsq.message import Extend

ROWS: dict[str, Row] = {
    "frames": (identified(), "smart.connection.frame", True),
    "frame-of-type-3": (
        identified().broker(b"\0\0\0\6\0\0\0\3OK"),
        "smart.connection.frame",
        False,
    ),
    "frame-too-short": (identified().broker(b"\0\0\0\3\0\0\0"), "smart.connection.frame", False),
    "identify": (identified(), "smart.connection.identify", True),
    "identify-ok": (
        Traffic().client(b"  V2IDENTIFY\n", sized(b"{}")).broker(OK),
        "smart.connection.identify",
        True,
    ),
    "identify-other": (
        Traffic().client(b"  V2IDENTIFY\n", sized(b"{}")).broker(response_frame(b"YES")),
        "smart.connection.identify",
        False,
    ),
    "sub": (subscribed(), "smart.partition.subscribe", True),
    "sub-other": (
        identified().client(b"SUB t c 0\n").broker(response_frame(b"ok")),
        "smart.partition.subscribe",
        False,
    ),
    "pub": (identified().client(PUB, PUB).broker(OK, OK), "smart.partition.publish", True),
    "pub-other": (
        identified().client(PUB).broker(response_frame(b"OK\n")),
        "smart.partition.publish",
        False,
    ),
    "pub-trace": (
        identified().client(pub_trace(9)).broker(traced(1, 9)),
        "smart.trace.response",
        True,
    ),
    "pub-trace-swapped": (
        identified().client(pub_trace(9)).broker(traced(9, 1)),
        "smart.trace.response",
        False,
    ),
    "pub-trace-bare": (
        identified().client(pub_trace(9)).broker(OK),
        "smart.trace.response",
        False,
    ),
    "pub-ext-ok": (
        identified().client(pub_ext({"a": "b"})).broker(OK),
        "ext.publish.ok-response",
        True,
    ),
    "pub-ext-traced-unasked": (
        identified().client(pub_ext({"a": "b"})).broker(traced(1, 0)),
        "ext.publish.ok-response",
        False,
    ),
    "pub-ext-empty-trace": (
        identified().client(pub_ext({"##trace_id": ""})).broker(OK),
        "ext.publish.trace-empty",
        True,
    ),
    "pub-ext-empty-traced": (
        identified().client(pub_ext({"##trace_id": ""})).broker(traced(1, 0)),
        "ext.publish.trace-empty",
        False,
    ),
    "pub-ext-trace": (
        identified().client(pub_ext({"##trace_id": "9"})).broker(traced(1, 9)),
        "ext.publish.trace-response",
        True,
    ),
    "pub-ext-trace-bare": (
        identified().client(pub_ext({"##trace_id": "9"})).broker(OK),
        "ext.publish.trace-response",
        False,
    ),
    "plain-message": (subscribed().broker(message(1)), "ext.consume.plain-topic", True),
    "plain-message-short": (
        subscribed().broker(message_frame(bytes(25))),
        "ext.consume.plain-topic",
        False,
    ),
    "ext-message": (
        subscribed(fields=EXT).broker(message(1, extend=header({"a": "b"}))),
        "ext.consume.layout",
        True,
    ),
    "ext-message-none": (
        subscribed(fields=EXT).broker(message(1, extend=Extend(0, None))),
        "ext.consume.layout",
        True,
    ),
    "ext-length-past-end": (
        subscribed(fields=EXT).broker(message_frame(bytes(26) + b"\4\xff\xff{}")),
        "ext.consume.layout",
        False,
    ),
    "ext-attempts": (
        subscribed(fields=EXT).broker(message(1, extend=Extend(0, None))),
        "ext.consume.attempts",
        True,
    ),
    "ext-attempts-indicator": (
        subscribed(fields=EXT).broker(message(1, attempts=0xA001, extend=Extend(0, None))),
        "ext.consume.attempts",
        False,
    ),
    "ext-attempts-indicator-later": (
        subscribed(fields=EXT)
        .broker(message(1, extend=Extend(0, None)))
        .client(requeue(1))
        .broker(message(1, attempts=0x1002, extend=Extend(0, None))),
        "ext.consume.attempts",
        False,
    ),
    "ext-attempts-again": (
        subscribed(fields=EXT)
        .broker(message(1, extend=Extend(0, None)))
        .client(requeue(1))
        .broker(message(1, attempts=2, extend=Extend(0, None))),
        "ext.consume.attempts",
        True,
    ),
    "ext-attempts-same": (
        subscribed(fields=EXT)
        .broker(message(1, attempts=2, extend=Extend(0, None)))
        .client(requeue(1))
        .broker(message(1, attempts=2, extend=Extend(0, None))),
        "ext.consume.attempts",
        False,
    ),
    "tag-own": (
        subscribed(fields=TAGGED).broker(tagged("a")),
        "ext.dispatch.never-other-tag",
        True,
    ),
    "tag-other": (
        subscribed(fields=TAGGED).broker(tagged("B")),
        "ext.dispatch.never-other-tag",
        False,
    ),
    "tag-other-bare": (
        subscribed(fields=TAGGED).broker(message(1, extend=Extend(2, b"B"))),
        "ext.dispatch.never-other-tag",
        False,
    ),
    "window": (
        subscribed(ready=2).broker(message(1), message(2)).client(finish(1)).broker(message(3)),
        "smart.connection.ready",
        True,
    ),
    "window-exceeded": (
        subscribed(ready=2)
        .broker(message(1), message(2), message(3))
        .client(finish(1), finish(2), finish(3))
        .later(6)
        .broker(BEAT),
        "smart.connection.ready",
        False,
    ),
    "window-lowered": (
        subscribed(ready=2).client(b"RDY 1\n").broker(message(1), message(2)),
        "smart.connection.ready",
        True,
    ),
    "order-sub": (subscribed(ORDERED), "smart.order.command", True),
    "order-sub-other": (
        identified().client(ORDERED).broker(response_frame(b"yes")),
        "smart.order.command",
        False,
    ),
    "order-place": (
        subscribed(ORDERED).broker(message(1, place=(0, 40))),
        "smart.order.layout",
        True,
    ),
    "order-no-place": (
        subscribed(ORDERED).broker(message_frame(bytes(26) + b"body")),
        "smart.order.layout",
        False,
    ),
    "order-ext-place": (
        subscribed(ORDERED, fields=EXT).broker(message(1, extend=header({}), place=(0, 40))),
        "smart.order.ext-place",
        True,
    ),
    "order-ext-place-first": (
        subscribed(ORDERED, fields=EXT).broker(
            message(1, extend=header({"k": "v"}), place=(7, 60), offset_first=True)
        ),
        "smart.order.ext-place",
        True,
    ),
    "order-ext-no-place": (
        subscribed(ORDERED, fields=EXT).broker(message(1, extend=header({}))),
        "smart.order.ext-place",
        False,
    ),
    "order-one": (
        subscribed(ORDERED)
        .broker(message(1, place=(0, 40)))
        .client(finish(1))
        .broker(message(2, place=(40, 40))),
        "smart.order.one-in-flight",
        True,
    ),
    "order-two": (
        subscribed(ORDERED, ready=5)
        .broker(message(1, place=(0, 40)), message(2, place=(40, 9)))
        .client(finish(1), finish(2))
        .later(6)
        .broker(BEAT),
        "smart.order.one-in-flight",
        False,
    ),
    "order-grows": (
        in_order((1, 0), (2, 40)),
        "smart.order.increasing",
        True,
    ),
    "order-set-back": (
        in_order((5, 160), (2, 40)),
        "smart.order.increasing",
        True,
    ),
    "order-shuffled": (
        in_order((1, 80), (2, 40)),
        "smart.order.increasing",
        False,
    ),
    "order-attempts": (
        subscribed(ORDERED)
        .broker(message(1, place=(0, 40)))
        .client(requeue(1))
        .broker(message(1, attempts=2, place=(0, 40))),
        "smart.order.attempts",
        True,
    ),
    "order-attempts-same": (
        subscribed(ORDERED)
        .broker(message(1, attempts=2, place=(0, 40)))
        .client(requeue(1))
        .broker(message(1, attempts=2, place=(0, 40))),
        "smart.order.attempts",
        False,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_traffic_shows_a_clause_and_no_other_violation(name: str) -> None:
    check_row(ROWS[name])


def test_every_clause_has_traffic_of_both_kinds() -> None:
    check_each_clause_has_rows(ROWS.values(), "broker")


def test_the_place_of_a_traced_message_is_that_of_its_publish() -> None:
    def shown(place: tuple[int, int], trace: int = 9) -> dict[str, list[str]]:
        known = Known(["o"])
        publishing = Traffic(known).client(b"  V2", pub_trace(9, topic=b"o"))
        publishing.broker(traced(4, 9, offset=120, size=34))
        consuming = Traffic(known, "nsqd2.1").client(b"  V2", ORDERED).broker(OK)
        return consuming.broker(message(4, trace=trace, place=place)).shown

    assert shown((120, 34))["smart.order.position"] == [""]
    assert "(120, 35)" in shown((120, 35))["smart.order.position"][0]
    assert "smart.order.position" not in shown((0, 1), trace=8)
