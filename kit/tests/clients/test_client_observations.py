"""What cases for clients make of events: repeated messages, trace logs, keys, late deliveries."""

import json
from collections.abc import Callable, Sequence

import pytest

from wireproof_kit.clients.client import RecordedClient
from wireproof_kit.clients.events import Answered, Disconnected, Event, Greeted, Wrote
from wireproof_kit.clients.story import ASKED, DRIVER, STDERR, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, Client
from wireproof_kit.nsq.clients.events import Commanded, Sent
from wireproof_kit.nsq.clients.script import NODE_1, NODE_2
from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import Step
from wireproof_spec.driver.lines import Hello, Result, in_base64
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE, FRAME_TYPE_RESPONSE
from wireproof_suites.nsq.client import test_connection as connecting
from wireproof_suites.nsq.client import test_consume as consuming
from wireproof_suites.nsq.client import test_order as ordering
from wireproof_suites.nsq.client import test_publish as publishing
from wireproof_suites.nsq.client import test_sharding as sharding
from wireproof_suites.nsq.client import test_subscribe as subscribing
from wireproof_suites.nsq.client import test_trace as tracing

CONN, OTHER = f"{NODE_1}.1", f"{NODE_2}.1"
OK = Sent(1.0, CONN, b"OK", FRAME_TYPE_RESPONSE)
REFUSED = Sent(1.0, CONN, b"E_BAD_MESSAGE refused", FRAME_TYPE_ERROR)
DRIVEN = Greeted(0.1, DRIVER, Hello((1,), "toy", "", (), ()))
ALIKE, DIFFERENT = (b"hello",) * 3, (b"hello 1", b"hello 2", b"hello 3")


def recorded(*events: Event) -> RecordedClient:
    story = Story(NSQ_CLIENTS.decode())
    story.events += events
    return RecordedClient(story)


def pub(body: bytes, partition: int = 0, conn: str = CONN) -> Commanded:
    return Commanded(1.0, conn, "PUB", ("t", str(partition)), body=body)


def refuse_third(bodies: Sequence[bytes], *then: bytes) -> list[Event]:
    """Return publishes of which the third is refused, and those that come after."""
    first, second, third = (pub(body) for body in bodies)
    return [first, OK, second, OK, third, REFUSED, *(pub(body) for body in then)]


@pytest.mark.parametrize(
    "observe",
    [publishing.test_no_retry, publishing.test_permanent_errors, publishing.test_retry],
)
@pytest.mark.parametrize(
    ("events", "seen"),
    [
        (refuse_third(ALIKE, b"hello"), "unsupported"),
        ([DRIVEN, *refuse_third(ALIKE, b"hello")], "again"),
        # A time in seconds: the same twice, then another one.
        (refuse_third((b"12:01", b"12:01", b"12:02"), b"12:02"), "unsupported"),
        (refuse_third(DIFFERENT, b"hello 3"), "again"),
        (refuse_third(DIFFERENT, b"hello 4"), "once"),
        # Recorded while every publish was refused.
        ([pub(b"hello"), REFUSED, pub(b"hello")], "unsupported"),
        ([DRIVEN, pub(b"hello"), REFUSED, pub(b"hello")], "again"),
    ],
)
def test_a_message_comes_again_only_if_messages_differ(
    observe: Callable[[Client, str], Observation], events: Sequence[Event], seen: str
) -> None:
    assert observe(recorded(*events), "E_BAD_MESSAGE").value == seen


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        (refuse_third(ALIKE, *(b"hello",) * 30), "unsupported"),
        (refuse_third(DIFFERENT, *(b"hello 3",) * 30), "endless"),
        (refuse_third(DIFFERENT, b"hello 3", b"hello 4"), "bounded"),
    ],
)
def test_an_end_of_repeating_shows_only_if_messages_differ(
    events: Sequence[Event], seen: str
) -> None:
    assert publishing.test_retry_bound(recorded(*events), "E_INVALID").value == seen


FIN = Commanded(3.0, CONN, "FIN", message_id=bytes(16))
IDS = "internal_id=70000011 trace_id=4611686018497387916 from 127.0.0.1"


@pytest.mark.parametrize(
    ("log", "seen"),
    [
        (f"{IDS} timestamp=1500000000070000011", "logged"),
        ("70000011 1500000000.07 127.0.0.1 127.0.0.1", "logged"),
        ("id 000000000042c1d8b 2017-07-14T02:40:00Z by 127.0.0.1:4150", "logged"),
        ("0X42C1D8B, Fri Jul 14 02:40:00 2017, 127.0.0.1", "logged"),
        (IDS, "unlogged"),
        ("70000011 2017-07-14T02:40:00Z", "unlogged"),
        ("1500000000070000011 127.0.0.1", "unlogged"),
    ],
)
def test_a_consumer_logs_what_the_text_lists_in_any_form(log: str, seen: str) -> None:
    client = recorded(Wrote(1.0, STDERR, log.encode()), FIN, FIN, FIN)

    assert tracing.test_consumer_log(client).value == seen


