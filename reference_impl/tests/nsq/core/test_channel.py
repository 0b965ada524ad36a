"""Who gets a message, and what becomes of it: consumers on a bench."""

import pytest
from nsq_bench import Bench, pub, pub_ext, sized, tagged, word

from wireproof_reference_impl.nsq.options import DEPLOYED

TAG_A = '{"extend_support":true,"desired_tag":"tagA"}'
TAG_B = '{"extend_support":true,"desired_tag":"tagB"}'


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.topic("t")
    return bench


def publish(bench: Bench, *frames: bytes) -> None:
    producer = bench.connect()
    for frame in frames:
        assert producer.ask(frame) == "OK"


def test_a_tag_goes_to_the_client_that_desires_it(bench: Bench) -> None:
    untagged, a, b = (
        bench.consumer("t"),
        bench.consumer("t", identify=TAG_A),
        bench.consumer("t", identify=TAG_B),
    )
    publish(bench, tagged("t", "tagA", b"1"), tagged("t", "tagB", b"2"), pub("t", b"3"))

    assert a.bodies(extend=True) == [b"1"]
    assert b.bodies(extend=True) == [b"2"]
    assert untagged.bodies(extend=True) == [b"3"]


def test_a_tag_nobody_desires_goes_to_the_untagged(bench: Bench) -> None:
    other, untagged = bench.consumer("t", identify=TAG_B), bench.consumer("t")
    publish(bench, tagged("t", "tagA", b"1"))

    assert untagged.bodies(extend=True) == [b"1"]
    assert other.bodies(extend=True) == []


def test_a_matching_client_that_is_not_ready_blocks_its_channel(bench: Bench) -> None:
    untagged = bench.consumer("t")
    matching = bench.consumer("t", identify=TAG_A, ready=0)
    publish(bench, tagged("t", "tagA", b"1"), pub("t", b"2"))
    assert untagged.bodies(extend=True) == []

    matching.send(b"RDY 1\n")

    assert matching.bodies(extend=True) == [b"1"]
    assert untagged.bodies(extend=True) == [b"2"]


def test_what_a_matching_client_leaves_goes_to_the_untagged(bench: Bench) -> None:
    untagged, matching = bench.consumer("t"), bench.consumer("t", identify=TAG_A, ready=1)
    publish(bench, tagged("t", "tagA", b"1"), tagged("t", "tagA", b"2"))
    assert word(matching.frame()) == "message"

    matching.close()

    assert sorted(untagged.bodies(extend=True)) == [b"1", b"2"]


def test_each_channel_looks_at_its_own_clients(bench: Bench) -> None:
    bench.consumer("t", identify=TAG_A, channel="one")
    other = bench.consumer("t", channel="two")
    publish(bench, tagged("t", "tagA", b"1"))

    assert other.bodies(extend=True) == [b"1"]


def test_tags_are_found_in_messages_that_waited_in_the_log() -> None:
    bench = Bench()
    bench.topic("t")
    publish(bench, tagged("t", "tagA", b"1"), pub("t", b"2"))
    matching = bench.consumer("t", identify=TAG_A)
    untagged = bench.consumer("t")

    assert matching.bodies(extend=True) == [b"1"]
    assert untagged.bodies(extend=True) == [b"2"]


def test_attempts_count_deliveries(bench: Bench) -> None:
    consumer = bench.consumer("t", identify='{"extend_support":true,"msg_timeout":1000}')
    publish(bench, pub_ext("t", b"{}", b"x"))
    seen = [consumer.message(extend=True)]
    consumer.send(b"REQ " + seen[0].message_id + b" 0\n")
    seen.append(consumer.message(extend=True))
    consumer.send(b"REQ " + seen[0].message_id + b" 300\n")
    seen += [consumer.message(extend=True), consumer.message(extend=True)]

    assert [message.attempts for message in seen] == [1, 2, 3, 4]


def test_a_delivery_to_a_client_that_left_does_not_count(bench: Bench) -> None:
    leaver = bench.consumer("t")
    publish(bench, pub("t", b"x"))
    assert leaver.message(extend=True).attempts == 1
    leaver.close()

    assert bench.consumer("t").message(extend=True).attempts == 1


def test_touch_keeps_a_message(bench: Bench) -> None:
    consumer = bench.consumer("t", identify='{"extend_support":true,"msg_timeout":1000}')
    publish(bench, pub("t", b"x"))
    message = consumer.message(extend=True)
    for _ in range(4):
        bench.wait(0.8)
        consumer.send(b"TOUCH " + message.message_id + b"\n")
    assert consumer.frame(within=0.9) is None

    assert consumer.message(extend=True, within=0.2).attempts == 2


def test_nobody_gets_more_than_it_is_ready_for(bench: Bench) -> None:
    consumer = bench.consumer("t", ready=2)
    publish(bench, *(pub("t", b"%d" % number) for number in range(3)))
    first = consumer.message(extend=True)
    assert consumer.message(extend=True).body == b"1"
    assert consumer.frame(within=1) is None

    consumer.send(b"FIN " + first.message_id + b"\n")

    assert consumer.message(extend=True).body == b"2"


