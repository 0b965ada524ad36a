"""What OpenMessaging deliveries show beside each other: times, counts, groups, partitions."""

from dataclasses import replace

import pytest
from oms_conversation import (
    ALL,
    CASE_STARTED_MS,
    CLAIMED,
    HOUR_MS,
    PLACE,
    RUN_STARTED_MS,
    Conversation,
    attributes_of,
    broken,
    drop_attribute,
    header_of,
    judge,
    set_attribute,
)

from wireproof_kit.oms.ledger.ledger import OmsLedger
from wireproof_kit.oms.ledger.times import RunClock
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue


@pytest.mark.parametrize(
    ("delay", "told", "waits", "due"),
    [
        (1000, 1000, 0.9, {"oms.delay.not-early": "early"}),
        (1000, 1000, 1.1, {}),
        (1000, 999, 1.1, {}),
        (1000, 900, 1.1, {"oms.round-trip.unchanged": "changed"}),
        (2**33, 2**33, 1.0, {"oms.delay.no-wrap": "delivered"}),
        (-1000, 0, 0.0, {}),
    ],
)
def test_a_delay_is_kept_to_and_told(
    delay: int, told: int, waits: float, due: dict[str, str]
) -> None:
    talk = Conversation()
    document = talk.send({names.DELAY_TIME: delay})
    set_attribute(names.DELAY_TIME, told)(document)
    talk.wait(waits)
    talk.receive(document)
    assert broken(talk) == due


