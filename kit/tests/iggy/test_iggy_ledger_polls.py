"""The ledger of an Iggy server: whole polls, and polls of a partition one after the other."""

from typing import Any

import pytest
from iggy_recording import (
    NUMBER,
    PLAIN,
    SENT,
    START_US,
    TEXT,
    TOPIC,
    Recording,
    as_object,
    http_answer,
    stored,
)
from msgspec.structs import replace

from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.poll_messages import POLLED_MESSAGES, PolledMessages
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import FIRST, NEXT, TIMESTAMP
from wireproof_spec.iggy.message import OLD_MESSAGE, Message


def test_both_transports_return_the_same() -> None:
    def differing(**changes: Any) -> str | None:
        recording = Recording()
        recording.send(SENT, PLAIN)
        recording.poll(stored(SENT), stored(PLAIN, 1))
        recording.get({**as_object(stored(SENT)), **changes})
        return recording.broken().get("iggy.json.same-as-binary")

    assert differing() is None
    assert differing(offset=1) == "different:offset"
    assert differing(timestamp=START_US // 1000) == "different:timestamp"
    assert differing(headers=None) == "different:headers"


def test_the_copies_of_a_message_that_is_stored_twice_are_not_compared() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll(stored(SENT))
    recording.get(as_object(stored(SENT)), as_object(stored(SENT, 1)))

    assert recording.broken() == {}


def test_a_poll_may_begin_with_the_second_copy_when_the_first_is_gone() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll(stored(SENT), stored(SENT, 1))
    recording.poll(stored(SENT, 1))

    assert recording.broken() == {}


def test_no_text_gives_the_width_of_a_header_over_another_transport() -> None:
    odd = replace(NUMBER, value=b"\x01\x02\x03")
    sent = SentMessage(5, (odd,), b"payload")
    recording = Recording()
    recording.send(sent)
    recording.poll(stored(sent))
    recording.get(as_object(replace(stored(sent), headers=(NUMBER,))))

    assert recording.broken() == {"iggy.headers.width": "headers:value"}


@pytest.mark.parametrize("odd", [replace(TEXT, key=""), replace(TEXT, value=b"")])
def test_no_text_says_what_becomes_of_an_empty_header(odd: Header) -> None:
    recording = Recording()
    recording.post(SentMessage(5, (odd, NUMBER), b"payload"))
    recording.poll(stored(SentMessage(5, (NUMBER,), b"payload")))

    assert recording.broken() == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"timestamp": START_US + 9}, {"iggy.message.timestamp-kept": "timestamp:changed"}),
        ({"headers": (NUMBER, TEXT)}, {}),
        (
            {"headers": (TEXT,)},
            {"iggy.poll.again": "different", "iggy.headers.delivered": "headers:lost"},
        ),
    ],
)
def test_a_later_poll_returns_the_same_message(
    changes: dict[str, Any], expected: dict[str, str]
) -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll(stored(SENT))
    recording.poll(replace(stored(SENT), **changes))

    assert recording.broken() == expected


def test_two_messages_do_not_get_the_same_generated_id() -> None:
    sent = [SentMessage(0, (), payload) for payload in (b"one", b"two")]
    recording = Recording()
    recording.send(*sent)
    recording.poll(*(replace(stored(each, n), id=9) for n, each in enumerate(sent)))

    assert recording.broken() == {"iggy.message.generated-id": "id:repeated"}


def test_an_answer_that_cannot_be_decoded_is_a_breach_of_layout_or_count() -> None:
    whole = encode(POLLED_MESSAGES, PolledMessages(None, None, (stored(SENT),)))
    wrong = {
        whole[:-1]: {"iggy.message.layout": "delivered:undecodable"},
        b"\xff\xff" + whole[2:]: {"iggy.poll.count": "delivered:undecodable"},
        b"\x02" + whole[1:]: {"iggy.poll.count": "count:wrong"},
        whole: {},
    }
    for body, expected in wrong.items():
        recording = Recording()
        recording.send(SENT)
        recording.poll_bytes(body, Polling())

        assert recording.broken() == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[{", {"iggy.json.fields": "delivered:undecodable"}),
        (b"[]", {}),
        (b"null", {}),
        (b"", {}),
    ],
)
def test_an_answer_over_http_is_json_or_says_that_there_is_nothing(
    body: bytes, expected: dict[str, str]
) -> None:
    recording = Recording()
    recording.send(SENT)
    target = f"{TOPIC.path}/messages?partition_id=1&kind=offset&value=0&count=100"
    recording.http("GET", target, b"", http_answer(200, body))

    assert recording.broken() == expected


@pytest.mark.parametrize("body", [b"", b"\x00"])
def test_an_answer_of_a_byte_at_most_says_that_there_is_nothing(body: bytes) -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll_bytes(body, Polling())

    assert recording.broken() == {}