def test_the_trace_id_and_the_place_in_the_queue_have_cases_of_their_own() -> None:
    listed = "70000011 1500000000070000011 127.0.0.1"
    place = f"{2**40 + 70_000_013} {7_000_014:x}"

    def observe(case: Callable[[Client], Observation], log: str) -> str:
        return case(recorded(Wrote(1.0, STDERR, log.encode()), FIN, FIN, FIN)).value

    assert observe(tracing.test_consumer_log, listed) == "logged"
    assert observe(tracing.test_consumer_log_id, listed) == "unlogged"
    assert observe(tracing.test_consumer_log_id, IDS) == "logged"
    assert observe(tracing.test_ordered_consumer_log, listed) == "unlogged"
    assert observe(tracing.test_ordered_consumer_log, place) == "logged"
    assert observe(tracing.test_ordered_consumer_log, place.partition(" ")[0]) == "unlogged"


def keyed(partition_of: Callable[[int], int], keys: int) -> RecordedClient:
    """Return a client whose driver was asked three times for each key, and chose partitions so."""
    story = Story(NSQ_CLIENTS.decode())
    for number in range(3 * keys):
        body = b"wireproof-%06d" % number
        asked = {
            "id": number + 1,
            "op": "produce",
            "key": f"k{number % keys}",
            "body": in_base64(body),
        }
        story.add(Step(1, ASKED, "sent", json.dumps(asked).encode()))
        partition = partition_of(number)
        story.events.append(pub(body, partition, OTHER if partition else CONN))
        story.events.append(Answered(1.0, DRIVER, "produce", Result(number + 1, {})))
    return RecordedClient(story)


def test_partitions_in_turn_are_not_stable() -> None:
    keys = len(sharding.MANY_KEYS)

    assert sharding.test_stable(keyed(lambda number: number % 2, keys)).value == "changing"
    assert sharding.test_stable(keyed(lambda number: number % keys % 2, keys)).value == "stable"
    # As recorded, with eight keys.
    assert sharding.test_stable(keyed(lambda number: number % 8 % 2, 8)).value == "stable"


MESSAGE, AGAIN = (Sent(at, CONN, bytes(26), FRAME_TYPE_MESSAGE) for at in (1.0, 2.0))
ASKS, ASKS_NOT = (
    Commanded(0.2, CONN, "IDENTIFY", body=body) for body in (b'{"msg_timeout": 1000}', b"{}")
)
READY = Commanded(0.5, CONN, "RDY", ("1",))
EARLY, NOP = (Commanded(at, CONN, "NOP") for at in (1.5, 4.6))


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([MESSAGE, AGAIN, FIN, NOP], "finished"),
        ([EARLY, MESSAGE, AGAIN, FIN], "silent"),
        ([MESSAGE, FIN, AGAIN, NOP], "dropped"),
        ([MESSAGE, AGAIN, NOP], "dropped"),
        ([MESSAGE, AGAIN, FIN], "silent"),
    ],
)
def test_a_message_that_timed_out_is_taken_again(events: Sequence[Event], seen: str) -> None:
    assert consuming.test_handler_timed_out(recorded(ASKS, READY, *events)).value == seen


@pytest.mark.parametrize(
    ("identify", "then", "seen"),
    [
        (ASKS, FIN, "late"),
        (ASKS, NOP, "not-finished"),
        (ASKS, EARLY, "silent"),
        (ASKS_NOT, FIN, "unsupported"),
    ],
)
def test_only_the_time_out_that_was_asked_for_can_be_over(
    identify: Event, then: Event, seen: str
) -> None:
    client = recorded(identify, READY, MESSAGE, then)

    assert consuming.test_late(client).value == seen


@pytest.mark.parametrize(("at", "seen"), [(1.5, "silent"), (3.2, "kept")])
def test_a_heartbeat_that_the_client_asked_for_does_not_end_a_case(at: float, seen: str) -> None:
    subscribed = Commanded(0.1, CONN, "SUB_ORDERED", ("t", "c", "0"))

    client = recorded(subscribed, Commanded(at, CONN, "NOP"))

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
BEAT = Sent(1.0, CONN, b"_heartbeat_", FRAME_TYPE_RESPONSE)
NOP, ELSEWHERE = Commanded(1.0, CONN, "NOP"), Commanded(1.0, OTHER, "NOP")
CLOSED = Disconnected(2.0, CONN, "client")


@pytest.mark.parametrize(
    ("events", "seen"),
    [
        ([ERROR, BEAT, NOP, BEAT, NOP], "open"),
        ([ERROR, BEAT, BEAT, NOP], "open"),
        ([ERROR, BEAT, NOP, CLOSED], "closed"),
        ([ERROR, BEAT, NOP, BEAT, CLOSED], "closed"),
        ([NOP, ERROR, BEAT, CLOSED], "closed"),
        ([ERROR, BEAT, ELSEWHERE, CLOSED], "closed"),
    ],
)
def test_a_nop_shows_an_open_connection_only_there_and_after_the_error(
    events: list[Event], seen: str
) -> None:
    assert connecting.test_error_open(recorded(*events), "E_FIN_FAILED").value == seen
