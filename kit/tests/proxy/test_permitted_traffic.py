"""What the texts permit a broker is no deviation, and what they do not permit still is one."""

from collections.abc import Iterable

import pytest
from nsq_traffic import (
    BEAT,
    EXT,
    OK,
    ORDERED,
    PUB,
    TAGGED,
    Traffic,
    finish,
    header,
    identified,
    in_order,
    message,
    pub_trace,
    requeue,
    sized,
    subscribed,
    traced,
)

from wireproof_kit.nsq.proxy.node_state import Known
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.message import Extend

Said = tuple[str, bytes]
"""Who says it (client or broker), and what."""


def bare(number: int, offset: int) -> bytes:
    """Return an ordered message without a header: version and length 0, offset, size."""
    head = bytes(10) + number.to_bytes(8, "big") + bytes(8)
    place = offset.to_bytes(8, "big") + (32).to_bytes(4, "big")
    return message_frame(head + b"\0\0\0" + place + b"m")


def moved(extend: Extend) -> bytes:
    """Return an ordered message in the layout of a topic that has been upgraded."""
    return message(2, extend=extend, place=(40, 35 + len(extend.data or b"")))


SPARED: dict[str, Traffic] = {
    "SUB_ORDER served as SUB on a topic that was not made ordered": identified()
    .client(b"SUB_ORDER t c 0\n")
    .broker(OK)
    .client(b"RDY 5\n")
    .broker(*(message(number) for number in range(3)))
    .client(*(finish(number) for number in range(3)))
    .later(6)
    .broker(BEAT),
    "SUB_ORDER answered with something else there": identified()
    .client(b"SUB_ORDER t c 0\n")
    .broker(response_frame(b"SUB")),
    "an ordered subscription moved to the new layout": in_order((1, 0)).broker(
        moved(header({"a": "b"}))
    ),
    "a message without a header in the new layout": in_order((1, 0)).broker(
        moved(Extend(0, None))
    ),
    "such a message with a length": in_order((1, 0)).broker(bare(2, 40)),
    "messages of SUB_ADVANCED": subscribed(b"SUB_ADVANCED t c 0\n").broker(
        message_frame(bytes(26) + b"body")
    ),
    "an answer to IDENTIFY with no members": Traffic()
    .client(b"  V2IDENTIFY\n", sized(b"{}"))
    .broker(response_frame(b"{}")),
    "attempts that grow beyond 12 bits": subscribed(fields=EXT)
    .broker(message(1, attempts=4095, extend=Extend(0, None)))
    .client(requeue(1))
    .broker(message(1, attempts=4096, extend=Extend(0, None))),
    "more attempts than 12 bits, first seen here": subscribed(fields=EXT).broker(
        message(1, attempts=4099, extend=Extend(0, None))
    ),
    "more attempts than a deployed node counts": subscribed(fields=EXT).broker(
        message(1, attempts=4001, extend=Extend(0, None))
    ),
    "a header that is nested deeply": subscribed(fields=TAGGED).broker(
        message(1, extend=Extend(4, b"[" * 60_000))
    ),
    "a channel that is emptied while the client holds a message": subscribed(ready=1)
    .broker(message(1), message(2))
    .client(finish(1), finish(2))
    .broker(error_frame("E_FIN_FAILED", "FIN 1 failed ID not in flight"))
    .later(6)
    .broker(BEAT),
    "a client that has not finished all": subscribed(ready=1)
    .broker(message(1), message(2))
    .client(finish(2))
    .later(6)
    .broker(BEAT),
    "RDY renewed as a credit": subscribed(ready=4)
    .broker(*(message(number) for number in range(3)))
    .client(b"RDY 4\n")
    .broker(*(message(number) for number in range(3, 7)))
    .client(*(finish(number) for number in range(7)))
    .later(6)
    .broker(BEAT),
    "a channel that is set back": subscribed(ORDERED)
    .broker(message(1, place=(0, 40)))
    .client(requeue(1))
    .broker(message(1, place=(0, 40))),
    "version and length of messages without a header": subscribed(ORDERED, fields=EXT)
    .broker(bare(1, 0))
    .client(finish(1))
    .broker(bare(2, 40)),
}


@pytest.mark.parametrize("name", SPARED)
def test_what_the_texts_permit_is_no_deviation(name: str) -> None:
    assert SPARED[name].deviating() == set()


def test_a_topic_whose_plain_subscription_is_refused_is_judged_as_ordered() -> None:
    known = Known()

    def sent_in_order() -> Traffic:
        traffic = identified(known=known).client(b"SUB_ORDER t c 0\n").broker(OK)
        return traffic.broker(message_frame(bytes(26) + b"body"))

    assert sent_in_order().deviating() == set()
    refused = error_frame("E_SUB_ORDER_IS_MUST", "this topic is ordered")
    identified(known=known).client(b"SUB t c 0\n").broker(refused)
    assert sent_in_order().deviating() == {"smart.order.layout"}


def test_offset_and_size_in_the_wrong_order_are_no_new_layout() -> None:
    known = Known(["o"])
    publishing = Traffic(known).client(b"  V2", pub_trace(9, topic=b"o"))
    publishing.broker(traced(2, 9, offset=40, size=34))
    head = bytes(10) + (2).to_bytes(8, "big") + (9).to_bytes(8, "big")
    swapped = (34).to_bytes(4, "big") + (40).to_bytes(8, "big")
    consuming = Traffic(known, "nsqd2.1").client(b"  V2", ORDERED)
    consuming.broker(OK, message_frame(head + swapped + b"body"))

    assert consuming.deviating() == {"smart.order.position"}


def test_messages_that_may_have_timed_out_do_not_count_against_rdy() -> None:
    traffic = subscribed(ready=1).broker(message(1))
    traffic.at = 0.95
    traffic.broker(message(2))

    assert "smart.connection.ready" in traffic.conforming()


def test_an_older_rdy_counts_for_some_seconds_only() -> None:
    traffic = subscribed(ready=3).client(b"RDY 1\n")
    traffic.later(6).broker(message(1), message(2)).client(finish(1), finish(2))
    traffic.later(6).broker(BEAT)

    assert "smart.connection.ready" in traffic.deviating()


@pytest.mark.parametrize(
    "said",
    [
        [("client", b"RDY 1\n"), ("broker", error_frame("E_INVALID")), ("broker", OK)],
        [("client", PUB), ("broker", error_frame("E_PUB_FAILED")), ("broker", OK)],
    ],
    ids=["of-rdy", "of-a-publish"],
)
def test_after_an_error_that_may_belong_to_several_no_answer_is_judged(
    said: Iterable[Said],
) -> None:
    traffic = identified().client(PUB, pub_trace(3))
    for who, data in said:
        traffic = traffic.client(data) if who == "client" else traffic.broker(data)

    assert "smart.partition.publish" not in traffic.shown
    assert "smart.trace.response" not in traffic.shown


def test_an_error_that_may_be_of_rdy_is_not_taken_for_that_of_a_publish() -> None:
    traffic = identified().client(b"RDY 1\n", PUB).broker(error_frame("E_INVALID"))
    traffic.client(pub_trace(3)).broker(OK)

    assert traffic.deviating() == set()


def test_an_error_about_a_message_answers_no_publish() -> None:
    traffic = identified().client(PUB, finish(1)).broker(error_frame("E_FIN_FAILED"), OK)

    assert traffic.shown["smart.partition.publish"] == [""]