@pytest.mark.parametrize(
    ("by_time", "by_age", "is_broken"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_an_expired_message_that_comes_breaks_the_clause_if_no_reading_allows_it(
    *, by_time: bool, by_age: bool, is_broken: bool
) -> None:
    talk = Conversation()
    absolute = talk.send({names.EXPIRE_TIME: talk.now_ms + 500})
    relative = talk.send({names.EXPIRE_TIME: 500})
    talk.wait(2)
    talk.receive(*[absolute] * by_time, *[relative] * by_age)
    due = {"oms.expire.discarded": "delivered"} if is_broken else {}
    assert broken(talk) == due


@pytest.mark.parametrize(("late_s", "is_broken"), [(0.13, True), (0.03, False)])
def test_the_difference_of_two_clocks_does_not_expire_a_message(
    *, late_s: float, is_broken: bool
) -> None:
    talk = Conversation()
    absolute = talk.send({names.EXPIRE_TIME: talk.now_ms + 500})
    relative = talk.send({names.EXPIRE_TIME: 500})
    talk.wait(0.5 + late_s)
    talk.receive(absolute, relative)
    assert broken(talk) == ({"oms.expire.discarded": "delivered"} if is_broken else {})


def test_a_message_that_was_delivered_in_time_may_come_again_after_it_expired() -> None:
    talk = Conversation()
    absolute = talk.send({names.EXPIRE_TIME: talk.now_ms + 500})
    relative = talk.send({names.EXPIRE_TIME: 500})
    talk.receive(absolute, relative)
    talk.wait(2)
    talk.receive(absolute, relative)
    assert not broken(talk)


@pytest.mark.parametrize(
    ("counts", "due"),
    [
        ((1, 2, 3), {}),
        ((0, 1, 2), {}),
        ((1, 3), {"oms.delivery-count.grows": "otherwise"}),
        ((1, 1), {"oms.delivery-count.grows": "otherwise"}),
        ((1, None), {"oms.delivery-count.present": "dropped"} | CLAIMED),
        (
            (1, "2"),
            {
                "oms.delivery-count.present": "other-type",
                "oms.extension-header.number": "string",
            },
        ),
        ((None, 2, 3), {}),
    ],
)
def test_a_count_grows_by_one_after_each_failure(
    counts: tuple[JsonValue, ...], due: dict[str, str]
) -> None:
    talk = Conversation()
    document = talk.send()
    for count in counts:
        attributes_of(document).pop(names.DELIVERY_COUNT, None)
        if count is not None:
            attributes_of(document)[names.DELIVERY_COUNT] = count
        talk.receive(document)
        talk.reject()
    assert broken(talk) == due


def test_a_count_may_skip_what_a_lost_answer_may_have_delivered() -> None:
    talk = Conversation()
    document = talk.send()
    talk.receive(document)
    talk.reject()
    talk.ask("receive", {"destination": "wp_1a_1", "group": "wp_group"}, None)
    set_attribute(names.DELIVERY_COUNT, 3)(document)
    talk.receive(document)
    assert not broken(talk)


def test_what_comes_again_may_be_stored_again_elsewhere_and_without_its_delay() -> None:
    talk = Conversation()
    talk.create(partitions=3)
    document = talk.send({names.DELAY_TIME: 10, names.PARTITION: 1, names.MESSAGE_KEY: "k"})
    talk.receive(document, partition=1)
    talk.reject()
    talk.wait(1)
    drop_attribute(names.DELAY_TIME)(document)
    attributes_of(document).update(
        {names.STORE_TIMESTAMP: talk.now_ms, names.PARTITION: 2, names.DELIVERY_COUNT: 2}
    )
    talk.receive(document, partition=2)
    assert not broken(talk)


def test_a_group_is_the_second_if_another_received_before_without_a_message() -> None:
    talk = Conversation()
    talk.receive(group="other")
    document = talk.send()
    set_attribute(names.STORE_HOST, "")(document)
    talk.receive(document)
    assert [each.way for each in judge(talk).outcomes if each.broken] == ["second-group"]


def test_two_groups_are_told_one_store_timestamp() -> None:
    talk = Conversation()
    document = talk.send()
    talk.receive(document)
    set_attribute(names.STORE_TIMESTAMP, talk.now_ms)(document)
    talk.receive(document, group="other")
    outcomes = [each for each in judge(talk).outcomes if each.broken]
    assert [(each.clause, each.way) for each in outcomes] == [
        ("oms.store.timestamp-stable", "second-group")
    ]


@pytest.mark.parametrize(
    ("number", "told", "place", "due"),
    [
        (2, 2, 2, {}),
        (2, 2, 3, {"oms.partition.delivered-from": "other"}),
        (4, 4, 4, {}),
        (0, 0, 3, {}),
        (5, 5, 0, {"oms.partition.unknown": "replaced"}),
        (-1, -1, 0, {"oms.partition.unknown": "replaced"}),
        (257, 1, 1, {"oms.partition.unknown": "other-number"}),
        (
            257,
            1,
            0,
            {"oms.partition.unknown": "other-number", "oms.partition.no-wrap": "other-number"},
        ),
        (257, 257, 257, {"oms.partition.unknown": "as-chosen"}),
    ],
)
def test_a_message_comes_from_the_partition_that_it_names(
    number: int, told: int, place: int, due: dict[str, str]
) -> None:
    talk = Conversation()
    talk.create(partitions=4)
    document = talk.send({names.PARTITION: number})
    set_attribute(names.PARTITION, told)(document)
    talk.receive(document, partition=place)
    assert broken(talk) == due


@pytest.mark.parametrize("beside", [{}, {names.PRIORITY: 3}])
def test_messages_of_one_key_come_from_one_partition(beside: dict[str, JsonValue]) -> None:
    talk = Conversation()
    talk.create(partitions=4)
    for place in (1, 2):
        talk.receive(talk.send({names.MESSAGE_KEY: "k", **beside}), partition=place)
    due = {} if beside else {"oms.message-key.one-partition": "spread"}
    assert broken(talk) == due


TRANSACTIONS: dict[str, tuple[tuple[str, ...], str, dict[str, str]]] = {
    "committed": (("commit",), "x", {}),
    "other-id": (("commit",), "y", {"oms.transaction.same-id": "other-id"}),
    "prepared": ((), "x", {"oms.transaction.prepared": "delivered"}),
    "rolled-back": (("rollback",), "x", {"oms.transaction.rolled-back": "delivered"}),
}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_prepared_message_comes_when_it_is_committed(name: str) -> None:
    ends, told, due = TRANSACTIONS[name]
    talk = Conversation()
    document = talk.send({names.TRANSACTION_ID: "x"}, op="prepare")
    for op in ends:
        talk.ask(op, {names.TRANSACTION_ID: "x"}, {"ok": {names.TRANSACTION_ID: "x"}})
    set_attribute(names.TRANSACTION_ID, told)(document)
    talk.receive(document)
    assert broken(talk) == due


def test_a_refused_rollback_binds_nobody() -> None:
    talk = Conversation()
    document = talk.send({names.TRANSACTION_ID: "x"}, op="prepare")
    talk.ask("rollback", {names.TRANSACTION_ID: "x"}, {"unsupported": "rollback"})
    talk.receive(document)
    assert not broken(talk)


@pytest.mark.parametrize("name", [names.STORE_TIMESTAMP, names.BORN_TIMESTAMP])
def test_the_times_of_two_messages_must_fit_one_clock(name: str) -> None:
    talk = Conversation()
    talk.receive(first := talk.send())
    talk.wait(60)
    second = talk.send()
    part = attributes_of if name == names.STORE_TIMESTAMP else header_of
    part(second)[name] = part(first)[name]
    talk.receive(second)
    found = broken(talk)
    found.pop("oms.store.timestamp-after-birth", None)
    clause = {
        names.STORE_TIMESTAMP: "oms.store.timestamp",
        names.BORN_TIMESTAMP: "oms.message.born-timestamp-assigned",
    }[name]
    assert found == {clause: "other-time"}


@pytest.mark.parametrize("is_known", [False, True])
def test_a_time_an_hour_ahead_shows_if_the_start_of_the_case_is_known(*, is_known: bool) -> None:
    talk = Conversation()
    document = talk.send()
    attributes_of(document)[names.STORE_TIMESTAMP] = talk.now_ms + HOUR_MS
    talk.receive(document)
    outcomes = judge(talk, started_ms=CASE_STARTED_MS if is_known else None).outcomes
    found = {each.clause for each in outcomes if each.broken}
    assert found == ({"oms.store.timestamp"} if is_known else set())


@pytest.mark.parametrize("days", [-2, 2])
def test_the_clock_of_a_server_may_be_days_away(days: int) -> None:
    talk = Conversation()
    document = talk.send()
    away_ms = days * 24 * HOUR_MS
    attributes_of(document)[names.STORE_TIMESTAMP] = talk.now_ms + away_ms
    talk.receive(document)
    outcomes = judge(talk, ahead_ms=away_ms).outcomes
    found = {each.clause for each in outcomes if each.broken}
    assert not found & {"oms.store.timestamp-unit", "oms.store.timestamp"}


def test_no_text_says_that_the_ids_of_two_destinations_differ() -> None:
    talks = [Conversation(), Conversation()]
    for talk in talks:
        talk.receive(talk.send(answer=None))
    elsewhere = [
        replace(step, data=step.data.replace(PLACE.encode(), b"elsewhere"))
        for step in talks[1].steps
    ]
    ledger = OmsLedger(ALL, RunClock(RUN_STARTED_MS))
    ledger.read("case", talks[0].steps, None)
    ledger.read("other", elsewhere, None)
    ledger.conclude()

    assert [each.clause for each in ledger.outcomes if each.broken] == []


def test_two_messages_have_two_ids() -> None:
    talk = Conversation()
    documents = [talk.send(answer=None), talk.send(answer=None)]
    for document in documents:
        header_of(document)[names.MESSAGE_ID] = "ID:0"
    talk.receive(*documents)
    assert broken(talk) == {"oms.message.message-id-assigned": "same-id"}
