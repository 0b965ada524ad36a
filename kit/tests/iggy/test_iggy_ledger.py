"""The ledger of an Iggy server: each rule broken alone, and what each rule permits."""

from typing import Any

import pytest
from iggy_recording import (
    NUMBER,
    PLAIN,
    SENT,
    SMALL,
    TEXT,
    Recording,
    as_object,
    stored,
)
from msgspec.structs import replace

from wireproof_kit.iggy.wire import requests
from wireproof_spec.decoding import encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.frame import response
from wireproof_spec.iggy.header_kinds import RAW
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.states import POISONED, UNAVAILABLE

WITH_SMALL = SentMessage(5, (SMALL,), b"payload")
WRONG_STATUS = 3


def polled(*sent: SentMessage, **changes: Any) -> dict[str, str]:
    """Return what is broken if the first of some messages is polled with changed fields."""
    recording = Recording()
    recording.send(*sent)
    first, *others = (stored(each, number) for number, each in enumerate(sent))
    recording.poll(replace(first, **changes), *others)
    return recording.broken()


def got(sent: SentMessage, **changes: Any) -> dict[str, str]:
    """Return what is broken if a message is polled over HTTP with changed members."""
    recording = Recording()
    recording.send(sent)
    recording.get({**as_object(stored(sent)), **changes})
    return recording.broken()


def crc_with_headers(sent: SentMessage) -> int:
    return payload_checksum(encode(HEADERS, sent.headers) + sent.payload)


@pytest.mark.parametrize(
    ("sent", "changes", "clause", "value"),
    [
        (SENT, {"state": POISONED}, "iggy.state.default", "state:poisoned"),
        (SENT, {"state": 2}, "iggy.state.default", "state:2"),
        (SENT, {"checksum": 0}, "iggy.checksum.polynomial", "checksum:zero"),
        (SENT, {"checksum": 1}, "iggy.checksum.polynomial", "checksum:wrong"),
        (SENT, {"checksum": crc_with_headers(SENT)}, "iggy.checksum.range", "checksum:of-headers"),
        (SENT, {"timestamp": 1}, "iggy.message.timestamp-unit", "timestamp:other"),
        (SENT, {"id": 7}, "iggy.message.id", "id:other"),
        (SENT, {"id": 5 << 120}, "iggy.message.id", "id:reversed"),
        (SentMessage(0, (), b"a"), {"id": 0}, "iggy.message.generated-id", "id:zero"),
        (SENT, {"headers": (TEXT,)}, "iggy.headers.delivered", "headers:lost"),
        (SENT, {"headers": (TEXT, NUMBER, SMALL)}, "iggy.headers.delivered", "headers:added"),
        (
            SENT,
            {"headers": (replace(TEXT, kind=RAW), NUMBER)},
            "iggy.headers.kinds",
            "headers:kind",
        ),
        (
            SENT,
            {"headers": (replace(TEXT, value=b"x"), NUMBER)},
            "iggy.headers.kinds",
            "headers:value",
        ),
        (
            SENT,
            {"headers": (replace(TEXT, key="NAME"), NUMBER)},
            "iggy.headers.key-text",
            "headers:key",
        ),
        (
            WITH_SMALL,
            {"headers": (replace(SMALL, kind=RAW),)},
            "iggy.headers.other-kinds",
            "headers:kind",
        ),
        (PLAIN, {"headers": (TEXT,)}, "iggy.headers.none", "headers:some"),
        (
            SENT,
            {"payload": b"Payload", "checksum": payload_checksum(b"Payload")},
            "iggy.message.layout",
            "delivered:payload",
        ),
    ],
)
def test_a_field_that_differs_is_a_breach_of_its_clause_alone(
    sent: SentMessage, changes: dict[str, object], clause: str, value: str
) -> None:
    assert polled(sent, **changes) == {clause: value}


def test_a_right_poll_breaks_nothing_and_keeps_each_clause_of_content() -> None:
    recording = Recording()
    recording.send(SENT, PLAIN)
    recording.poll(stored(SENT), stored(PLAIN, 1))

    assert recording.broken() == {}
    assert recording.kept() >= {
        "iggy.checksum.polynomial",
        "iggy.headers.delivered",
        "iggy.headers.none",
        "iggy.message.id",
        "iggy.message.layout",
        "iggy.poll.count",
        "iggy.send.partitioning",
        "iggy.state.default",
    }


