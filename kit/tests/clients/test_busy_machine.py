"""What cases for clients make of logs from a busy machine: what it caused is undecided."""

from collections.abc import Sequence

import pytest

from wireproof_kit.clients.client import RecordedClient
from wireproof_kit.clients.events import Answered, Connected, Event, Marked, Measured
from wireproof_kit.clients.story import Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.events import Commanded, Requested, Responded, Sent
from wireproof_kit.nsq.clients.script import LOOKUP_1, LOOKUP_2, NODE_1
from wireproof_spec.driver.lines import Failure
from wireproof_spec.nsq.frame import FRAME_TYPE_RESPONSE
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_suites.nsq.client.test_lookup_failure import test_refused_dead as refused_dead
from wireproof_suites.nsq.client.test_order import test_policy as policy
from wireproof_suites.nsq.client.test_publish import test_no_retry as no_retry
from wireproof_suites.nsq.client.test_publish import test_refresh_ordered as refresh_ordered
from wireproof_suites.nsq.client.test_sharding import test_merge as merge

CONN = f"{NODE_1}.1"
IDLE, STARVED = Measured(2.0, "kit", 0.1, 0.0, 0.0), Measured(2.0, "kit", 0.1, 0.0, 1.0)


def recorded(*events: Event) -> RecordedClient:
    story = Story(NSQ_CLIENTS.decode())
    story.events += events
    return RecordedClient(story)


def pub(partition: int, number: int = 0) -> Commanded:
    return Commanded(1.0, CONN, "PUB", ("t", str(partition)), body=b"wireproof-%06d" % number)


def looked_up(peer: str) -> Requested:
    return Requested(1.0, f"{peer}.1", "GET", "/lookup", {}, {})


def failed(message: str) -> Answered:
    return Answered(1.5, "driver", "produce", Failure(2, message, ""))


def test_a_publish_given_up_decides_nothing_of_a_client_that_starved() -> None:
    idle = refresh_ordered(recorded(pub(0), failed("no producer"), IDLE))
    starved = refresh_ordered(recorded(pub(0), failed("no producer"), STARVED))

    assert (idle.value, idle.overdue, idle.starved) == ("gave-up", False, False)
    assert (starved.value, starved.overdue, starved.starved) == ("gave-up", True, True)


def test_time_before_the_first_connection_does_not_count() -> None:
    connected, early = Connected(1.0, CONN), Measured(1.4, "kit", 0.1, 0.2, 0.0)
    brief = Measured(1.04, "kit", 0.02, 0.03, 0.0)
    slow, late = Connected(0.1, CONN), Measured(1.4, "kit", 0.1, 0.2, 0.0)

    assert recorded(connected, early).story.is_starved()
    assert not recorded(slow, late).story.is_starved()
    assert not recorded(connected, brief).story.is_starved()


@pytest.mark.parametrize(
    ("then", "message", "measured", "seen"),
    [
        (looked_up(LOOKUP_1), "E_BAD_TOPIC refused", STARVED, "once"),
        (looked_up(LOOKUP_1), "no producer", IDLE, "once"),
        (IDLE, "no producer", STARVED, "once"),
        (looked_up(LOOKUP_1), "no producer", STARVED, "inconclusive:starved"),
    ],
)
def test_a_starved_client_may_have_been_kept_from_repeating_a_publish(
    then: Event, message: str, measured: Measured, seen: str
) -> None:
    refused = Sent(1.1, CONN, b"E_BAD_TOPIC refused", 1)
    client = recorded(pub(0), refused, then, failed(message), measured)

    assert no_retry(client, "E_BAD_TOPIC").value == seen


@pytest.mark.parametrize(
    ("used", "waited", "kit_waited", "seen"),
    [
        (0.02, 0.1, 0.1, "calm"),
        (2.7, 0.0, 0.0, "hot"),
        (0.2, 2.0, 0.8, "hot"),
        (0.01, 2.0, 0.0, "inconclusive:starved"),
        (0.01, 0.0, 0.8, "inconclusive:starved"),
        (0.3, 0.5, 0.0, "inconclusive:starved"),
    ],
)
def test_a_loop_is_told_from_waiting_for_a_processor(
    used: float, waited: float, kit_waited: float, seen: str
) -> None:
    first, last = Measured(1.0, "kit", 1.0, 1.0, 1.0), Marked(1.0, "kit", "over")
    later = Measured(2.5, "kit", 1.0 + used, 1.0 + waited, 1.0 + kit_waited)
    client = recorded(first, last, later, Marked(2.5, "kit", "over"), later)

    assert refused_dead(client).value == seen


def answered(peer: str) -> tuple[Event, Event]:
    return looked_up(peer), Responded(1.0, f"{peer}.1", b"")


ASKED = (*answered(LOOKUP_1), *answered(LOOKUP_2))


def each_asked_for(*partitions: int) -> list[Event]:
    """Return five rounds of a lookup and publishes, to the other partitions in every second."""
    servers = (LOOKUP_1, LOOKUP_2)  # each knows one partition
    return [
        event
        for number in range(5)
        for event in (
            *answered(servers[number % 2]),
            *(pub((number + each) % 2) for each in partitions),
        )
    ]


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([*ASKED, pub(0), pub(1), pub(0), pub(1), pub(0)], "merged"),
        ([*ASKED, pub(1), *each_asked_for(0)], "one-answer"),
        # A publish by the answer before comes after the lookup of the next one.
        ([*ASKED, pub(0), *each_asked_for(1, *[0] * 20)], "one-answer"),
    ],
)
def test_a_publish_by_an_older_answer_is_no_sign_of_merging(
    events: Sequence[Event], seen: str
) -> None:
    assert merge(recorded(*events)).value == seen


def test_a_message_given_back_once_is_given_back() -> None:
    sub = Commanded(0.5, CONN, "SUB_ORDERED", ("t", "c", "0"))
    back = Commanded(1.0, CONN, "REQ", message_id=bytes(16))
    beat = (Sent(3.5, CONN, HEARTBEAT, FRAME_TYPE_RESPONSE), Commanded(3.6, CONN, "NOP"))

    assert policy(recorded(sub, back, *beat)).value == "req"
    assert policy(recorded(sub, back, back, back)).value == "req"
    assert policy(recorded(sub, *beat)).value == "unfinished"
