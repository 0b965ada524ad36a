"""Clients that keep to the texts in another way are not accused; those that break them are."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from wireproof_kit.clients.client import RecordedClient
from wireproof_kit.clients.events import (
    Answered,
    Connected,
    Disconnected,
    Ended,
    Event,
    Greeted,
    Marked,
    Told,
)
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import DRIVER, KIT, PROCESS, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, Client
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1
from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import Step
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.driver.lines import Failure, Hello, Result, in_base64
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FRAME_TYPE_RESPONSE
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_suites.nsq.client import test_connection as connecting
from wireproof_suites.nsq.client import test_ext as ext
from wireproof_suites.nsq.client import test_hostile as hostile
from wireproof_suites.nsq.client import test_lookup_failure as failing
from wireproof_suites.nsq.client import test_order as ordering
from wireproof_suites.nsq.client import test_publish as publishing

CONN = f"{NODE_1}.1"
PUB = Commanded(1.0, CONN, "PUB", ("t", "0"), body=b"m")
DRIVEN = Greeted(0.1, DRIVER, Hello((1,), "toy", "", (), ()))
OVER = Marked(3.0, KIT, "over")
GONE = Disconnected(2.0, CONN, "client")


def ok() -> Sent:
    return Sent(1.0, CONN, b"OK", FRAME_TYPE_RESPONSE)


def beat() -> Sent:
    return Sent(1.5, CONN, HEARTBEAT, FRAME_TYPE_RESPONSE)


def nop() -> Commanded:
    return Commanded(1.6, CONN, "NOP")


def recorded(*events: Event, role: Role = "producer") -> RecordedClient:
    story = Story(NSQ_CLIENTS.decode())
    story.events += events
    return RecordedClient(story, role)


@pytest.mark.parametrize(
    "case", [connecting.test_producer_heartbeat, connecting.test_producer_nop]
)
@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([beat(), nop(), beat(), nop(), beat(), nop()], "answered"),
        ([GONE, OVER], "unsupported"),
        # A node, too, waits for the second heartbeat before it gives a connection up.
        ([beat(), GONE, OVER], "unsupported"),
        ([beat(), beat(), GONE, OVER], "silent"),
        ([beat(), beat(), beat(), OVER], "silent"),
        ([GONE, OVER, Ended(3.1, PROCESS, 2)], "ended:2"),
    ],
)
def test_only_a_producer_that_keeps_its_connection_owes_heartbeats_an_answer(
    case: Callable[[Client], Observation], events: Sequence[Event], seen: str
) -> None:
    assert case(recorded(PUB, ok(), *events)).value == seen


SUCCESS = Answered(2.0, DRIVER, "produce", Result(1, {}))
FAILURE = Answered(2.0, DRIVER, "produce", Failure(1, "no answer in time", ""))


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([PUB, ok(), SUCCESS], "waited"),
        ([PUB, SUCCESS, ok()], "early"),
        ([ok(), PUB, SUCCESS], "early"),  # that answered IDENTIFY
        ([PUB, FAILURE, ok()], "gave-up"),
    ],
)
def test_a_failure_told_before_the_answer_is_no_early_success(
    events: Sequence[Event], seen: str
) -> None:
    assert publishing.test_wait(recorded(DRIVEN, *events)).value == seen


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        (b"\0\0body", "version-alone"),
        (b"body", "version-and-length"),
        (b"\0\0\0body", "other-body"),
        (b"ody", "other-body"),
    ],
)
def test_a_message_without_a_header_is_read_in_either_layout(body: bytes, seen: str) -> None:
    sent = Sent(1.0, CONN, bytes(26) + b"\0\0\0body", FRAME_TYPE_MESSAGE)
    told = Told(2.0, DRIVER, DriverEvent("message", None, {"body": in_base64(body)}))

    assert ext.test_decode_none(recorded(sent, told)).value == seen


def acknowledge(name: str, internal_id: int) -> Commanded:
    return Commanded(2.0, CONN, name, message_id=internal_id.to_bytes(8, "big") + bytes(8))


SUB = Commanded(0.5, CONN, "SUB_ORDER", ("t", "c", "0"))
ANEW = Commanded(2.0, f"{NODE_1}.2", "SUB_ORDER", ("t", "c", "0"))
FIRST, EARLY, LAST = ordering.BASE + 10, ordering.BASE + 9, ordering.BASE + 12
FINISHED = [SUB, acknowledge("FIN", FIRST)]


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([*FINISHED, acknowledge("REQ", EARLY)], "noticed"),
        ([*FINISHED, beat(), replace(nop(), at=2.0 + ordering.HANDLED_S)], "noticed"),
        ([*FINISHED, beat(), nop()], "stopped"),
        ([*FINISHED, GONE, ANEW], "noticed"),
        ([*FINISHED, acknowledge("FIN", EARLY), nop(), acknowledge("FIN", LAST)], "unnoticed"),
        (FINISHED, "stopped"),
    ],
)
def test_a_message_out_of_order_may_be_refused(events: Sequence[Event], seen: str) -> None:
    client = recorded(*events, role="consumer")

    assert ordering.test_validate(client, "internal-id").value == seen


def connections(peer: str, count: int) -> list[Event]:
    return [Connected(1.0, f"{peer}.{number}") for number in range(count)]


@pytest.mark.parametrize(
    ("role", "driven", "count", "seen"),
    [
        ("producer", True, 20, "calm"),
        ("producer", True, 21, "hot"),
        ("producer", False, 80, "calm"),
        ("producer", False, 101, "hot"),
        ("consumer", False, 21, "hot"),
    ],
)
def test_a_producer_without_a_driver_may_try_once_more_for_each_of_its_publishes(
    role: Role, driven: bool, count: int, seen: str
) -> None:
    def client(peer: str) -> RecordedClient:
        greeting = [DRIVEN] if driven else []
        return recorded(*greeting, *connections(peer, count), OVER, role=role)

    dead = {"producer": failing.test_producer_dead, "consumer": failing.test_consumer_dead}
    assert hostile.test_node_loop(client(NODE_1)).value == seen
    assert dead[role](client(LOOKUP_1)).value == seen


@pytest.mark.parametrize("length", range(16))
def test_a_fin_with_too_short_an_id_does_not_hide_the_answers_behind_it(length: int) -> None:
    story = Story(NSQ_CLIENTS.decode())
    story.add(Step(0, CONN, "open", b""))
    for data in (b"  V2", b"FIN " + bytes(length) + b"\n", *[b"NOP\n"] * len(hostile.LATER)):
        story.add(Step(1, CONN, "send", data))

    client = RecordedClient(story, role="consumer")
    assert hostile.test_frame(client, frame="short-message").value == "survives"
