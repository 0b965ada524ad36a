"""The OpenMessaging broker, with a clock that the tests move: what each attribute does."""

from typing import cast

import pytest
from oms_bench import (
    CLIENT,
    FIRST_MS,
    GROUP,
    HOST,
    QUEUE,
    Bench,
    attributes,
    body,
    message,
    part,
)

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.refusal import (
    BAD_PARAMETER,
    HEADER_TOO_LARGE,
    NOT_FOUND,
    Refusal,
)
from wireproof_reference_impl.oms.core.sent import MOST_HEADER_BYTES
from wireproof_spec import strict_json
from wireproof_spec.strict_json import JsonValue

DAY = 86_400_000
LATEST = 2**63 - 1


def test_what_the_sender_set_arrives_with_what_the_server_sets() -> None:
    bench = Bench(partitions=4)
    sent: dict[str, JsonValue] = {
        "correlationId": "answer to \u4e16",
        "messageKey": "k",
        "traceId": "t",
        "transactionId": "x",
        "expireTime": 2**62 + 1,
        "priority": 7,
        "partition": 2,
        "unknownName": 2**70,
    }
    returned = bench.send({**sent, "storeTimestamp": 1, "storeHost": "mine", "deliveryCount": 9})
    bench.now += 40
    (received,) = bench.receive()
    told = attributes(received.document)
    assert told == {
        **sent,
        "storeTimestamp": FIRST_MS,
        "storeHost": HOST,
        "deliveryCount": 1,
    }
    assert attributes(returned) == {
        name: value for name, value in told.items() if name != "deliveryCount"
    }
    assert part(received.document, "header") == {
        "messageId": "id-1",
        "bornTimestamp": FIRST_MS,
        "bornHost": CLIENT,
        "destination": QUEUE,
        "qos": 0,
    }
    assert body(received.document) == b"body"


def test_what_the_sender_says_of_birth_and_id_is_ignored() -> None:
    bench = Bench()
    header: dict[str, JsonValue] = {"messageId": "mine", "bornTimestamp": 5, "bornHost": "x"}
    sent = bench.broker.send(message(header=header), client=CLIENT, now=bench.now)
    assert part(sent, "header")["messageId"] == "id-1"
    assert part(sent, "header")["bornTimestamp"] == FIRST_MS
    assert part(sent, "header")["bornHost"] == CLIENT


@pytest.mark.parametrize("written", ["1000", "1000.0", "1e3"])
def test_a_delay_counts_however_it_is_written(written: str) -> None:
    bench = Bench()
    delay = strict_json.read(written.encode()).value
    bench.send({"delayTime": delay})
    bench.now += 999
    assert bench.receive() == []
    assert bench.broker.next_due == FIRST_MS + 1000
    bench.now += 1
    assert len(bench.receive()) == 1


def test_a_delay_of_a_day_takes_a_day_of_the_clock() -> None:
    bench = Bench()
    bench.send({"delayTime": DAY})
    bench.now += DAY - 1
    assert bench.bodies() == []
    bench.now += 1
    assert bench.bodies() == [b"body"]


@pytest.mark.parametrize("delay", [LATEST, LATEST - FIRST_MS + 1, LATEST - FIRST_MS])
def test_a_huge_delay_ends_at_the_last_moment_that_a_long_has(delay: int) -> None:
    bench = Bench()
    bench.send({"delayTime": delay})
    bench.now = LATEST - 1
    assert bench.receive() == []
    assert bench.broker.next_due == LATEST
    bench.now = LATEST
    assert len(bench.receive()) == 1


@pytest.mark.parametrize("delay", [0, -1, -5000, -(2**63)])
def test_a_delay_of_nothing_or_less_is_none(delay: int) -> None:
    bench = Bench()
    bench.send({"delayTime": delay})
    assert len(bench.receive()) == 1


def test_a_negative_delay_may_be_refused() -> None:
    with pytest.raises(Refusal, match="found -1") as refused:
        Bench(Behaviour(takes_negative_delay=False)).send({"delayTime": -1})
    assert refused.value.code == BAD_PARAMETER


def test_an_undelivered_message_is_discarded_at_its_expire_time() -> None:
    bench = Bench()
    for number, expires in enumerate((FIRST_MS + 10, FIRST_MS + 11)):
        bench.send({"expireTime": expires}, body=b"%d" % number)
    bench.now += 10
    assert bench.bodies() == [b"1"]
    bench.now += 10
    assert bench.bodies("another") == []


@pytest.mark.parametrize("expires", [0, 1, -(2**63), FIRST_MS - 1])
def test_an_expire_time_before_birth_discards_nothing(expires: int) -> None:
    bench = Bench()
    bench.send({"expireTime": expires})
    bench.now += DAY
    assert len(bench.receive()) == 1


