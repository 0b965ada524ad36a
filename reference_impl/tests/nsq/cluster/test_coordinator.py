"""Who leads what, and what is kept when that changes."""

import errno
import os

import pytest
from cluster_bench import ClusterBench
from nsq_bench import pub

from wireproof_reference_impl.nsq.core.log import MemoryStorage, TopicMeta

NOT_LEADER = "E_FAILED_ON_NOT_LEADER"
NOT_THERE = "E_TOPIC_NOT_EXIST"


def test_partitions_go_round_the_nodes() -> None:
    cluster = ClusterBench(3)
    cluster.create("t", "partition_num=3")
    leaders = [cluster.leader("t", number) for number in range(3)]
    assert leaders == cluster.nodes
    for number, leader in enumerate(leaders):
        for node in cluster.nodes:
            expected = "OK" if node is leader else NOT_THERE
            assert node.connect().ask(pub("t", b"x", str(number))) == expected


def test_a_follower_refuses_and_goes_on_with_publishers() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    follower = next(each for each in cluster.nodes if each is not cluster.leader("t"))
    client = follower.connect()
    assert client.ask(pub("t", b"x")) == NOT_LEADER
    assert client.ask(b"SUB t ch 0\n") == NOT_LEADER
    assert client.closed


@pytest.mark.parametrize("command", ["PUB_TRACE", "PUB_EXT", "MPUB"])
def test_a_follower_refuses_every_publish(command: str) -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2&extend=true")
    follower = next(each for each in cluster.nodes if each is not cluster.leader("t"))
    bodies = {
        "PUB_TRACE": bytes(8) + b"x",
        "PUB_EXT": b"\0\2{}x",
        "MPUB": b"\0\0\0\1" + b"\0\0\0\1x",
    }
    body = bodies[command]
    line = f"{command} t 0\n".encode()
    client = follower.connect()
    assert client.ask(line + len(body).to_bytes(4) + body) == NOT_LEADER
    assert not client.closed
    assert (
        cluster.http(cluster.nodes.index(follower), "/pub?topic=t&partition=0", body=b"x") == 400
    )


def test_nothing_acknowledged_is_lost_when_the_leader_moves() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    old = cluster.leader("t")
    consumer = old.consumer("t")
    publisher = old.connect()
    for body in (b"finished", b"held", b"waiting"):
        assert publisher.ask(pub("t", body)) == "OK"
    first = consumer.message(extend=False)
    assert consumer.message(extend=False).body == b"held"
    consumer.send(b"FIN " + first.message_id + b"\n")
    assert cluster.order("/control/leader?topic=t")[0] == 200
    assert consumer.closed
    assert publisher.ask(pub("t", b"x")) == NOT_LEADER
    new = cluster.leader("t")
    assert new is not old
    assert new.connect().ask(pub("t", b"new")) == "OK"
    assert new.consumer("t").bodies(extend=False) == [b"held", b"waiting", b"new"]


def test_internal_ids_go_on_after_a_move() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    ids = []
    for _ in range(3):
        leader = cluster.leader("t")
        client = leader.connect()
        client.send(b"PUB_TRACE t 0\n" + (9).to_bytes(4) + bytes(8) + b"x")
        frame = client.frame()
        assert frame is not None
        ids.append(int.from_bytes(frame.data[2:10]))
        cluster.order("/control/leader?topic=t")
    assert ids == sorted(set(ids))


def test_a_partition_without_followers_moves_as_a_whole() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    old = cluster.leader("t")
    assert old.connect().ask(pub("t", b"kept")) == "OK"
    cluster.order("/control/leader?topic=t")
    new = cluster.leader("t")
    assert new is not old
    assert old.connect().ask(pub("t", b"x")) == NOT_THERE
    assert new.consumer("t").bodies(extend=False) == [b"kept"]


def test_a_partition_moves_there_and_back_among_others() -> None:
    cluster = ClusterBench()
    cluster.create("t", "partition_num=2&multipart=true")
    first = cluster.leader("t", 0)
    assert first.connect().ask(pub("t", b"kept", "0")) == "OK"
    for _ in range(2):
        assert cluster.order("/control/leader?topic=t&partition=0")[0] == 200
    assert cluster.leader("t", 0) is first
    assert first.consumer("t", 0).bodies(extend=False) == [b"kept"]


