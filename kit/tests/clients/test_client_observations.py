"""What cases for clients make of events: repeated messages, trace logs, keys, late deliveries."""

import json
from collections.abc import Callable, Sequence
from itertools import chain

import pytest

from wireproof_kit.clients.client import RecordedClient
from wireproof_kit.clients.events import (
    Answered,
    Event,
    Greeted,
    Marked,
    Told,
    Wrote,
)
from wireproof_kit.clients.story import ASKED, DRIVER, KIT, STDERR, Story
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS, Client
from wireproof_kit.nsq.clients.events import Commanded, Requested, Responded, Sent
from wireproof_kit.nsq.clients.logged import is_number_logged
from wireproof_kit.nsq.clients.script import LOOKUP_1, LOOKUP_2, NODE_1, NODE_2
from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import encode
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.driver.lines import Failure, Fields, Hello, Result, in_base64
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_RESPONSE
from wireproof_spec.nsq.publish import MPUB_BODY, MpubBody, PubBody
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_suites.nsq.client import test_order as ordering
from wireproof_suites.nsq.client import test_publish as publishing
from wireproof_suites.nsq.client import test_sharding as sharding
from wireproof_suites.nsq.client import test_trace as tracing

CONN, OTHER = f"{NODE_1}.1", f"{NODE_2}.1"
OK = Sent(1.0, CONN, b"OK", FRAME_TYPE_RESPONSE)
REFUSED = Sent(1.0, CONN, b"E_BAD_MESSAGE refused", FRAME_TYPE_ERROR)
DRIVEN = Greeted(0.1, DRIVER, Hello((1,), "toy", "", (), ()))
OVER, TOLD = Marked(2.0, KIT, "over"), Answered(1.0, DRIVER, "produce", Failure(3, "refused", ""))
PIPELINED = (b"1", b"2", b"3", b"4", b"5")
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


def batch(*bodies: bytes, partition: int = 0) -> Commanded:
    body = encode(MPUB_BODY, MpubBody(tuple(map(PubBody, bodies))))[4:]
    return Commanded(1.0, CONN, "MPUB", ("t", str(partition)), body=body)


@pytest.mark.parametrize(
    ("then", "seen"),
    [
        ((batch(b"3", b"6"),), "again"),
        ((batch(b"4", b"5"), pub(b"3"), OVER), "again"),
        ((batch(b"4", b"5"), OVER), "once"),
    ],
)
def test_a_message_of_a_refused_batch_comes_again_in_other_company(
    then: Sequence[Event], seen: str
) -> None:
    accepted = (batch(b"0"), OK, batch(b"1"), OK)
    client = recorded(*accepted, batch(b"2", b"3"), REFUSED, *then)

    assert publishing.test_no_retry(client, "E_BAD_MESSAGE").value == seen


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
        ([*refuse_third(DIFFERENT, b"hello 4"), OVER], "once"),
        # It may still come, behind others.
        (refuse_third(DIFFERENT, b"hello 4"), publishing.NO_MORE),
        ([*refuse_third(DIFFERENT, b"hello 4", b"hello 3"), OVER], "again"),
        ([*refuse_third(DIFFERENT), TOLD], "once"),
        # The answers come after further publishes.
        ([*map(pub, PIPELINED), OK, OK, REFUSED, pub(PIPELINED[4]), OVER], "once"),
        ([*map(pub, PIPELINED), OK, OK, REFUSED, pub(PIPELINED[2])], "again"),
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


def keyed(
    partition_of: Callable[[int], int], keys: int, publish: Callable[..., Commanded] = pub
) -> RecordedClient:
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
        story.events.append(publish(body, partition=partition))
        story.events.append(Answered(1.0, DRIVER, "produce", Result(number + 1, {})))
    return RecordedClient(story)


def test_partitions_in_turn_are_not_stable() -> None:
    keys = len(sharding.MANY_KEYS)

    assert sharding.test_stable(keyed(lambda number: number % 2, keys)).value == "changing"
    assert sharding.test_stable(keyed(lambda number: number % keys % 2, keys)).value == "stable"
    # As recorded, with eight keys.
    assert sharding.test_stable(keyed(lambda number: number % 8 % 2, 8)).value == "stable"


def test_the_partitions_of_batches_are_read() -> None:
    keys = len(sharding.MANY_KEYS)

    assert sharding.test_stable(keyed(lambda number: number % 2, keys, batch)).value == "changing"
    assert sharding.test_stable(keyed(lambda number: 0, keys, batch)).value == "stable"


def test_messages_that_nobody_finds_show_no_stable_partition() -> None:
    def compressed(body: bytes, *, partition: int) -> Commanded:
        return pub(b"packed " + body, partition)

    assert sharding.test_stable(keyed(lambda number: 0, 8, compressed)).value == "incomplete"