@pytest.mark.parametrize("expires", [FIRST_MS, FIRST_MS + 50, FIRST_MS + 99])
@pytest.mark.parametrize(("in_gap", "delivered"), [(False, 1), (True, 0)])
def test_both_readings_of_an_expire_time_before_the_due_time(
    expires: int, in_gap: bool, delivered: int
) -> None:
    bench = Bench(Behaviour(expires_in_gap=in_gap))
    bench.send({"expireTime": expires, "delayTime": 100})
    bench.now += 100
    assert len(bench.receive()) == delivered


@pytest.mark.parametrize(("redelivers", "delivered"), [(True, 1), (False, 0)])
def test_a_message_delivered_before_its_expire_time(redelivers: bool, delivered: int) -> None:
    bench = Bench(Behaviour(redelivers_expired=redelivers))
    bench.send({"expireTime": FIRST_MS + 10})
    (received,) = bench.receive()
    bench.now += 20
    bench.reject(received)
    assert len(bench.receive()) == delivered


@pytest.mark.parametrize("base", [0, 1])
def test_the_delivery_count_grows_by_one(base: int) -> None:
    bench = Bench(Behaviour(count_base=base))
    bench.send()
    for count in range(base, base + 4):
        (received,) = bench.receive()
        assert attributes(received.document)["deliveryCount"] == count
        assert bench.receive() == []
        bench.reject(received)
    (received,) = bench.receive()
    bench.broker.acknowledge(received.receipt)
    assert bench.receive() == []


def test_groups_get_every_message_and_count_by_themselves() -> None:
    bench = Bench()
    bench.send()
    (first,) = bench.receive("one")
    bench.reject(first)
    (again,) = bench.receive("one")
    (other,) = bench.receive("two")
    assert attributes(again.document)["deliveryCount"] == 2
    assert attributes(other.document) == {**attributes(again.document), "deliveryCount": 1}


def test_what_is_rejected_may_come_later() -> None:
    bench = Bench(Behaviour(redelivery_delay_ms=50))
    bench.send()
    (received,) = bench.receive()
    bench.reject(received)
    assert bench.receive() == []
    assert bench.broker.next_due == FIRST_MS + 50
    bench.now += 50
    assert len(bench.receive()) == 1


def test_what_is_never_settled_comes_again() -> None:
    bench = Bench(Behaviour(return_within_ms=1000))
    bench.send()
    (first,) = bench.receive()
    bench.now += 999
    assert bench.receive() == []
    bench.now += 1
    (again,) = bench.receive()
    assert attributes(again.document)["deliveryCount"] == 2
    with pytest.raises(Refusal, match="open delivery"):
        bench.broker.acknowledge(first.receipt)
    bench.broker.acknowledge(again.receipt)


def test_what_may_come_at_most_once_does_not_come_again() -> None:
    bench = Bench(Behaviour(return_within_ms=1000))
    sent = message(header={"qos": 1})
    bench.broker.send(sent, client=CLIENT, now=bench.now)
    (received,) = bench.receive()
    bench.now += 1000
    assert bench.receive() == []
    with pytest.raises(Refusal):
        bench.reject(received)


def test_a_receipt_is_good_for_once() -> None:
    bench = Bench()
    bench.send()
    (received,) = bench.receive()
    bench.broker.acknowledge(received.receipt)
    for settle in (bench.broker.acknowledge, lambda receipt: bench.broker.reject(receipt, 0)):
        with pytest.raises(Refusal) as refused:
            settle(received.receipt)
        assert refused.value.code == NOT_FOUND


@pytest.mark.parametrize("sent", [0, -1, 11, 200, 300, -(2**31), 2**31 - 1])
def test_a_priority_outside_the_range_counts_as_not_set(sent: int) -> None:
    bench = Bench()
    for number, priority in enumerate((4, sent, 6)):
        bench.send({"priority": priority}, body=b"%d" % number)
    received = bench.receive()
    assert [body(each.document) for each in received] == [b"2", b"1", b"0"]
    assert attributes(received[1].document)["priority"] == 5


def test_what_is_told_of_a_priority_is_a_choice() -> None:
    def told(sent: dict[str, JsonValue], behaviour: Behaviour) -> JsonValue:
        bench = Bench(behaviour)
        bench.send(sent)
        return attributes(bench.receive()[0].document).get("priority")

    assert told({}, Behaviour()) == 5
    assert told({}, Behaviour(tells_default_priority=False)) is None
    assert told({"priority": 11}, Behaviour(tells_priority_as_sent=True)) == 11
    assert told({}, Behaviour(tells_priority_as_sent=True)) == 5


