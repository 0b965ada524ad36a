"""The content of one OpenMessaging delivery: each rule broken alone, and what rules allow."""

import pytest
from oms_conversation import (
    ALL,
    CASE_STARTED_MS,
    CLAIMED,
    HOUR_MS,
    RUN_STARTED_MS,
    Conversation,
    Edit,
    attributes_of,
    broken,
    drop_attribute,
    drop_header,
    header_of,
    judge,
    set_attribute,
    set_body,
    set_header,
)

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

SENT: dict[str, JsonValue] = {
    names.CORRELATION_ID: "c",
    names.MESSAGE_KEY: "k",
    names.TRACE_ID: "t",
    names.EXPIRE_TIME: 2**63 - 1,
    names.PRIORITY: 7,
}
BROKEN: dict[str, tuple[Edit, dict[str, str]]] = {
    "body": (set_body, {"oms.message.body-restored": "changed"}),
    "correlation-id": (
        set_attribute(names.CORRELATION_ID, "C"),
        {"oms.round-trip.correlation-id": "changed"},
    ),
    "message-key": (
        drop_attribute(names.MESSAGE_KEY),
        {"oms.round-trip.message-key": "dropped"} | CLAIMED,
    ),
    "trace-id": (set_attribute(names.TRACE_ID, ""), {"oms.round-trip.trace-id": "changed"}),
    "expire-time": (
        set_attribute(names.EXPIRE_TIME, 2**63 - 2),
        {"oms.round-trip.unchanged": "changed"},
    ),
    "priority": (set_attribute(names.PRIORITY, 6), {"oms.round-trip.unchanged": "changed"}),
    "store-host-dropped": (drop_attribute(names.STORE_HOST), CLAIMED),
    "store-host-empty": (
        set_attribute(names.STORE_HOST, ""),
        {"oms.store.host-not-empty": "empty"},
    ),
    "store-host-type": (
        set_attribute(names.STORE_HOST, 1),
        {"oms.extension-header.text": "number"},
    ),
    "message-id-dropped": (
        drop_header(names.MESSAGE_ID),
        {
            "oms.message.message-id-assigned": "untold",
            "oms.message.message-id": "not-there",
        },
    ),
    "message-id-other": (
        set_header(names.MESSAGE_ID, "ID:other"),
        {"oms.message.message-id-assigned": "other-id"},
    ),
    "destination": (
        set_header(names.DESTINATION, "wp_1a_1/0"),
        {"oms.message.destination-received": "other"},
    ),
    "qos": (set_header(names.QOS, 1), {"oms.message.qos-default": "other"}),
    "birth-early": (
        set_header(names.BORN_TIMESTAMP, RUN_STARTED_MS - HOUR_MS),
        {"oms.message.born-timestamp-assigned": "other-time"},
    ),
    "storing-zero": (
        set_attribute(names.STORE_TIMESTAMP, 0),
        {"oms.store.timestamp-unit": "other-unit"},
    ),
    "storing-in-seconds": (
        set_attribute(names.STORE_TIMESTAMP, CASE_STARTED_MS // 1000),
        {"oms.store.timestamp-unit": "seconds"},
    ),
    "storing-early": (
        set_attribute(names.STORE_TIMESTAMP, CASE_STARTED_MS - 500),
        {"oms.store.timestamp-after-birth": "before"},
    ),
    "count-negative": (
        set_attribute(names.DELIVERY_COUNT, -1),
        {
            "oms.delivery-count.not-negative": "negative",
            "oms.delivery-count.base": "other",
            "oms.extension-header.delivery-count": "negative",
        },
    ),
    "count-too-high": (
        set_attribute(names.DELIVERY_COUNT, 2),
        {"oms.delivery-count.base": "other"},
    ),
    "null": (set_attribute("x-other", None), {"oms.extension-header.value": "null"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_is_broken_alone(name: str) -> None:
    edit, due = BROKEN[name]
    talk = Conversation()
    talk.create()
    document = talk.send(SENT)
    edit(document)
    talk.receive(document)
    assert broken(talk) == due


def test_a_right_delivery_keeps_every_clause_and_each_clause_exists() -> None:
    talk = Conversation()
    talk.create()
    talk.receive(talk.send(SENT), talk.send())
    outcomes = list(judge(talk).outcomes)
    assert not [each.clause for each in outcomes if each.broken]
    catalogue = load_catalogue("oms")
    clauses = {each.clause for each in outcomes}
    assert len(clauses) > 30
    assert all(catalogue.clause(each) for each in clauses)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(set_attribute(names.DELIVERY_COUNT, 0), id="counts-from-0"),
        pytest.param(set_attribute("x-region", "north"), id="further-attribute"),
        pytest.param(set_attribute(names.STORE_TIMESTAMP, CASE_STARTED_MS + 9), id="later"),
        pytest.param(drop_header(names.BORN_HOST), id="born-host"),
    ],
)
def test_what_the_texts_leave_to_the_system_is_free(edit: Edit) -> None:
    talk = Conversation()
    document = talk.send()
    edit(document)
    talk.receive(document)
    assert broken(talk).keys() <= {"oms.message.born-host"}


@pytest.mark.parametrize("fate", ["refused", "malformed", "unclaimed"])
def test_what_binds_nobody_is_not_judged(fate: str) -> None:
    talk = Conversation()
    sent: dict[str, JsonValue] = {names.TRACE_ID: 5 if fate == "malformed" else "t"}
    refused: JsonValue = {"error": {"code": "no", "message": ""}}
    document = talk.send(sent, answer=refused if fate == "refused" else True)
    set_attribute(names.TRACE_ID, "changed")(document)
    talk.receive(document)
    assert not broken(talk, claims=frozenset() if fate == "unclaimed" else ALL)


def test_a_message_whose_send_has_no_answer_is_unaltered_if_it_comes() -> None:
    talk = Conversation()
    document = talk.send({names.TRACE_ID: "t"}, answer=None)
    set_attribute(names.TRACE_ID, "T")(document)
    talk.receive(document)
    assert broken(talk) == {"oms.round-trip.trace-id": "changed"}


def test_a_message_that_nobody_sent_is_not_judged() -> None:
    talk = Conversation()
    document = talk.send()
    set_header(names.MESSAGE_ID, "ID:x")(document)
    set_body(document)
    talk.receive(document)
    ledger = judge(talk)
    assert ledger.matcher.unmatched == 1
    assert {outcome.way for outcome in ledger.outcomes} == {"answered"}


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_consumed_message_comes_again_where_its_qos_allows_that(qos: int) -> None:
    talk = Conversation()
    document = talk.send(header={names.QOS: qos})
    talk.receive(document)
    talk.settle()
    talk.receive(document)
    clauses = {1: "oms.message.at-most-once", 2: "oms.message.exactly-once"}
    assert broken(talk) == ({clauses[qos]: "twice"} if qos else {})


ANSWERS: dict[str, tuple[Edit, dict[str, str]]] = {
    "id-empty": (
        set_header(names.MESSAGE_ID, ""),
        {"oms.message.message-id-assigned": "empty"},
    ),
    "id-of-sender": (
        set_header(names.MESSAGE_ID, "mine"),
        {"oms.message.message-id-assigned": "senders"},
    ),
    "birth-early": (
        set_header(names.BORN_TIMESTAMP, RUN_STARTED_MS - HOUR_MS),
        {"oms.message.born-timestamp-assigned": "other-time"},
    ),
    "untold": (drop_header(names.BORN_TIMESTAMP), {}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_message_that_the_sender_has_is_judged(name: str) -> None:
    edit, due = ANSWERS[name]
    talk = Conversation()
    talk.send(header={names.MESSAGE_ID: "mine"}, edit_answer=edit)
    assert broken(talk) == due


SENDERS: dict[str, tuple[dict[str, JsonValue], dict[str, JsonValue], str]] = {
    "store-time": ({names.STORE_TIMESTAMP: 1}, {}, "oms.store.timestamp-own"),
    "store-host": ({names.STORE_HOST: "wp"}, {}, "oms.store.host"),
    "message-id": ({}, {names.MESSAGE_ID: "mine"}, "oms.message.message-id-assigned"),
    "birth": ({}, {names.BORN_TIMESTAMP: 1}, "oms.message.born-timestamp-assigned"),
}


@pytest.mark.parametrize("name", SENDERS)
def test_what_the_sender_must_not_set_does_not_arrive(name: str) -> None:
    attributes, header, clause = SENDERS[name]
    talk = Conversation()
    document = talk.send(attributes, header=header)
    talk.receive(document)
    assert not broken(talk)
    attributes_of(document).update(attributes)
    header_of(document).update(header)
    again = Conversation()
    again.send(attributes, header=header)
    again.receive(document)
    assert broken(again) == {clause: "senders"}


@pytest.mark.parametrize(
    ("sent", "told", "clause"),
    [
        (None, 4, "oms.priority.default"),
        (300, 44, "oms.priority.not-folded"),
        (None, 5, ""),
        (300, 5, ""),
        (300, 300, ""),
        (None, None, ""),
    ],
)
def test_a_priority_that_has_no_effect_is_told_as_sent_as_5_or_not(
    sent: int | None, told: int | None, clause: str
) -> None:
    talk = Conversation()
    document = talk.send({} if sent is None else {names.PRIORITY: sent})
    attributes_of(document).pop(names.PRIORITY, None)
    if told is not None:
        attributes_of(document)[names.PRIORITY] = told
    talk.receive(document)
    assert set(broken(talk)) == ({clause} if clause else set())