def test_others_lead_what_a_node_led_that_is_away() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    old = cluster.leader("t")
    assert old.connect().ask(pub("t", b"before")) == "OK"
    address = old.member.address
    assert cluster.order(f"/control/node?node={address}&state=down")[0] == 200
    new = cluster.leader("t")
    assert new is not old
    assert new.connect().ask(pub("t", b"meanwhile")) == "OK"
    assert cluster.order(f"/control/node?node={address}&state=up")[0] == 200
    assert cluster.leader("t") is new
    assert old.connect().ask(pub("t", b"x")) == NOT_LEADER
    cluster.order(f"/control/leader?topic=t&node={address}")
    assert old.consumer("t").bodies(extend=False) == [b"before", b"meanwhile"]


def test_what_only_an_absent_node_holds_is_led_by_nobody() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    old = cluster.leader("t")
    cluster.order(f"/control/node?node={old.member.address}&state=down")
    assert cluster.ask("/lookup?topic=t")[1] == {"channels": [], "partitions": {}, "producers": []}
    cluster.order(f"/control/node?node={old.member.address}&state=up")
    assert cluster.leader("t") is old


def test_a_node_that_missed_records_does_not_lead() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    old, new = cluster.nodes
    assert cluster.leader("t") is old
    cluster.order(f"/control/node?node={new.member.address}&state=down")
    assert old.connect().ask(pub("t", b"missed")) == "OK"
    cluster.order(f"/control/node?node={old.member.address}&state=down")
    cluster.order(f"/control/node?node={new.member.address}&state=up")
    assert new.connect().ask(pub("t", b"x")) == NOT_LEADER
    cluster.order(f"/control/node?node={old.member.address}&state=up")
    cluster.order(f"/control/leader?topic=t&node={new.member.address}")
    assert new.consumer("t").bodies(extend=False) == [b"missed"]


def test_an_unwritable_partition_refuses_publishers_only() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    leader = cluster.leader("t")
    publisher = leader.connect()
    assert publisher.ask(pub("t", b"kept")) == "OK"
    cluster.order("/control/writable?topic=t&partition=0&writable=false")
    assert publisher.ask(pub("t", b"x")) == "E_FAILED_ON_NOT_WRITABLE"
    assert leader.consumer("t").bodies(extend=False) == [b"kept"]
    cluster.order("/control/writable?topic=t&partition=0&writable=true")
    assert publisher.ask(pub("t", b"x")) == "OK"


def test_an_upgrade_reaches_every_node() -> None:
    cluster = ClusterBench()
    cluster.create("t", "partition_num=2")
    assert cluster.post("/topic/meta/update?topic=t&upgradeext=true") == (200, None)
    assert all(node.node.topics["t"].extend for node in cluster.nodes)


def test_topics_are_made_by_lookup_servers_only() -> None:
    cluster = ClusterBench()
    client = cluster.nodes[0].connect()
    assert client.ask(b"INTERNAL_CREATE_TOPIC t 0\n") == "E_CREATE_TOPIC_FAILED"
    assert not client.closed
    assert cluster.http(0, "/topic/create?topic=t&partition_num=1&replicator=1") == 404


def test_a_channel_must_be_registered_where_subscribing_makes_none() -> None:
    cluster = ClusterBench()
    cluster.create("t", "disable_channel_auto_create=true")
    client = cluster.leader("t").connect()
    assert client.ask(b"SUB t ch 0\n") == "E_SUB_CHANNEL_NOT_REGISTERED"


def test_a_topic_is_deleted_on_every_node() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    consumer = cluster.leader("t").consumer("t")
    assert cluster.post("/topic/delete?topic=t&partition=**") == (200, None)
    assert consumer.closed
    assert all("t" not in node.node.topics for node in cluster.nodes)


def test_a_topic_that_a_node_cannot_keep_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = ClusterBench()

    def full(storage: MemoryStorage, meta: TopicMeta) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(MemoryStorage, "save_topic", full)
        found = bench.post("/topic/create?topic=t&partition_num=2&replicator=1")
    assert found == (500, {"message": "the change could not be kept: No space left on device"})
    assert bench.ask("/topics") == (200, {"topics": []})
    assert all(not each.node.topics for each in bench.members)

    bench.create("t", "partition_num=2")
    assert bench.ask("/topics") == (200, {"topics": ["t"]})