def test_success_may_follow_the_answer_to_a_traced_publish() -> None:
    traced = Commanded(1.0, CONN, "PUB_TRACE", ("t", "0"), body=bytes(8) + b"hello")
    answer = Sent(1.5, CONN, encode(TRACE_RESPONSE, tracing.ANSWER), FRAME_TYPE_RESPONSE)
    success = Answered(1.6, DRIVER, "produce", Result(2, {}))

    waited, early = recorded(traced, answer, success), recorded(traced, success, answer)

    assert publishing.test_wait(waited).value == "waited"
    assert publishing.test_wait(early).value == "early"


RECEIPT: Fields = {
    "internal_id": str(tracing.ANSWER.internal_id),
    "trace_id": str(tracing.ANSWER.trace_id),
    "offset": str(tracing.ANSWER.disk_queue_offset),
    "size": tracing.ANSWER.disk_queue_data_size,
}


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        (RECEIPT, "as-answered"),
        ({**RECEIPT, "trace_id": "1"}, "other:trace_id"),
        ({**RECEIPT, "offset": "1"}, "other:offset"),
        ({"offset": "1"}, "other:offset"),
        ({name: RECEIPT[name] for name in ("internal_id", "offset", "size")}, "as-answered"),
        ({}, "unsupported"),
    ],
)
def test_a_receipt_is_compared_as_far_as_the_user_is_told_of_it(told: Fields, seen: str) -> None:
    client = recorded(Answered(1.6, DRIVER, "produce", Result(2, dict(told))))

    assert tracing.test_receipt(client).value == seen


@pytest.mark.parametrize(
    ("body", "place", "seen"),
    [
        (b"body", {"offset": str(ordering.OFFSET), "size": ordering.SIZE}, "as-delivered"),
        (b"body", {"offset": "7", "size": ordering.SIZE}, "other-place"),
        (b"body", {}, "unsupported"),
        (b"body", {"offset": "7"}, "other-place"),
        (bytes(12) + b"body", {}, "other-body"),
    ],
)
def test_a_place_is_compared_as_far_as_the_user_is_told_of_it(
    body: bytes, place: Fields, seen: str
) -> None:
    fields = {"body": in_base64(body), **place}
    client = recorded(Told(1.0, DRIVER, DriverEvent("message", 2, fields)))

    assert ordering.test_place(client).value == seen


@pytest.mark.parametrize(
    ("number", "log", "seen"),
    [
        (2**63 + 5, "internal_id=9223372036854775813", True),
        (2**63 + 5, "internal_id=-9223372036854775803", True),
        (2**63 + 5, "internal_id=9223372036854775803", False),
        (2**64 - 1, "offset -1 of", True),
        (7, "at -7", True),
        (2**63 + 5, "-92233720368547758030", False),
    ],
)
def test_a_number_may_be_logged_with_a_sign(number: int, log: str, *, seen: bool) -> None:
    story = recorded(Wrote(1.0, STDERR, log.encode())).story

    assert is_number_logged(story, number) is seen


@pytest.mark.parametrize(
    ("log", "seen"),
    [
        ("WARN id 0000000004 2c1d85 attempts 1000", "unlogged"),
        ("WARN t/0 offset 1099581627819 attempts 1000", "logged"),
        ("WARN trace 4611686018497387946 attempts 1000", "logged"),
        ("WARN attempted-70000041 was tried 1000 times", "logged"),
        ("WARN id 70000005 attempts 1000", "logged"),
        ("WARN attempts 1000", "unlogged"),
    ],
)
def test_a_message_is_logged_by_whatever_names_it(log: str, seen: str) -> None:
    client = recorded(Wrote(1.0, STDERR, log.encode()), FIN)

    assert ordering.test_attempts(client).value == seen


def lookup(peer: str) -> tuple[Event, Event]:
    return Requested(1.0, f"{peer}.1", "GET", "/lookup", {}, {}), Responded(1.0, f"{peer}.1", b"")


FIRST, SECOND = lookup(LOOKUP_1), lookup(LOOKUP_2)


@pytest.mark.parametrize(
    ("rounds", "seen"),
    [
        # The last answer counts: a lookup before each change, and the publish goes there.
        ([(*SECOND, pub(b"", 1)), (*FIRST, pub(b"", 0))] * 4, "one-answer"),
        # Both servers are asked before each publish, and the answers are merged.
        (
            [(*FIRST, *SECOND, pub(b"", 1)), (*FIRST, *SECOND, pub(b"", 0))] * 4,
            sharding.ASKS_FIRST,
        ),
        # A busy client publishes once by the answer before.
        (
            [
                *[(*SECOND, pub(b"", 1)), (*FIRST, pub(b"", 0), pub(b"", 0))] * 4,
                (*SECOND, pub(b"", 0), pub(b"", 1)),
            ],
            "one-answer",
        ),
        ([(*FIRST, *SECOND, pub(b"", 1)), *[(pub(b"", 0), pub(b"", 1))] * 2], "merged"),
    ],
)
def test_one_answer_is_followed_if_publishes_go_where_the_last_one_points(
    rounds: Sequence[Sequence[Event]], seen: str
) -> None:
    client = recorded(DRIVEN, *FIRST, *SECOND, *chain.from_iterable(rounds))

    assert sharding.test_merge(client).value == seen