def test_what_was_posted_beyond_the_limits_may_spoil_a_poll() -> None:
    recording = Recording()
    recording.post({"id": 1, "payload": "", "headers": None})
    recording.poll_bytes(b"\x01\x00\x00\x00undecodable", Polling())

    assert recording.broken() == {}


def test_the_layout_of_before_is_a_breach() -> None:
    message = stored(SENT)
    old = Message(0, None, START_US, 5, None, message.headers, message.payload)
    recording = Recording()
    recording.send(SENT)
    recording.poll_bytes(b"\x01\x00\x00\x00" + encode(OLD_MESSAGE, old), Polling())

    assert recording.broken() == {"iggy.message.old-layout": "layout:old"}


THREE = [SentMessage(n, (), b"message %d" % n) for n in (1, 2, 3)]
IN_ORDER = tuple(stored(each, n) for n, each in enumerate(THREE))


@pytest.mark.parametrize(
    ("polling", "messages", "expected"),
    [
        (Polling(count=2), IN_ORDER, {"iggy.poll.as-many": "delivered:more"}),
        (
            Polling(),
            IN_ORDER[::-1],
            {
                "iggy.message.offset-sequence": "offsets:other",
                "iggy.poll.strategy-offset": "delivered:id",
            },
        ),
        (Polling(), IN_ORDER[::2], {}),
        (Polling(value=1), IN_ORDER[1:], {}),
        (Polling(value=1), IN_ORDER, {"iggy.poll.strategy-offset": "delivered:id"}),
        (Polling(value=1), IN_ORDER[2:], {"iggy.poll.strategy-offset": "delivered:id"}),
        (
            Polling(value=1),
            (replace(IN_ORDER[1], offset=2),),
            {"iggy.message.offset": "offset:leads-astray"},
        ),
        (
            Polling(),
            (replace(IN_ORDER[2], offset=0),),
            {"iggy.message.offset": "offset:leads-astray"},
        ),
        (Polling(strategy=FIRST, value=1), IN_ORDER, {}),
        (Polling(strategy=TIMESTAMP, value=START_US + 1), IN_ORDER[1:], {}),
        (
            Polling(strategy=TIMESTAMP, value=START_US + 1),
            IN_ORDER,
            {"iggy.poll.strategy-timestamp": "delivered:id"},
        ),
        (Polling(strategy=NEXT), IN_ORDER[1:], {}),
        (Polling(strategy=NEXT), IN_ORDER, {"iggy.poll.strategy-next": "delivered:id"}),
    ],
)
def test_a_poll_returns_what_it_asks_for(
    polling: Polling, messages: tuple[Message, ...], expected: dict[str, str]
) -> None:
    recording = Recording()
    recording.send(*THREE)
    recording.poll(*IN_ORDER)
    recording.store(0)
    recording.poll(*messages, polling=polling)

    assert recording.broken() == expected


def test_timestamps_do_not_decrease() -> None:
    recording = Recording()
    recording.send(*THREE)
    recording.poll(IN_ORDER[0], replace(IN_ORDER[1], timestamp=START_US - 5))

    assert recording.broken() == {"iggy.message.timestamp-kept": "timestamp:backwards"}


def test_two_messages_of_a_poll_do_not_share_an_offset() -> None:
    recording = Recording()
    recording.send(*THREE)
    recording.poll(IN_ORDER[0], replace(IN_ORDER[1], offset=0))

    assert recording.broken() == {
        "iggy.message.offset": "offset:leads-astray",
        "iggy.message.offset-sequence": "offsets:other",
    }


def test_the_offset_that_is_told_is_the_stored_one() -> None:
    recording = Recording()
    recording.store(1)
    recording.tell_stored(1)
    assert recording.broken() == {}
    recording.tell_stored(2)

    assert recording.broken() == {"iggy.poll.stored-offset": "offset:other"}


@pytest.mark.parametrize(
    ("auto_commit", "told", "due"),
    [
        (1, 2, {}),
        (1, 3, {"iggy.poll.auto-commit": "offset:other"}),
        (2, 2, {}),  # another byte than 1 may commit
    ],
)
def test_what_a_poll_commits_is_no_offset_that_the_consumer_stored(
    auto_commit: int, told: int, due: dict[str, str]
) -> None:
    recording = Recording()
    recording.send(*THREE)
    recording.store(0)
    recording.poll(*IN_ORDER, polling=Polling(strategy=FIRST, auto_commit=auto_commit))
    recording.tell_stored(told)
    assert recording.broken() == due

    recording.store(1)
    recording.tell_stored(3)
    assert recording.broken()["iggy.poll.stored-offset"] == "offset:other"


def test_an_offset_stored_over_http_makes_the_stored_one_uncertain() -> None:
    recording = Recording()
    recording.store(1)
    body = b'{"id": "1", "consumer_id": "1", "partition_id": 1, "offset": 2}'
    recording.http("PUT", f"{TOPIC.path}/consumer-offsets", body, b"HTTP/1.1 204 X\r\n\r\n")
    recording.tell_stored(2)

    assert recording.broken() == {}