def test_clients_take_turns(bench: Bench) -> None:
    first, second = bench.consumer("t"), bench.consumer("t")
    publish(bench, *(pub("t", b"%d" % number) for number in range(4)))

    assert len(first.bodies(extend=True)) == len(second.bodies(extend=True)) == 2


def test_ordered_delivery_sends_one_at_a_time(bench: Bench) -> None:
    bench.topic("o", ordered=True)
    consumer = bench.consumer("o", command="SUB_ORDER", ready=10)
    publish(bench, pub("o", b"1"), pub("o", b"2"))
    first = consumer.message(extend=True, ordered=True)
    assert consumer.frame(within=1) is None

    consumer.send(b"REQ " + first.message_id + b" 500\n")
    again = consumer.message(extend=True, ordered=True)
    consumer.send(b"FIN " + again.message_id + b"\n")
    second = consumer.message(extend=True, ordered=True)

    assert [each.body for each in (first, again, second)] == [b"1", b"1", b"2"]
    assert (again.attempts, second.attempts) == (2, 1)
    assert (first.disk_queue_offset, second.disk_queue_offset) == (0, first.disk_queue_data_size)


def test_ordered_delivery_needs_no_rdy_in_the_published_dialect(bench: Bench) -> None:
    bench.topic("o", ordered=True)
    consumer = bench.consumer("o", command="SUB_ORDERED", ready=0)
    publish(bench, pub("o", b"1"))

    assert consumer.message(extend=True, ordered=True).body == b"1"


def test_ordered_delivery_needs_rdy_in_the_deployed_dialect() -> None:
    bench = Bench(dialect=DEPLOYED)
    bench.topic("o", ordered=True)
    consumer = bench.consumer("o", command="SUB_ORDERED", ready=0)
    publish(bench, pub("o", b"1"))
    assert consumer.frame(within=1) is None

    consumer.send(b"RDY 5\n")

    assert consumer.message(extend=True, ordered=True).body == b"1"


def test_an_upgrade_sends_clients_in_the_old_layout_away_at_the_next_message() -> None:
    bench = Bench()
    bench.topic("t", extend=False)
    old = bench.consumer("t", identify="{}")
    publish(bench, pub("t", b"1"))
    assert old.bodies(extend=False) == [b"1"]
    assert bench.post("/topic/meta/update?topic=t&upgradeext=true") == (200, b"")
    assert not old.closed
    publish(bench, pub_ext("t", b'{"k":"v"}', b"2"))

    assert old.closed
    assert old.frame() is None
    assert bench.consumer("t").bodies(extend=True) == [b"2"]


def test_messages_from_before_an_upgrade_come_with_version_0() -> None:
    bench = Bench()
    bench.topic("t", extend=False)
    publish(bench, pub("t", b"old"))
    bench.post("/topic/meta/update?topic=t&upgradeext=true")
    publish(bench, pub_ext("t", b'{"k":"v"}', b"new"))
    consumer = bench.consumer("t")
    messages = [consumer.message(extend=True) for _ in range(2)]

    assert [message.body for message in messages] == [b"old", b"new"]
    extends = [message.extend for message in messages]
    assert [each and (each.version, each.data) for each in extends] == [
        (0, None),
        (4, b'{"k":"v"}'),
    ]


def test_a_filter_finishes_what_its_client_does_not_want(bench: Bench) -> None:
    fields = '{"extend_support":true,"ext_filter":{"type":%s,"filter_ext_key":"k",%s}}'
    exact = bench.consumer("t", channel="a", identify=fields % (1, '"filter_data":"v"'))
    regexp = bench.consumer("t", channel="b", identify=fields % (2, '"filter_data":"^v"'))
    glob = bench.consumer("t", channel="c", identify=fields % (3, '"filter_data":"?x"'))
    listed = bench.consumer("t", channel="d", identify=fields % (4, '"filter_data_list":["w"]'))
    inverse = bench.consumer(
        "t", channel="e", identify=fields % (1, '"filter_data":"v","inverse":true')
    )
    for value in (b"v", b"vx", b"w"):
        publish(bench, pub_ext("t", b'{"k":"%s"}' % value, value))

    assert exact.bodies(extend=True) == [b"v"]
    assert regexp.bodies(extend=True) == [b"v", b"vx"]
    assert glob.bodies(extend=True) == [b"vx"]
    assert listed.bodies(extend=True) == [b"w"]
    assert inverse.bodies(extend=True) == [b"vx", b"w"]


def test_a_batch_is_delivered_message_by_message(bench: Bench) -> None:
    consumer = bench.consumer("t")
    batch = sized((2).to_bytes(4) + sized(b"one") + sized(b"two"))
    publish(bench, b"MPUB t 0\n" + batch)

    assert consumer.bodies(extend=True) == [b"one", b"two"]
