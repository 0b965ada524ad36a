"""Each clause that binds a client: traffic that holds it, and traffic that breaks it."""

import pytest
from nsq_traffic import (
    BEAT,
    OK,
    Row,
    Traffic,
    check_each_clause_has_rows,
    check_row,
    finish,
    identified,
    look_up,
    message,
    pub_ext,
    requeue,
    subscribed,
)

from wireproof_kit.nsq.proxy.node_state import Known
from wireproof_spec.nsq.frame import error_frame


def beaten(count: int, answer: bytes = b"") -> Traffic:
    """Return a connection with a heartbeat each second, and this answer to each."""
    traffic = identified()
    for number in range(count):
        traffic.at = float(number)
        traffic.broker(BEAT).client(answer)
    return traffic


def refused() -> Traffic:
    """Return a connection whose subscription has been refused."""
    return identified().client(b"SUB t c 0\n").broker(error_frame("E_BAD_TOPIC", "why"))


ROWS: dict[str, Row] = {
    "commands": (identified(), "smart.client-send.well-formed", True),
    "no-command": (
        identified().client(b"PUB t 0\n\xff\xff\xff\xff"),
        "smart.client-send.well-formed",
        False,
    ),
    "no-magic": (Traffic().client(b"  V1IDENTIFY\n"), "smart.client-send.well-formed", False),
    "fin": (subscribed().broker(message(7)).client(finish(7)), "smart.client-send.finish", True),
    "fin-of-nothing": (
        subscribed().broker(message(7)).client(finish(8)),
        "smart.client-send.finish",
        False,
    ),
    "fin-without-trace": (
        subscribed().broker(message(7, trace=5)).client(finish(7)),
        "smart.client-send.finish",
        False,
    ),
    "req-of-nothing": (
        subscribed().broker(message(7)).client(requeue(8)),
        "smart.client-send.finish",
        False,
    ),
    "fin-once": (
        subscribed().broker(message(7)).client(finish(7)),
        "smart.client-consume.no-late-finish",
        True,
    ),
    "fin-twice": (
        subscribed().broker(message(7)).client(finish(7), finish(7)),
        "smart.client-consume.no-late-finish",
        False,
    ),
    "end": (
        subscribed().client(b"CLS\n", b"RDY 0\n", b"NOP\n"),
        "smart.client-connection.graceful-end",
        True,
    ),
    "rdy-after-end": (
        subscribed().client(b"CLS\n", b"RDY 1\n"),
        "smart.client-connection.graceful-end",
        False,
    ),
    "publish-after-end": (
        subscribed().client(b"CLS\n", b"PUB t\n\0\0\0\1x"),
        "smart.client-connection.graceful-end",
        False,
    ),
    "beats": (
        identified().broker(BEAT).client(b"NOP\n").broker(BEAT).client(b"NOP\n"),
        "smart.client.heartbeat",
        True,
    ),
    "beats-late": (
        beaten(2).client(b"NOP\n", b"NOP\n").broker(BEAT),
        "smart.client.heartbeat",
        True,
    ),
    "beats-unanswered": (beaten(3), "smart.client.heartbeat", False),
    "rdy": (subscribed(ready=100), "smart.client-send.ready", True),
    "rdy-too-many": (subscribed(ready=101), "smart.client-send.ready", False),
    "pub-ext": (identified().client(pub_ext({"a": "b"})), "ext.client-header.publish", True),
    "pub-ext-list": (identified().client(pub_ext([1])), "ext.client-header.publish", False),
    "pub-ext-text": (identified().client(pub_ext(b"{a}")), "ext.client-header.publish", False),
    "tag": (
        identified().client(pub_ext({"##client_dispatch_tag": "A"})),
        "ext.client-header.tag",
        True,
    ),
    "tag-number": (
        identified().client(pub_ext({"##client_dispatch_tag": 1})),
        "ext.client-header.tag",
        False,
    ),
    "trace": (identified().client(pub_ext({"##trace_id": "1"})), "ext.client-header.trace", True),
    "trace-number": (
        identified().client(pub_ext({"##trace_id": 1})),
        "ext.client-header.trace",
        False,
    ),
    "refused": (refused().close(), "smart.client.subscribe-error", True),
    "refused-and-kept": (
        refused().later(2).broker(BEAT).client(b"NOP\n"),
        "smart.client.subscribe-error",
        False,
    ),
    "lookup": (look_up("topic=t"), "smart.client-lookup.topic", True),
    "lookup-of-nothing": (look_up("access=r"), "smart.client-lookup.topic", False),
    "lookup-posted": (look_up("topic=t", "POST"), "smart.client-lookup.topic", False),
    "reads": (look_up("topic=t&access=r"), "smart.client.lookup-access", True),
    "reads-meta": (look_up("topic=t&access=r&metainfo=true"), "smart.client.lookup-access", True),
    "writes": (look_up("topic=t&access=w&metainfo=true"), "smart.client.lookup-access", True),
    "writes-without-meta": (
        look_up("topic=t&access=w&metainfo=1"),
        "smart.client.lookup-access",
        False,
    ),
    "reads-and-writes": (look_up("topic=t&access=rw"), "smart.client.lookup-access", False),
}


@pytest.mark.parametrize("name", ROWS)
def test_traffic_shows_a_clause_and_no_other_violation(name: str) -> None:
    check_row(ROWS[name])


def test_every_clause_has_traffic_of_both_kinds() -> None:
    check_each_clause_has_rows(ROWS.values(), "client")


def test_more_heartbeats_than_the_client_asked_for_may_wait_for_their_answer() -> None:
    traffic = identified({"heartbeat_interval": 30_000})
    for _ in range(10):
        traffic.later(1).broker(BEAT)

    assert traffic.deviating() == set()


def test_a_message_may_be_finished_on_another_connection() -> None:
    known = Known()
    Traffic(known).client(b"  V2SUB t c 0\n").broker(OK, message(7))
    again = Traffic(known, "nsqd1.2").client(b"  V2", finish(7))

    assert again.deviating() == set()
    assert again.client(finish(8)).deviating() == {"smart.client-send.finish"}


def test_a_lookup_of_the_original_nsq_has_no_access_and_none_is_due() -> None:
    assert "smart.client.lookup-access" not in look_up("topic=t").shown


def test_what_is_under_way_when_a_subscription_is_refused_does_not_count() -> None:
    soon = refused().later(1.9).broker(BEAT).client(b"NOP\n")

    assert "smart.client.subscribe-error" not in soon.shown
    assert "smart.client.subscribe-error" in soon.close().conforming()
    assert "smart.client.subscribe-error" not in refused().close("broker").shown
    assert "smart.client.subscribe-error" not in identified().close().shown


def test_heartbeats_that_come_together_may_be_answered_together() -> None:
    assert "smart.client.heartbeat" not in identified().broker(*[BEAT] * 20).shown
