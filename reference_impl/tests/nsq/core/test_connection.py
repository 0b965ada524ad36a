"""The life of a connection on a bench."""

import json

import pytest
from nsq_bench import Bench, identified, pub, pub_ext, word

from wireproof_reference_impl.nsq.core.states import MOVES, State
from wireproof_reference_impl.nsq.wire.limits import Limits


@pytest.fixture
def bench() -> Bench:
    bench = Bench(limits=Limits(connections=3))
    bench.topic("t")
    return bench


def test_one_client_too_many_is_turned_away(bench: Bench) -> None:
    clients = [bench.connect() for _ in range(3)]
    extra = bench.connect(magic=False)
    frame = extra.frame()

    assert frame is not None
    assert (frame.frame_type, frame.data) == (1, b"too much client connections")
    assert extra.closed
    clients[0].close()
    assert bench.connect().ask(pub("t", b"x")) == "OK"


def test_a_silent_client_is_cut_off_after_three_heartbeats(bench: Bench) -> None:
    client = bench.connect()
    assert client.ask(identified('{"heartbeat_interval":1000}')) == "OK"

    assert client.frame(within=2.9) is None
    assert client.heartbeats == 2
    assert not client.closed
    assert client.frame(within=0.2) is None
    assert client.closed


def test_an_answered_heartbeat_keeps_the_connection(bench: Bench) -> None:
    client = bench.connect()
    client.ask(identified('{"heartbeat_interval":1000}'))
    for _ in range(20):
        bench.wait(1)
        client.send(b"NOP\n")

    assert not client.closed
    assert client.ask(pub("t", b"x")) == "OK"


def test_clients_that_never_identify_get_heartbeats_too(bench: Bench) -> None:
    client = bench.connect()
    client.frame(within=61)

    assert client.heartbeats == 2


def test_a_client_that_sends_no_magic_is_cut_off(bench: Bench) -> None:
    client = bench.connect(magic=False)
    client.send(b"  V")
    client.frame(within=100)

    assert client.closed


def test_identify_negotiates_features(bench: Bench) -> None:
    client = bench.connect()
    client.send(
        identified(
            '{"feature_negotiation":true,"TLS_V1":true,"snappy":true,"desired_tag":"tagé",'
            '"msg_timeout":2000,"unknown":[1]}'
        )
    )
    frame = client.frame()
    assert frame is not None
    fields = json.loads(frame.data)

    assert (fields["tls_v1"], fields["snappy"], fields["deflate"]) == (False, False, False)
    assert (fields["desired_tag"], fields["msg_timeout"]) == ("tagé", 2000)
    assert client.ask(pub("t", b"x")) == "OK"


def test_half_a_character_in_an_identify_costs_nothing(bench: Bench) -> None:
    client = bench.connect()
    client.send(identified('{"feature_negotiation":true,"desired_tag":"\\ud800"}'))
    frame = client.frame()
    assert frame is not None

    assert json.loads(frame.data)["desired_tag"] == "?"
    assert client.ask(pub("t", b"x")) == "OK"


@pytest.mark.parametrize(
    "line", [b"RDY 1\n", b"FIN 0123456789abcdef\n", b"CLS\n", b"TOUCH 0123456789abcdef\n"]
)
def test_consumer_commands_need_a_subscription(bench: Bench, line: bytes) -> None:
    client = bench.connect()

    assert client.ask(line) == "E_INVALID"
    assert client.closed


def test_after_cls_nothing_more_comes_but_may_be_finished(bench: Bench) -> None:
    consumer = bench.consumer("t", ready=1)
    producer = bench.connect()
    producer.ask(pub("t", b"1"))
    producer.ask(pub("t", b"2"))
    message = consumer.message(extend=True)

    assert consumer.ask(b"CLS\n") == "CLOSE_WAIT"
    consumer.send(b"FIN " + message.message_id + b"\nRDY 5\n")
    assert consumer.frame(within=1) is None
    assert not consumer.closed


def test_every_state_is_in_the_table() -> None:
    assert set(MOVES) == set(State)
    assert {state for moves in MOVES.values() for state in moves.values()} == set(State)


def test_the_published_spelling_of_the_ordered_subscription(bench: Bench) -> None:
    client = bench.connect()
    client.ask(identified('{"extend_support":true}'))

    assert client.ask(b"SUB_ORDER t ch 0\n") == "OK"


def test_an_ordered_topic_takes_ordered_subscriptions_only(bench: Bench) -> None:
    bench.topic("o", ordered=True)
    client = bench.connect()
    client.ask(identified('{"extend_support":true}'))

    assert client.ask(b"SUB o ch 0\n") == "E_SUB_ORDER_IS_MUST"


def test_sub_advanced_heeds_its_partition_beside_an_offset(bench: Bench) -> None:
    bench.node.create("two", range(2), extend=False, ordered=False)
    client = bench.connect()
    assert client.ask(b"SUB_ADVANCED two ch 1 special:-1\n") == "OK"
    client.send(b"RDY 5\n")
    producer = bench.connect()
    producer.ask(pub("two", b"0", "0"))
    producer.ask(pub("two", b"1", "1"))

    assert client.message(extend=False, ordered=True).body == b"1"
    assert client.frame(within=1) is None


def test_bytes_after_the_end_are_not_heeded(bench: Bench) -> None:
    client = bench.connect()
    client.send(b"BAD\n" + pub("t", b"x"))
    client.send(pub("t", b"y"))

    assert word(client.frame()) == "E_INVALID"
    assert client.frame(within=0.1) is None
    assert bench.consumer("t").bodies(extend=True) == []


def test_a_header_that_recurs_is_read_once_and_stored_each_time(bench: Bench) -> None:
    client = bench.connect()
    for number in range(3):
        assert client.ask(pub_ext("t", b'{"k":"v"}', b"%d" % number)) == "OK"

    assert bench.consumer("t").bodies(extend=True) == [b"0", b"1", b"2"]
