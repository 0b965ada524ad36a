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
    Given,
    Greeted,
    Marked,
    Told,
)
from wireproof_kit.clients.part import Role
from wireproof_kit.clients.story import DRIVER, KIT, PROCESS, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, Client
from wireproof_kit.nsq.clients.events import Commanded, Magic, Requested, Sent
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1
from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import Step
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.driver.lines import Failure, Hello, Result, in_base64
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    response_frame,
)
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_suites.nsq.client import test_connection as connecting
from wireproof_suites.nsq.client import test_ext as ext
from wireproof_suites.nsq.client import test_hostile as hostile
from wireproof_suites.nsq.client import test_lookup_failure as failing
from wireproof_suites.nsq.client import test_order as ordering
from wireproof_suites.nsq.client import test_publish as publishing
from wireproof_suites.nsq.client import test_subscribe as subscribing

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
        ([*FINISHED, replace(beat(), at=2.0 + ordering.HANDLED_S), nop()], "noticed"),
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
    for data in (b"  V2", b"RDY 1\n", b"FIN " + bytes(length) + b"\n"):
        story.add(Step(1, CONN, "send", data))
    for number in range(1, len(hostile.LATER) + 1):
        at_us = number * 400_000
        story.add(Step(at_us, CONN, "receive", response_frame(HEARTBEAT)))
        story.add(Step(at_us, CONN, "send", b"NOP\n"))

    client = RecordedClient(story, role="consumer")
    assert hostile.test_frame(client, frame="short-message").value == "survives"


CONSUMES = (
    Commanded(0.4, CONN, "SUB", ("t", "c", "0")),
    Commanded(0.5, CONN, "RDY", ("1",)),
    Sent(0.6, CONN, bytes(26), FRAME_TYPE_MESSAGE),
)
DONE = acknowledge("FIN", 0)


def heard(*commands: str) -> list[Event]:
    """Return a heartbeat before each of these answers."""
    return [each for name in commands for each in (beat(), replace(nop(), name=name))]


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([*CONSUMES, *heard("NOP", "NOP", "NOP")], "answered"),
        ([*CONSUMES, *heard("RDY", "RDY", "TOUCH"), DONE], "answered"),
        ([*CONSUMES, beat(), beat(), beat(), DONE, nop(), nop(), nop()], "late"),
        ([*CONSUMES, *heard("NOP", "NOP"), beat()], "late"),
        ([*heard("NOP", "NOP", "NOP"), *CONSUMES, beat(), DONE], "late"),
        # RDY may follow seconds after SUB.
        (CONSUMES[:1], "incomplete"),
    ],
)
def test_any_command_while_the_handler_works_answers_a_heartbeat(
    events: Sequence[Event], seen: str
) -> None:
    client = recorded(DRIVEN, *events, role="consumer")

    assert connecting.test_busy_heartbeat(client).value == seen


REFUSED = Sent(1.0, CONN, b"E_FIN_FAILED failed", FRAME_TYPE_ERROR)
RDY, LATER = Commanded(1.1, CONN, "RDY", ("1",)), replace(beat(), at=2.6)


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([beat(), nop()], "open"),
        ([beat(), RDY, GONE], "closed"),  # it came with the FIN
        ([beat(), LATER, RDY], "open"),
        ([beat(), LATER], "inconclusive:not-answered"),  # it is not seen to have closed anything
    ],
)
def test_a_command_after_the_second_heartbeat_shows_an_open_connection(
    events: Sequence[Event], seen: str
) -> None:
    client = recorded(*CONSUMES, DONE, REFUSED, *events, role="consumer")

    assert connecting.test_error_open(client, "E_FIN_FAILED").value == seen


def started(role: Role) -> Given:
    return Given(0.0, KIT, {"role": role})


WELL, BADLY = (Ended(3.0, PROCESS, code) for code in (0, 2))


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([started("producer"), WELL], "inconclusive:ended"),
        ([started("producer"), BADLY], "ended:2"),
        ([started("producer"), DRIVEN, WELL], "ended:0"),
        ([started("consumer"), WELL], "ended:0"),
    ],
)
def test_only_the_messages_of_a_producer_without_a_driver_can_run_out(
    events: Sequence[Event], seen: str
) -> None:
    assert connecting.test_producer_heartbeat(recorded(PUB, ok(), *events)).value == seen


