import pytest

from wireproof_reports.exchange.evidence import received_parts
from wireproof_reports.iggy.received import presumed_difference
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.iggy.apache.batch import BatchHeader, MessageFrame, make_batch
from wireproof_spec.iggy.apache.envelope import PollHead
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.evictions import NO_SESSION, REASONS
from wireproof_spec.iggy.apache.frames import (
    Eviction,
    encode_answer,
    encode_request,
    make_reply,
    make_request,
)
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader, RequestHeader
from wireproof_spec.iggy.apache.operations import NON_REPLICATED
from wireproof_spec.iggy.apache.polled import Polled, encode_polled
from wireproof_spec.iggy.bodies.poll_messages import (
    POLLED_MESSAGES,
    POLLED_MESSAGES_TAGGED,
    PolledMessages,
)
from wireproof_spec.iggy.commands import PING, POLL_MESSAGES
from wireproof_spec.iggy.frame import request, response
from wireproof_spec.iggy.header_kinds import STRING
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message

MESSAGE = Message(0, 20, 5, 7, 99, (Header("key", STRING, b"v"),), b"payload")
PINGED, POLLED = [request(PING)], [request(PING), request(POLL_MESSAGES, b"any")]


def labels(data: bytes, sent: list[bytes]) -> dict[str, str]:
    return {part.label: part.value for part in received_parts("iggy")(data, sent)}


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        (POLLED_MESSAGES, PolledMessages(None, None, (MESSAGE,))),
        (POLLED_MESSAGES_TAGGED, PolledMessages(1, 0, (MESSAGE,))),
    ],
    ids=["count", "partition-offset-count"],
)
def test_the_fields_of_polled_messages_are_named(
    schema: Schema[PolledMessages], body: PolledMessages
) -> None:
    data = response(0, encode(schema, body))
    parts = received_parts("iggy")(data, POLLED)
    named = labels(data, POLLED)

    assert named["status"] == "0 (ok)"
    assert named["messages[0].state"] == "20 (poisoned)"
    assert named["messages[0].checksum"] == "99"
    assert [n for part in parts for n in range(part.offset, part.offset + part.length)] == list(
        range(len(data))
    )


def test_another_answer_is_a_body_and_an_error_has_none() -> None:
    assert labels(response(0, b"body"), PINGED)["body"] == ""
    assert labels(response(0, b"body"), [])["body"] == ""
    assert labels(response(1009), POLLED)["status"] == "1009 (stream_id_not_found)"
    assert list(labels(response(65000), POLLED)) == ["status", "length"]


@pytest.mark.parametrize("size", range(8))
def test_a_head_that_is_cut_is_named_as_far_as_it_goes(size: int) -> None:
    parts = received_parts("iggy")(response(0, b"body")[:size], POLLED)

    assert sum(part.length for part in parts) == size


def test_a_body_that_is_no_poll_is_named_up_to_its_fault() -> None:
    data = response(0, b"\1\0\0\0" + bytes(20))
    parts = received_parts("iggy")(data, POLLED)

    assert sum(part.length for part in parts) == len(data)


def test_an_ok_where_an_error_was_due_differs_in_its_status() -> None:
    found = presumed_difference("ok,others-open", ("closed,others-open", "error:*,others-open"))

    assert found is not None
    assert (found.field, found.found) == ("status", "0 (ok)")
    assert presumed_difference("error:3,open", ("error:1009,open",)) is None
    assert presumed_difference("ok,open", ("ok,none",)) is None
    assert presumed_difference("ok,open", ()) is None


def test_the_parts_of_a_reply_of_generation_apache_are_named() -> None:
    frame = MessageFrame(id=7, payload=b"payload")
    polled = Polled(PollHead(0, 2, 1), (make_batch(BatchHeader(), (frame,)),))
    header = RequestHeader(operation=NON_REPLICATED, code=POLL_MESSAGES)
    sent = encode_request(make_request(header))
    data = encode_answer(make_reply(ReplyHeader(request=9), encode_polled(OWN, polled)))
    named = labels(data, [sent])
    assert named["status"] == "0 (ok)"
    assert (named["current_offset"], named["frames[0].id"]) == ("2", "7")


def test_the_reason_of_an_eviction_is_named() -> None:
    data = encode_answer(Eviction(EvictionHeader(reason=NO_SESSION)))
    assert labels(data, [])["reason"] == f"{NO_SESSION} ({REASONS[NO_SESSION]})"
