"""The ledger of a client: every connection it opens is judged, in whichever case."""

from collections.abc import Iterable

import pytest

from wireproof_kit.clients.story import BY_CLIENT_IN_ORDER
from wireproof_kit.ledger.ledger import Ledger
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.course import tell
from wireproof_kit.runner.records import steps_record
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame, error_frame, response_frame

FIRST, SECOND = "nsqd1.1", "nsqd1.2"
IDENTIFY = (
    b'{"client_id":"c","hostname":"h","short_id":"c","long_id":"h","feature_negotiation":true}'
)
OK = response_frame(b"OK")
READY = "smart.client-connection.first-ready"
FORMED = "smart.client-send.well-formed"
LOOKUP = "smart.client-lookup.topic"
ONCE = "smart.client-consume.no-late-finish"
OWN_ID = "smart.client-send.finish"
END = "smart.client-connection.graceful-end"
ID = bytes(15) + b"\7"


def sent(conn: str, data: bytes, at: int = 0) -> Step:
    return Step(at, conn, "send", data)


def received(conn: str, data: bytes) -> Step:
    return Step(0, conn, "receive", data)


def opened(conn: str) -> list[Step]:
    """Return the steps of a connection up to its subscription."""
    identify = b"IDENTIFY\n" + len(IDENTIFY).to_bytes(4, "big") + IDENTIFY
    return [
        Step(0, conn, "open"),
        sent(conn, b"  V2" + identify),
        received(conn, response_frame(b'{"max_rdy_count":2500}')),
        sent(conn, b"SUB t c 0\n"),
        received(conn, OK),
    ]


def closed(conn: str) -> Step:
    return Step(0, conn, "close", note="by the client")


@pytest.fixture
def ledger() -> Ledger:
    return NSQ_CLIENTS.open_ledger()


def broken(ledger: Ledger, *cases: Iterable[Step]) -> dict[tuple[str, str], list[str]]:
    """Return the ways that the cases break, each with the cases that show it."""
    for number, steps in enumerate(cases, start=1):
        ledger.read(f"nsq/client/{number}", list(steps))
    outcomes = ledger.conclude()
    return {(each.clause, each.way): each.cases for each in outcomes if each.broken}


def test_a_connection_in_order_breaks_nothing(ledger: Ledger) -> None:
    steps = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), closed(FIRST)]
    assert broken(ledger, steps) == {}
    kept = {each.clause for each in ledger.conclude() if each.kept}
    assert {READY, FORMED, "smart.client.handshake"} <= kept


def test_a_rule_that_is_broken_after_a_reconnect_is_told_of_that_way(ledger: Ledger) -> None:
    steps = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), closed(FIRST)]
    steps += [*opened(SECOND), sent(SECOND, b"RDY 9\n"), closed(SECOND)]
    assert broken(ledger, steps) == {(READY, "reconnected"): ["nsq/client/1"]}


def test_the_evidence_of_a_breach_can_be_told(ledger: Ledger) -> None:
    steps = [*opened(FIRST), sent(FIRST, b"RDY 9\n"), sent(FIRST, b"RDY x\n"), closed(FIRST)]
    broken(ledger, steps)
    told = {
        outcome.clause: [
            line.text for line in tell(steps_record(place.step for place in outcome.evidence))
        ]
        for outcome in ledger.conclude()
        if outcome.broken
    }
    assert any(line.endswith("RDY 9") for line in told[READY])
    assert "malformed" in told[FORMED][-1]


def test_a_malformed_command_is_found_in_any_case(ledger: Ledger) -> None:
    right = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), closed(FIRST)]
    wrong = [*right[:-1], sent(FIRST, b"RDY nine\n"), closed(FIRST)]
    assert broken(ledger, right, wrong) == {(FORMED, "plain"): ["nsq/client/2"]}


def test_a_command_that_is_cut_off_at_the_end_of_the_stream_is_malformed(ledger: Ledger) -> None:
    steps = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), sent(FIRST, b"NO")]
    lost = [*steps, closed(FIRST)]
    ended = [*steps, Step(0, FIRST, "close", note=BY_CLIENT_IN_ORDER)]
    assert broken(ledger, lost, ended) == {(FORMED, "plain"): ["nsq/client/2"]}


def test_a_message_is_finished_as_often_as_it_was_delivered(ledger: Ledger) -> None:
    message = received(FIRST, encode(SERVER_FRAME, ServerFrame(2, bytes(10) + ID + b"body")))
    finish, requeue = sent(FIRST, b"FIN " + ID + b"\n"), sent(FIRST, b"REQ " + ID + b" 0\n")
    start = [*opened(FIRST), sent(FIRST, b"RDY 1\n")]
    right = [*start, message, message, finish, requeue, message, finish]
    again = [*start, message, finish, finish]
    given_back = [*start, message, requeue, finish]
    assert broken(ledger, right, again, given_back) == {
        (ONCE, "plain"): ["nsq/client/2", "nsq/client/3"]
    }


@pytest.mark.parametrize("command", [b"FIN %b\n", b"REQ %b 100\n", b"TOUCH %b\n"])
def test_a_message_that_was_not_delivered_has_another_id(ledger: Ledger, command: bytes) -> None:
    steps = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), sent(FIRST, command.replace(b"%b", ID))]
    assert broken(ledger, steps) == {(OWN_ID, "plain"): ["nsq/client/1"]}


def test_after_cls_a_consumer_asks_for_nothing_more(ledger: Ledger) -> None:
    start = [*opened(FIRST), sent(FIRST, b"RDY 1\n"), sent(FIRST, b"CLS\n")]
    right = [*start, sent(FIRST, b"RDY 0\n"), sent(FIRST, b"NOP\n")]
    wrong = [*start, sent(FIRST, b"RDY 1\n")]
    assert broken(ledger, right, wrong) == {(END, "plain"): ["nsq/client/2"]}


def test_every_lookup_is_judged(ledger: Ledger) -> None:
    conn = "lookupd1.1"
    request = b"GET /lookup?access=r HTTP/1.1\r\nHost: h\r\n\r\n"
    steps = [Step(0, conn, "open"), Step(0, conn, "request", request)]
    assert (LOOKUP, "plain") in broken(ledger, steps)


def test_what_follows_a_breach_by_the_server_is_not_judged(ledger: Ledger) -> None:
    no_frame = (3).to_bytes(4, "big") + b"abc"
    steps = [*opened(FIRST), received(FIRST, no_frame), sent(FIRST, b"RDY nine\n")]
    assert broken(ledger, steps) == {}


def test_a_refusal_is_no_breach_by_the_server(ledger: Ledger) -> None:
    refused = error_frame("E_FIN_FAILED", "")
    steps = [*opened(FIRST), received(FIRST, refused), sent(FIRST, b"RDY nine\n")]
    assert (FORMED, "plain") in broken(ledger, steps)
