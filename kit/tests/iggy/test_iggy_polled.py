import pytest
from msgspec.structs import replace

from wireproof_kit.iggy.observe.observations import (
    as_drawn,
    match_sent,
    observe,
    observe_absence,
    observe_http,
    observe_messages,
    observe_unread,
)
from wireproof_kit.iggy.observe.polled import (
    HEAD_SIZES,
    MOST_MESSAGES,
    Head,
    join_polled,
    read_polled,
    recognize_polled,
)
from wireproof_kit.iggy.wire.answers import Closed, Done, ErrorStatus
from wireproof_kit.wire.http import TransferResult, make_failed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE, OLD_MESSAGE, Message
from wireproof_spec.strict_json import read

HEADERS = (Header("a", STRING, b"1"), Header("b", STRING, b"2"))
SENT = [SentMessage(7, HEADERS, b"one"), SentMessage(0, (), b"two")]
STORED = [
    Message(0, 1, 1000, 7, payload_checksum(b"one"), HEADERS, b"one"),
    Message(1, 1, 1001, 99, payload_checksum(b"two"), (), b"two"),
]
HEADS: dict[Head, bytes] = {
    "count": (2).to_bytes(4, "little"),
    "partition-offset-count": b"\1\0\0\0" + bytes(8) + (2).to_bytes(4, "little"),
    "none": b"",
}


def body(*messages: Message, head: Head = "count") -> bytes:
    return HEADS[head] + b"".join(encode(MESSAGE, each) for each in messages)


@pytest.mark.parametrize("head", HEADS)
def test_messages_are_read_behind_the_head_that_is_due(head: Head) -> None:
    polled = read_polled(Done(body(*STORED, head=head)), head)

    assert (polled.head, polled.layout) == (head, "published")
    assert polled.messages == tuple(STORED)
    assert observe_messages(polled, SENT).value == "delivered:as-sent"


@pytest.mark.parametrize("due", HEADS)
@pytest.mark.parametrize("head", HEADS)
def test_another_head_than_the_one_due_is_not_taken_instead(head: Head, due: Head) -> None:
    polled = read_polled(Done(body(*STORED, head=head)), due)

    assert polled.head == due
    assert (polled.messages == tuple(STORED)) == (head == due)


@pytest.mark.parametrize("head", HEADS)
def test_a_head_is_recognized_by_what_it_leaves_for_the_messages(head: Head) -> None:
    assert recognize_polled(Done(body(*STORED, head=head))).head == head


@pytest.mark.parametrize(("head", "size"), HEAD_SIZES.items())
def test_no_message_has_a_head_of_its_own(head: Head, size: int) -> None:
    polled = read_polled(Done(bytes(size)), head)

    assert (polled.declared, polled.messages) == (0 if size else None, ())
    assert recognize_polled(Done(bytes(size))).head == head


def test_a_count_of_more_messages_than_bytes_speaks_against_the_head() -> None:
    offset = 1 << 20
    message = replace(STORED[0], offset=offset)
    seen = observe_unread(read_polled(Done(encode(MESSAGE, message)), "count"))

    assert seen is not None
    assert seen.difference is not None
    assert seen.difference.field == "count"
    assert seen.difference.found == str(offset)
    assert "no more messages than" in seen.difference.expected
    assert recognize_polled(Done(encode(MESSAGE, message))).head == "none"


def test_a_state_that_is_none_speaks_against_a_head() -> None:
    odd = replace(STORED[0], state=2)
    polled = recognize_polled(
        Done(HEADS["count"][:0] + (1).to_bytes(4, "little") + encode(MESSAGE, odd))
    )

    assert (polled.head, polled.messages) == ("count", (odd,))


def test_the_layout_of_before_is_recognised() -> None:
    old = [Message(0, None, 1000, 7, None, (), b"one")]
    polled = read_polled(Done((1).to_bytes(4, "little") + encode(OLD_MESSAGE, old[0])))

    assert polled.layout == "old"
    assert observe_messages(polled, SENT[:1], as_drawn).value == "delivered:state"


def test_a_count_that_lies_hides_no_message() -> None:
    data = (9).to_bytes(4, "little") + body(*STORED)[4:]
    polled = read_polled(Done(data))

    assert (polled.declared, len(polled.seen)) == (9, 2)


def test_no_more_messages_are_read_than_any_case_asks_for() -> None:
    for count, fault in ((MOST_MESSAGES, None), (MOST_MESSAGES + 1, "messages")):
        polled = read_polled(Done(body(*STORED[1:] * count, head="none")), "none")
        assert (polled.fault.field if polled.fault else None) == fault


def test_places_are_those_of_the_body() -> None:
    polled = read_polled(Done(body(*STORED)))
    first, second = polled.seen

    assert first.position == 4
    assert second.position == 4 + len(first.raw)
    assert body(*STORED)[second.position :] == second.raw