def test_a_producer_that_ends_at_a_bad_frame_does_not_survive() -> None:
    client = recorded(started("producer"), PUB, WELL)

    assert hostile.test_producer_frame(client, "empty-error").value == "ended:0"


SUBS = [
    Commanded(1.0, f"{NODE_1}.{number}", "SUB", ("t", "c", str(number))) for number in range(4)
]


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        (SUBS, "one-each"),
        ([replace(each, conn=CONN) for each in SUBS], "shared"),
        (SUBS[:3], "incomplete"),
    ],
)
def test_four_subscriptions_show_their_connections_without_any_message(
    events: Sequence[Event], seen: str
) -> None:
    assert subscribing.test_connections(recorded(*events, role="consumer")).value == seen


def opened(number: int, *names: str) -> list[Event]:
    conn = f"{NODE_1}.{number}"
    return [
        Connected(1.0, conn),
        *(Magic(1.0, conn) if name == "magic" else Commanded(1.0, conn, name) for name in names),
    ]


RIGHT = opened(1, "magic", "IDENTIFY", "PUB")


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        (RIGHT, "in-order"),
        ([*RIGHT, *opened(2), *opened(3, "magic"), *opened(4, "magic", "IDENTIFY")], "in-order"),
        ([*RIGHT, *opened(2, "magic", "PUB")], "unsupported"),
        ([*RIGHT, *opened(2, "magic"), replace(PUB, conn=f"{NODE_1}.2")], "no-identify"),
        (opened(1, "magic", "IDENTIFY"), "incomplete"),
        (opened(1, "magic", "PUB"), "unsupported"),
        (opened(1, "magic", "PUB", "IDENTIFY"), "unsupported"),
        ([*opened(1, "magic"), PUB], "no-identify"),  # it names a partition
    ],
)
def test_each_connection_begins_with_identify(events: Sequence[Event], seen: str) -> None:
    assert connecting.test_handshake(recorded(*events)).value == seen


def test_a_client_without_identify_is_not_judged_by_its_identify() -> None:
    client = recorded(*opened(1, "magic"), PUB)

    assert connecting.test_identify_answer(client).value == "unsupported"
    assert connecting.test_identify_error(client).value == "unsupported"
    assert connecting.test_identify_fields(client).value == "unsupported"


@pytest.mark.parametrize(
    ("work", "hurried", "used"),
    [(PUB, "hurried", "used"), (replace(PUB, words=("t",)), "unsupported", "unsupported")],
    ids=["partition", "original"],
)
def test_only_a_client_that_names_partitions_must_wait_for_the_answer_to_identify(
    work: Event, hurried: str, used: str
) -> None:
    early = recorded(*opened(1, "magic", "IDENTIFY"), work, ok())
    late = recorded(*opened(1, "magic", "IDENTIFY"), ok(), work)

    assert connecting.test_identify_answer(early).value == hurried
    assert connecting.test_identify_error(early).value == used
    assert connecting.test_identify_answer(late).value == "waited"


def asked(at: float) -> Requested:
    return Requested(at, f"{LOOKUP_1}.1", "GET", "/lookup", {}, {})


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([asked(0.1), *CONSUMES, DONE, GONE], "unsupported"),
        ([asked(0.1), *CONSUMES, DONE, GONE, asked(3.0)], "gave-up"),
        ([asked(0.1), *CONSUMES, DONE, asked(1.1), GONE], "gave-up"),
        ([DRIVEN, asked(0.1), *CONSUMES, DONE, GONE], "gave-up"),
        ([*CONSUMES, DONE, GONE], "gave-up"),
    ],
)
def test_a_consumer_may_wait_for_its_next_lookup_before_it_connects_again(
    events: Sequence[Event], seen: str
) -> None:
    client = recorded(*events, role="consumer")

    assert connecting.test_consumer_reconnect(client).value == seen
    lost = {"gave-up": "silent"}.get(seen, seen)
    assert hostile.test_recovery(client, "size-three").value == lost