def test_without_order_by_priority_messages_come_as_they_were_sent() -> None:
    bench = Bench(Behaviour(orders_by_priority=False))
    for priority in (1, 10, 5):
        bench.send({"priority": priority}, body=b"%d" % priority)
    assert bench.bodies() == [b"1", b"10", b"5"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_partition_that_exists_is_kept_and_any_other_refused(first: int) -> None:
    bench = Bench(Behaviour(first_partition=first), partitions=3)
    for wanted in range(first, first + 3):
        assert attributes(bench.send({"partition": wanted}))["partition"] == wanted
    for wanted in (first - 1, first + 3, 40_000, 2**31 - 1, -(2**31)):
        with pytest.raises(Refusal, match=f"found {wanted}") as refused:
            bench.send({"partition": wanted})
        assert refused.value.code == BAD_PARAMETER
    assert len(bench.receive()) == 3


def test_messages_of_one_key_share_a_partition_and_others_are_spread() -> None:
    bench = Bench(partitions=4)
    of_keys = {
        key: {attributes(bench.send({"messageKey": key}))["partition"] for _ in range(5)}
        for key in ("a", "b", "c", "\u4e16")
    }
    assert all(len(partitions) == 1 for partitions in of_keys.values())
    assert len({attributes(bench.send())["partition"] for _ in range(4)}) == 4


def test_a_new_group_may_begin_with_what_comes_after_it() -> None:
    bench = Bench(Behaviour(new_groups_get_all=False))
    bench.send(body=b"before")
    assert bench.bodies() == []
    bench.send(body=b"after")
    assert bench.bodies() == [b"after"]


def test_a_transaction_delivers_when_it_is_committed() -> None:
    bench = Bench()
    prepared = bench.prepare({"transactionId": "tx", "delayTime": 10})
    assert attributes(prepared)["transactionId"] == "tx"
    bench.now += 20
    assert bench.receive() == []
    bench.broker.commit("tx")
    (received,) = bench.receive()
    assert attributes(received.document)["transactionId"] == "tx"
    assert part(received.document, "header")["bornTimestamp"] == FIRST_MS


def test_a_transaction_rolled_back_delivers_nothing() -> None:
    bench = Bench()
    for number in range(2):
        bench.prepare({"transactionId": "tx"}, body=b"%d" % number)
    bench.broker.roll_back("tx")
    assert bench.receive() == []
    for end in (bench.broker.commit, bench.broker.roll_back):
        with pytest.raises(Refusal) as refused:
            end("tx")
        assert refused.value.code == NOT_FOUND


def test_a_transaction_without_an_id_gets_one() -> None:
    bench = Bench()
    given = attributes(bench.prepare())["transactionId"]
    bench.broker.commit(cast(str, given))
    assert attributes(bench.receive()[0].document)["transactionId"] == given


@pytest.mark.parametrize("compression", ["gzip", "zlib", "unheard-of"])
def test_a_body_is_restored_whatever_its_compression(compression: str) -> None:
    bench = Bench()
    sent = message(header={"compression": compression}, body=b"a" * 5000)
    bench.broker.send(sent, client=CLIENT, now=bench.now)
    (received,) = bench.receive()
    assert body(received.document) == b"a" * 5000
    assert part(received.document, "header")["compression"] == compression


def test_a_message_without_body_stays_so() -> None:
    document = message()
    cast(dict[str, JsonObject], document.value)["message"].pop("data")
    bench = Bench()
    bench.broker.send(document, client=CLIENT, now=bench.now)
    assert "data" not in cast(JsonObject, bench.receive()[0].document["message"])


def test_a_store_timestamp_may_be_that_of_the_due_time() -> None:
    bench = Bench(Behaviour(stores_again_when_due=True))
    bench.send({"delayTime": 70})
    bench.now += 100
    (received,) = bench.receive()
    assert attributes(received.document)["storeTimestamp"] == FIRST_MS + 70


def test_destinations_are_created_once_and_must_exist() -> None:
    bench = Bench(partitions=2)
    bench.broker.create_destination(QUEUE, 2)
    for name, partitions in ((QUEUE, 3), ("", 1), ("a", 0), ("a", 1025)):
        with pytest.raises(Refusal) as refused:
            bench.broker.create_destination(name, partitions)
        assert refused.value.code == BAD_PARAMETER
    for ask in (
        lambda: bench.broker.receive("nowhere", GROUP, most=1, now=0),
        lambda: bench.broker.send(message(destination="nowhere"), client=CLIENT, now=0),
    ):
        with pytest.raises(Refusal, match="'nowhere'") as refused:
            ask()
        assert refused.value.code == NOT_FOUND


def test_a_header_that_is_too_large_is_refused() -> None:
    bench = Bench()
    bench.send({"traceId": "x" * (MOST_HEADER_BYTES - 100)})
    with pytest.raises(Refusal) as refused:
        bench.send({"traceId": "x" * MOST_HEADER_BYTES})
    assert refused.value.code == HEADER_TOO_LARGE