def test_the_order_of_headers_does_not_matter() -> None:
    assert polled(SENT, headers=(NUMBER, TEXT)) == {}


def test_a_checksum_that_is_right_of_the_sent_payload_is_not_accused_beside_the_payload() -> None:
    assert polled(SENT, payload=b"Payload") == {"iggy.message.layout": "delivered:payload"}


def test_the_checksum_of_an_empty_payload_is_judged() -> None:
    empty = SentMessage(5, (), b"")
    recording = Recording()
    recording.post(empty)
    recording.poll(replace(stored(empty), checksum=9))

    assert recording.broken() == {"iggy.checksum.polynomial": "checksum:wrong"}


def test_an_altered_message_with_a_generated_id_is_found_as_the_only_one_left() -> None:
    sent = SentMessage(0, (), b"payload")

    broken = polled(sent, payload=b"Payload", checksum=payload_checksum(b"Payload"))

    assert broken == {"iggy.message.layout": "delivered:payload"}


def test_of_two_messages_that_may_explain_one_the_kinder_is_taken() -> None:
    one, other = SentMessage(0, (TEXT,), b"same"), SentMessage(0, (), b"same")
    recording = Recording()
    recording.send(one, other)
    recording.poll(stored(other), stored(one, 1))

    assert recording.broken() == {}


def test_of_two_entries_that_explain_a_message_alike_the_one_with_its_id_is_taken() -> None:
    one, other = SentMessage(1, (), b"same"), SentMessage(2, (TEXT,), b"same")
    recording = Recording()
    recording.send(one, other)
    recording.poll(stored(one), replace(stored(other, 1), headers=()))

    assert recording.broken() == {"iggy.headers.delivered": "headers:lost"}


def test_a_repeated_key_keeps_one_of_its_values() -> None:
    twice = SentMessage(5, (TEXT, replace(TEXT, value=b"other")), b"payload")

    assert polled(twice, headers=(TEXT,)) == {}
    assert polled(twice, headers=(replace(TEXT, value=b"valueother"),)) == {
        "iggy.headers.repeated-key": "headers:other"
    }
    assert polled(twice)["iggy.headers.repeated-key"] == "headers:other"


def test_a_value_of_another_width_is_judged_by_its_own_clause() -> None:
    odd = replace(NUMBER, value=b"\x01\x02\x03")
    sent = SentMessage(5, (odd,), b"payload")

    assert polled(sent) == {}
    assert polled(sent, headers=(NUMBER,)) == {"iggy.headers.width": "headers:value"}


@pytest.mark.parametrize("status", [0, WRONG_STATUS])
def test_a_refused_message_that_comes_is_not_judged_by_content(status: int) -> None:
    recording = Recording()
    recording.send(SENT, status=status)
    recording.poll(replace(stored(SENT), id=8))

    assert recording.broken() == ({} if status else {"iggy.message.id": "id:other"})


def test_a_message_without_an_answer_comes_unaltered_if_it_comes() -> None:
    recording = Recording()
    request = requests.request(commands.SEND_MESSAGES, recording.sending(SENT))
    recording.transcript.add("send", "B", data=request.data, parts=request.parts)
    recording.transcript.add("close", "B")
    recording.poll()
    recording.poll(replace(stored(SENT), id=8))

    assert recording.broken() == {"iggy.message.id": "id:other"}


def test_what_may_come_from_a_malformed_request_is_not_accused() -> None:
    recording = Recording()
    request = requests.request(commands.SEND_MESSAGES, recording.sending(SENT))
    wrong = requests.overwritten(request, "messages[0].headers[0].kind", 16)
    recording.transcript.add("send", "B", data=wrong.data, parts=wrong.parts)
    recording.transcript.add("receive", "B", data=response(0))
    recording.send(PLAIN)
    invented = stored(SentMessage(0, (), b"payload of nobody"))
    recording.poll(invented, stored(PLAIN, 1))

    assert recording.broken() == {}
    assert recording.conclude().matcher.unmatched == 1


def test_a_message_in_another_partition_than_its_request_names_is_a_breach() -> None:
    recording = Recording()
    recording.send(SENT, partition=3)
    recording.poll(stored(SENT))

    assert recording.broken() == {"iggy.send.partitioning": "partition:other"}