@pytest.mark.parametrize("data", [b"\1", b"\1\0\0\0" + bytes(44), b"x" * 100])
def test_what_cannot_be_read_says_where(data: bytes) -> None:
    seen = observe_unread(read_polled(Done(data)))

    assert seen is not None
    assert seen.value == "delivered:undecodable"
    assert seen.difference is not None


DIFFERENT = {
    "state": replace(STORED[0], state=10),
    "id": replace(STORED[0], id=8),
    "checksum": replace(STORED[0], checksum=1),
    "headers": replace(STORED[0], headers=HEADERS[:1]),
    "payload": replace(STORED[0], payload=b"oNe"),
}


@pytest.mark.parametrize("field", DIFFERENT)
def test_the_first_field_that_differs_is_named(field: str) -> None:
    polled = read_polled(Done(body(DIFFERENT[field], STORED[1])))
    seen = observe_messages(polled, SENT, as_drawn)

    assert seen.value == f"delivered:{field}"
    assert seen.difference is not None
    assert seen.difference.field == field


def test_any_offset_is_as_drawn() -> None:
    polled = read_polled(Done(body(replace(STORED[0], offset=1000), STORED[1])))

    assert observe_messages(polled, SENT, as_drawn).value == "delivered:as-sent"


def test_messages_stored_in_another_order_differ_only_where_order_counts() -> None:
    polled = read_polled(Done(body(*STORED[::-1])))

    assert observe_messages(polled, SENT).value != "delivered:as-sent"
    assert observe_messages(polled, SENT, ordered=False).value == "delivered:as-sent"


def test_a_polled_message_that_was_not_sent_is_compared_with_what_is_left() -> None:
    other = replace(STORED[0], payload=b"other")
    polled = read_polled(Done(body(STORED[1], other)))
    seen = observe_messages(polled, SENT, ordered=False)

    assert seen.value == "delivered:payload"
    assert [each.message.payload for each in match_sent(SENT, polled.seen)] == [
        b"other",
        STORED[1].payload,
    ]


def test_two_responses_are_joined_with_their_counts() -> None:
    first = read_polled(Done(b"\1\0\0\0" + encode(MESSAGE, STORED[0])))
    second = read_polled(Done(b"\1\0\0\0" + encode(MESSAGE, STORED[1])))
    joined = join_polled(first, second)

    assert (joined.declared, joined.messages) == (2, tuple(STORED))


def test_the_order_of_headers_means_nothing() -> None:
    polled = read_polled(Done(body(replace(STORED[0], headers=HEADERS[::-1]), STORED[1])))

    assert observe_messages(polled, SENT, as_drawn).value == "delivered:as-sent"


def test_too_few_are_missing_and_too_many_are_more() -> None:
    one = read_polled(Done((1).to_bytes(4, "little") + encode(MESSAGE, STORED[0])))
    two = read_polled(Done(body(*STORED)))

    assert observe_messages(one, SENT).value == "missing"
    assert observe_messages(one, SENT).overdue
    assert observe_messages(two, SENT[:1]).value == "delivered:more"


def test_an_answer_that_brought_nothing_is_named_for_itself() -> None:
    assert observe_messages(read_polled(ErrorStatus(1009, b"")), SENT).value == "error:1009"
    assert observe_messages(read_polled(Closed("end")), SENT).value == "closed"
    assert observe(Closed("end"), then="open").value == "closed"
    assert observe(ErrorStatus(3, b""), then="stuck").overdue


def test_absence_is_shown_by_a_sentinel() -> None:
    polled = read_polled(Done(body(*STORED)))
    alone = read_polled(Done((1).to_bytes(4, "little") + encode(MESSAGE, STORED[1])))

    assert observe_absence(alone, unwanted=[b"one"], sentinel=b"two").value == "absent"
    assert observe_absence(polled, unwanted=[b"one"], sentinel=b"two").value == "unwanted"
    assert observe_absence(polled, unwanted=[b"x"], sentinel=b"two").value == "unwanted"
    assert observe_absence(alone, unwanted=[b"one"], sentinel=b"y").value == "no-sentinel"


HTTP = {
    "error": (b'{"id":1,"code":"not_found","reason":"x"}', "http:404,not_found"),
    "plain": (b"no such thing", "http:404,-"),
    "odd-name": (b'{"id":1,"code":"A, b","reason":"x"}', "http:404,-"),
    "no-object": (b"[1]", "http:404,-"),
}


@pytest.mark.parametrize(("data", "value"), HTTP.values(), ids=HTTP)
def test_http_answers_are_named_by_status_and_error(data: bytes, value: str) -> None:
    json = None if data.startswith(b"no ") else read(data)

    assert observe_http(TransferResult(404, (), data, json)).value == value
    assert observe_http(make_failed("silence")).overdue
