"""What an Iggy server owes for the bytes of a connection."""

import pytest

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Owed, Volume
from wireproof_kit.iggy.fuzz import answers
from wireproof_kit.iggy.fuzz.answers import (
    BODY_LIMIT,
    OK_KIND,
    REFUSED,
    WITH_BODY,
    ResponseReader,
    fingerprint_stored,
)
from wireproof_kit.iggy.fuzz.fuzz_session import IggyOracle
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.owed import ANYTHING, OK, expect, homes
from wireproof_kit.iggy.topics import Stream
from wireproof_kit.iggy.wire import requests
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import make_balanced, partition_id
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.frame import request, response
from wireproof_spec.iggy.header_kinds import BOOL
from wireproof_spec.iggy.headers import Header

HOMES = homes({(7, "wp_read"): True, (8, "wp_unread"): False}, topic=(1, "wp_topic"))
MESSAGE = SentMessage(5, (Header("k", 2, b"v"),), b"payload")
PING = requests.ping().data


def sent(stream: int = 7, partition: int = 1, *messages: SentMessage) -> bytes:
    chosen = partition_id(partition)
    payload = SendMessages(numeric(stream), numeric(1), chosen, messages or (MESSAGE,))
    return requests.request(commands.SEND_MESSAGES, payload).data


def owed(data: bytes) -> tuple[Owed, ...]:
    return expect(HOMES, data).owed


def test_a_ping_is_owed_success() -> None:
    assert owed(PING + PING) == (Owed(OK, success=OK),) * 2


def test_messages_for_the_watched_topic_are_owed_their_delivery() -> None:
    (one,) = owed(sent())
    assert one.kinds == OK
    assert one.stored == (fingerprint_stored(5, MESSAGE.headers, b"payload"),)
    by_name = SendMessages(
        make_named("wp_read"), make_named("wp_topic"), make_balanced(), (MESSAGE,)
    )
    assert owed(requests.request(commands.SEND_MESSAGES, by_name).data) == (one,)


def test_a_message_whose_header_does_not_fit_its_kind_is_refused_or_delivered() -> None:
    bad = SentMessage(5, (Header("k", BOOL, b"v"),), b"payload")
    (one,) = owed(sent(7, 1, bad))
    assert (one.kinds, one.ends) == (ANYTHING, "no")
    assert (one.success, one.stored) == (OK, (fingerprint_stored(5, bad.headers, b"payload"),))


def test_messages_elsewhere_are_owed_an_answer_alone() -> None:
    (one,) = owed(sent(8))
    assert (one.kinds, one.stored) == (OK, ())
    for data in (sent(9), sent(7, 2)):
        (one,) = owed(data)
        assert (one.kinds, one.ends) == (ANYTHING, "no")


@pytest.mark.parametrize(
    "data",
    [
        request(4711),
        request(commands.SEND_MESSAGES, b"\x01"),
        request(commands.POLL_MESSAGES, b""),
        sent()[:8] + sent()[8:].replace(b"\x01\x04", b"\x01\x05", 1),
    ],
)
def test_what_cannot_be_read_is_owed_no_success(data: bytes) -> None:
    (one,) = owed(data)
    assert one.kinds == REFUSED
    assert one.ends == "may"


def test_what_stands_behind_a_right_request_may_be_overlooked() -> None:
    (one,) = owed(request(commands.PING, b"x"))
    assert one.kinds == ANYTHING


def test_a_request_that_is_not_whole_is_waited_for() -> None:
    expectation = expect(HOMES, sent()[:-1])
    assert expectation.waits
    assert all(one.optional for one in expectation.owed)


def test_a_length_without_room_for_a_code_ends_all_certainty() -> None:
    assert not expect(HOMES, b"\x03\0\0\0" + PING).certain


def test_responses_are_read_whatever_pieces_they_come_in() -> None:
    data = response(0, b"body") + response(3) + response(1009, b"x")
    whole = list(ResponseReader().feed(data))
    singly = ResponseReader()
    assert [a for at in range(len(data)) for a in singly.feed(data[at : at + 1])] == whole
    assert [answer.kind for answer in whole] == [OK_KIND, "status 3", WITH_BODY]


def test_a_server_may_have_status_numbers_of_its_own_but_not_any() -> None:
    data = response(9_999) + response(75_001) + response(100_000)
    kinds = [answer.kind for answer in ResponseReader().feed(data)]
    assert [kind in REFUSED for kind in kinds] == [True, True, False]


def test_a_body_beyond_measure_is_nonsense() -> None:
    reader = ResponseReader()
    assert not reader.feed(b"\0\0\0\0\xff\xff\xff\xff")
    assert reader.fault


def test_a_body_may_tell_all_that_was_sent() -> None:
    volume = Volume()
    reader = ResponseReader(volume)
    volume.sent = BODY_LIMIT
    assert not reader.feed(bytes(4) + (2 * BODY_LIMIT).to_bytes(4, "little"))
    assert not reader.fault


def test_what_cases_send_may_all_be_told_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "BODY_LIMIT", 0)
    there = Names(7, "wp_read", 1, "wp_topic", 1, 9, "wp_scratch")
    twin = Stream(8, "wp_unread")
    oracle = IggyOracle(("127.0.0.1", 1), None, there, twin, HOMES)
    case = Case(1, "connected", "ping", "frame", "grammar", (Step(PING),), True)
    for data, is_endless in ((b"", True), (PING, True), (sent(), False)):
        oracle.expect(case, b"", data)
        reader = oracle.reader(case)
        reader.feed(response(0, b"message"))
        assert bool(reader.fault) is is_endless