def test_a_topic_that_is_created_again_has_other_messages() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.poll(stored(SENT))
    recording.create_again()
    recording.send(PLAIN)
    recording.poll(stored(PLAIN))

    assert recording.broken() == {}


@pytest.mark.parametrize(
    ("sent", "changes", "expected"),
    [
        (
            SENT,
            {"state": "Available"},
            {"iggy.state.names": "state:other"},
        ),
        (SENT, {"state": "poisoned"}, {"iggy.state.names": "state:other"}),
        (SENT, {"checksum": 1}, {"iggy.checksum.json": "checksum:other"}),
        (SENT, {"id": 7}, {"iggy.json.id": "id:other"}),
        (SENT, {"id": "5"}, {"iggy.json.id": "id:other", "iggy.json.types": "schema:id"}),
        (SENT, {"timestamp": "1"}, {"iggy.json.types": "schema:timestamp"}),
        (SENT, {"payload": "cGF5bG9hZA"}, {"iggy.json.payload": "payload:other"}),
        (PLAIN, {"headers": {}}, {"iggy.json.headers-null": "headers:other"}),
        (SENT, {"headers": None}, {"iggy.json.headers-object": "headers:other"}),
        (
            WITH_SMALL,
            {"headers": {"small": {"kind": "uint8", "value": "Ag=="}}},
            {"iggy.json.other-kinds": "headers:other"},
        ),
    ],
)
def test_a_member_that_differs_is_a_breach_of_its_clauses(
    sent: SentMessage, changes: dict[str, object], expected: dict[str, str]
) -> None:
    assert got(sent, **changes) == expected


def test_a_missing_member_is_a_breach_and_one_more_is_none() -> None:
    recording = Recording()
    recording.send(SENT)
    without = as_object(stored(SENT))
    del without["timestamp"]
    recording.get(without)

    assert got(SENT, more=1) == {}
    assert recording.broken() == {"iggy.json.fields": "fields:missing"}


def test_an_empty_object_of_headers_comes_as_it_was_posted_or_as_null() -> None:
    shown: list[dict[str, object] | None] = [{}, None]
    for headers in shown:
        recording = Recording()
        recording.post({"id": 6, "payload": "YW5vdGhlcg==", "headers": {}})
        recording.get({**as_object(stored(PLAIN)), "headers": headers})

        assert recording.broken() == {}


def test_a_posted_message_is_judged_on_the_way_over_http() -> None:
    recording = Recording()
    recording.post(SENT)
    recording.poll(replace(stored(SENT), headers=()))

    (outcome,) = [each for each in recording.conclude().outcomes if each.broken]
    assert (outcome.clause, outcome.way) == ("iggy.headers.delivered", "http")
    assert [place.step.kind for place in outcome.evidence] == ["request", "response", "receive"]
    assert outcome.cases == ["iggy/case"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (UNAVAILABLE, {}),
        (1, {"iggy.state.codes": "state:available"}),
    ],
)
def test_a_state_that_was_set_is_polled(found: int, expected: dict[str, str]) -> None:
    recording = Recording()
    recording.send(SENT)
    recording.control(f"state={UNAVAILABLE}")
    recording.poll(replace(stored(SENT), state=found))

    assert recording.broken() == expected


def test_a_state_is_not_judged_if_it_is_not_certain_that_it_was_set() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.control(f"state={UNAVAILABLE}", status=500)
    recording.poll(replace(stored(SENT), state=POISONED))

    assert recording.broken() == {}


def test_an_undefined_state_that_was_set_is_polled_as_it_is() -> None:
    recording = Recording()
    recording.send(SENT)
    recording.control("state=11")
    recording.poll(replace(stored(SENT), state=11))
    recording.get({**as_object(stored(SENT)), "state": "11"})

    assert recording.broken() == {}


@pytest.mark.parametrize(
    ("checksum", "expected"),
    [
        (payload_checksum(SENT.payload), {}),
        (payload_checksum(b"qayload"), {"iggy.checksum.when-stored": "checksum:other"}),
        (0, {"iggy.checksum.when-stored": "checksum:zero"}),
    ],
)
def test_a_payload_changed_behind_the_server_keeps_its_checksum(
    checksum: int, expected: dict[str, str]
) -> None:
    recording = Recording()
    recording.send(SENT)
    recording.control("flip=0")
    recording.poll(replace(stored(SENT), payload=b"qayload", checksum=checksum))

    assert recording.broken() == expected
