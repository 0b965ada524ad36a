"""What cases for consumers make of events: time-outs, heartbeats, RDY, errors."""

from collections.abc import Sequence

import pytest

from wireproof_kit.clients.client import RecordedClient
from wireproof_kit.clients.events import Connected, Disconnected, Event, Marked
from wireproof_kit.clients.story import KIT, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.events import Commanded, Requested, Sent
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1, NODE_2
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE, FRAME_TYPE_RESPONSE
from wireproof_spec.nsq.names import HEARTBEAT
from wireproof_suites.nsq.client import test_connection as connecting
from wireproof_suites.nsq.client import test_consume as consuming
from wireproof_suites.nsq.client import test_lookup_failure as failing
from wireproof_suites.nsq.client import test_order as ordering
from wireproof_suites.nsq.client import test_subscribe as subscribing

CONN, OTHER = f"{NODE_1}.1", f"{NODE_2}.1"


def recorded(*events: Event) -> RecordedClient:
    story = Story(NSQ_CLIENTS.decode())
    story.events += events
    return RecordedClient(story)


MESSAGE, AGAIN = (Sent(at, CONN, bytes(26), FRAME_TYPE_MESSAGE) for at in (1.0, 2.0))
ASKS, ASKS_NOT = (
    Commanded(0.2, CONN, "IDENTIFY", body=body) for body in (b'{"msg_timeout": 1000}', b"{}")
)
FIN = Commanded(3.0, CONN, "FIN", message_id=bytes(16))
READY = Commanded(0.5, CONN, "RDY", ("1",))


def answered(at: float, *command: str) -> list[Event]:
    """Return a heartbeat and what the client answers: NOP unless said otherwise."""
    name, *words = command or ("NOP",)
    beat = Sent(at, CONN, HEARTBEAT, FRAME_TYPE_RESPONSE)
    return [beat, Commanded(at + 0.1, CONN, name, tuple(words))]


EARLY, BEAT = answered(1.5), answered(4.5)


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([MESSAGE, AGAIN, FIN, *BEAT], "finished"),
        ([*EARLY, MESSAGE, AGAIN, FIN], "silent"),
        ([MESSAGE, FIN, AGAIN, *BEAT], "dropped"),
        ([MESSAGE, AGAIN, *BEAT], "dropped"),
        ([MESSAGE, AGAIN, FIN], "silent"),
    ],
)
def test_a_message_that_timed_out_is_taken_again(events: Sequence[Event], seen: str) -> None:
    assert consuming.test_handler_timed_out(recorded(ASKS, READY, *events)).value == seen


@pytest.mark.parametrize(
    ("identify", "then", "seen"),
    [
        (ASKS, [FIN], "late"),
        (ASKS, BEAT, "not-finished"),
        (ASKS, EARLY, "silent"),
        (ASKS_NOT, [FIN], "unsupported"),
    ],
)
def test_only_the_time_out_that_was_asked_for_can_be_over(
    identify: Event, then: Sequence[Event], seen: str
) -> None:
    client = recorded(identify, READY, MESSAGE, *then)

    assert consuming.test_late(client).value == seen


@pytest.mark.parametrize("command", [("NOP",), ("RDY", "1")])
@pytest.mark.parametrize(("at", "seen"), [(1.5, "silent"), (3.2, "kept")])
def test_a_heartbeat_that_the_client_asked_for_does_not_end_a_case(
    at: float, seen: str, command: Sequence[str]
) -> None:
    subscribed = Commanded(0.1, CONN, "SUB_ORDERED", ("t", "c", "0"))

    client = recorded(subscribed, *answered(at, *command))

    assert ordering.test_no_skip(client).value == seen


def ready(*words: str) -> Commanded:
    return Commanded(1.0, CONN, "RDY", words)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ([ready("1")], "rdy:1"),
        ([ready()], "rdy:1"),
        ([ready("0"), ready("1")], "rdy:1"),
        ([ready("0"), ready("5")], "rdy:other"),
        ([ready("5")], "rdy:other"),
    ],
)
def test_the_first_rdy_that_asks_for_messages_counts(sent: list[Event], seen: str) -> None:
    assert subscribing.test_first_ready(recorded(*sent)).value == seen


ERROR = Sent(1.0, CONN, b"E_FIN_FAILED failed", FRAME_TYPE_ERROR)
BEATS = Sent(1.0, CONN, b"_heartbeat_", FRAME_TYPE_RESPONSE)
NOP, ELSEWHERE = Commanded(1.0, CONN, "NOP"), Commanded(1.0, OTHER, "NOP")
CLOSED = Disconnected(2.0, CONN, "client")


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([ERROR, BEATS, NOP, BEATS, NOP], "open"),
        ([ERROR, BEATS, BEATS, NOP], "open"),
        ([ERROR, BEATS, NOP, CLOSED], "closed"),
        ([ERROR, BEATS, NOP, BEATS, CLOSED], "closed"),
        ([NOP, ERROR, BEATS, CLOSED], "closed"),
        ([ERROR, BEATS, ELSEWHERE, CLOSED], "closed"),
    ],
)
def test_a_nop_shows_an_open_connection_only_there_and_after_the_error(
    events: list[Event], seen: str
) -> None:
    assert connecting.test_error_open(recorded(*events), "E_FIN_FAILED").value == seen


def looks_up(at: float) -> Requested:
    return Requested(at, f"{LOOKUP_1}.1", "GET", "/lookup", {"topic": ("t",)}, {})


OVER = Marked(3.0, KIT, "over")


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([looks_up(0.1), looks_up(2.9), OVER, looks_up(3.1)], "lookup-only"),
        # It may have fallen silent, or wait for a round of its own interval.
        ([looks_up(0.1), looks_up(2.9), OVER], "incomplete"),
        ([looks_up(0.1), looks_up(2.9)], "incomplete"),
        ([looks_up(0.1), OVER], "unsupported"),  # its interval is not known
        ([looks_up(0.1), OVER, Connected(3.1, CONN), looks_up(3.2)], "node"),
    ],
)
def test_a_client_is_seen_to_find_nodes_by_lookup_alone_if_it_goes_on(
    events: Sequence[Event], seen: str
) -> None:
    assert failing.test_consumer_only(recorded(*events), "500").value == seen


def subscribes(conn: str) -> Commanded:
    return Commanded(1.0, conn, "SUB", ("t", "c", "0"))


REFUSED = Sent(1.1, OTHER, b"E_FAILED_ON_NOT_LEADER no leader here", FRAME_TYPE_ERROR)


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([looks_up(0.5), subscribes(OTHER), REFUSED, looks_up(1.2)], "looked-up"),
        ([looks_up(0.5), subscribes(OTHER), REFUSED, subscribes(OTHER)], "did-not"),
        ([subscribes(CONN), looks_up(1.2)], "unsupported"),
    ],
)
def test_a_text_after_a_code_counts_for_a_client_that_follows_the_code(
    events: Sequence[Event], seen: str
) -> None:
    assert subscribing.test_moved_as_without_text(recorded(*events)).value == seen


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([FIN], "finished-unseen"),
        ([Commanded(3.0, CONN, "REQ", ("0",), message_id=bytes(16))], "dropped"),
        ([], "unsupported"),  # it leaves the message to its time-out
    ],
)
def test_only_a_message_that_is_given_back_must_be_handed_again(
    events: Sequence[Event], seen: str
) -> None:
    assert ordering.test_again(recorded(READY, MESSAGE, *events)).value == seen
