"""What lookup servers answer beyond the recording."""

from typing import cast

import pytest
from cluster_bench import ClusterBench, exchange, parsed, request
from nsq_bench import pub

from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.options import DEPLOYED

MOVE = "/topic/partition/move?topic=t&partition=0"
FIRST, SECOND = "127.0.0.1:0:1:1", "127.0.0.1:0:2:2"
"""The distributed ids of the two nodes; the first leads the topic."""
EMPTY: dict[str, object] = {"channels": [], "partitions": {}, "producers": []}


def test_published_offers_both_spellings_of_the_path() -> None:
    cluster = ClusterBench()
    for number, path in enumerate(("/topic/creat", "/topic/create")):
        query = f"?topic=t{number}&partition_num=2&replicator=1&extend=true"
        assert cluster.post(path + query) == (200, None)


def test_published_tells_producers_at_once() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    status, found = cluster.ask("/lookup?topic=t&access=w&metainfo=true")
    assert status == 200
    assert list(cast(dict[str, dict[str, object]], found)["partitions"]) == ["0"]


@pytest.mark.parametrize("dialect", ["published", DEPLOYED])
def test_a_topic_without_registered_channels_has_null(dialect: str) -> None:
    cluster = ClusterBench(dialect=dialect)
    cluster.create("t")
    status, found = cluster.ask("/topics?metaInfo=true")
    (meta,) = cast(dict[str, list[dict[str, object]]], found)["meta_info"]
    assert (status, meta["topic_name"], meta["registered_channels"]) == (200, "t", None)


@pytest.mark.parametrize("dialect", ["published", DEPLOYED])
def test_an_error_text_with_quotes(dialect: str) -> None:
    cluster = ClusterBench(dialect=dialect)
    path = "/topic/create?topic=t&partition_num=1&replicator=1&retention=abc"
    answer = exchange(api.connector(cluster.servers[0]), cluster.now_ns, request("POST", path))
    status, _, body = parsed(answer)
    text = b'strconv.Atoi: parsing "abc": invalid syntax'
    shown = text.replace(b'"', b'\\"') if dialect == "published" else text
    assert (status, body) == (400, b'{"message":"%s"}' % shown)


def test_after_an_upgrade_producers_wait_a_moment() -> None:
    cluster = ClusterBench(dialect=DEPLOYED)
    cluster.create("t")
    assert cluster.leader("t").connect().ask(b"SUB t ch 0\n") == "OK"
    assert cluster.post("/topic/meta/update?topic=t&upgradeext=true")[0] == 200
    assert cluster.ask("/lookup?topic=t&access=w")[0] == 404
    cluster.wait(3)
    status, found = cluster.ask("/lookup?topic=t&access=w&metainfo=true")
    assert status == 200
    assert cast(dict[str, dict[str, object]], found)["meta"]["extend_support"] is True


def test_an_unwritable_partition_is_not_offered_to_producers() -> None:
    cluster = ClusterBench()
    cluster.create("t", "partition_num=2")
    cluster.order("/control/writable?topic=t&partition=1&writable=false")
    for access, expected in (("w", ["0"]), ("r", ["0", "1"])):
        _, found = cluster.ask(f"/lookup?topic=t&access={access}")
        assert sorted(cast(dict[str, dict[str, object]], found)["partitions"]) == expected


def test_lookup_servers_show_a_node_under_ids_of_their_own() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    found = [cluster.ask("/lookup?topic=t", server=each)[1] for each in range(2)]
    records = [
        cast(dict[str, dict[str, dict[str, str]]], each)["partitions"]["0"] for each in found
    ]
    assert records[0]["id"] != records[1]["id"]
    assert records[0]["distributed_id"] == records[1]["distributed_id"]


def test_a_topic_that_makes_no_channels_is_known_once_it_has_one() -> None:
    cluster = ClusterBench()
    cluster.create("t", "disable_channel_auto_create=true")
    assert cluster.ask("/topics") == (200, {"topics": []})
    assert cluster.ask("/lookup?topic=t&access=w") == (200, EMPTY)
    assert cluster.post("/channel/create?topic=t&channel=ch") == (200, None)
    assert cluster.ask("/topics") == (200, {"topics": ["t"]})
    assert cluster.leader("t").connect().ask(b"SUB t ch 0\n") == "OK"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/channel/create", 400, "MISSING_ARG_TOPIC"),
        ("/channel/create?topic=t", 400, "MISSING_ARG_CHANNEL"),
        ("/channel/create?topic=t&channel=a%20b", 400, "INVALID_ARG_CHANNEL"),
        ("/channel/create?topic=no&channel=c", 400, "Key not found"),
        ("/channel/create?topic=t&channel=c", 400, "channel auto create NOT disabled in topic t"),
        ("/topic/partition/move?topic=t", 400, "MISSING_ARG_TOPIC_PARTITION"),
        ("/topic/partition/move?topic=t&partition=x", 400, "INVALID_ARG_TOPIC_PARTITION_NUM"),
        (MOVE, 400, "move to and from node can not be the same"),
        (f"{MOVE}&move_leader=true&move_from={SECOND}", 400, "move from not the topic leader"),
        (
            f"{MOVE}&move_from={FIRST}",
            400,
            "can not move leader without moveleader param",
        ),
        (
            f"{MOVE}&move_from={SECOND}",
            400,
            "the move source node has no replica for the topic",
        ),
        (
            f"{MOVE}&move_leader=true&move_from={FIRST}&move_to=x",
            400,
            "the move destination is not found in cluster",
        ),
        ("/topic/partition/move?topic=no&partition=0", 400, "Key not found"),
        ("/topic/partition/expand?topic=t", 400, "MISSING_ARG_TOPIC_PARTITION_NUM"),
        ("/topic/partition/expand?topic=no&partition_num=2", 500, "topic is not created"),
        (
            "/topic/partition/expand?topic=two&partition_num=1",
            500,
            "the partition number can not be reduced",
        ),
    ],
)
def test_refusals(path: str, status: int, text: str) -> None:
    cluster = ClusterBench()
    cluster.create("t")
    cluster.create("two", "partition_num=2")
    assert cluster.post(path) == (status, {"message": text})


def test_a_registration_is_taken_back() -> None:
    cluster = ClusterBench()
    cluster.create("t", "disable_channel_auto_create=true")
    cluster.post("/channel/create?topic=t&channel=ch")
    consumer = cluster.leader("t").consumer("t")
    assert cluster.post("/channel/delete?topic=t&channel=ch") == (200, None)
    assert consumer.closed
    found = cluster.leader("t").connect().ask(b"SUB t ch 0\n")
    assert found == "E_SUB_CHANNEL_NOT_REGISTERED"


def distributed_id(node: int) -> str:
    return f"127.0.0.1:0:{node + 1}:{node + 1}"


def test_a_leader_is_moved_over_a_lookup_server() -> None:
    cluster = ClusterBench(3)
    cluster.create("t", "replicator=2")
    old = cluster.leader("t")
    assert old.connect().ask(pub("t", b"kept")) == "OK"
    first, third = cluster.nodes.index(old), (cluster.nodes.index(old) + 2) % 3
    path = "/topic/partition/move?topic=t&partition=0&move_leader=true"
    path += f"&move_from={distributed_id(first)}&move_to={distributed_id(third)}"
    assert cluster.post(path, server=1) == (400, {"message": "Not nsqlookup leader"})
    assert cluster.post(path) == (200, None)
    assert cluster.leader("t") is cluster.nodes[third]
    assert cluster.leader("t").consumer("t").bodies(extend=False) == [b"kept"]


def test_a_copy_is_moved_over_a_lookup_server() -> None:
    cluster = ClusterBench(3)
    cluster.create("t", "replicator=2")
    leader = cluster.leader("t")
    assert leader.connect().ask(pub("t", b"kept")) == "OK"
    second, third = (cluster.nodes.index(leader) + 1) % 3, (cluster.nodes.index(leader) + 2) % 3
    path = "/topic/partition/move?topic=t&partition=0"
    path += f"&move_from={distributed_id(second)}&move_to={distributed_id(third)}"
    assert cluster.post(path) == (200, None)
    assert cluster.leader("t") is leader
    assert cluster.nodes[second].connect().ask(pub("t", b"x")) == "E_TOPIC_NOT_EXIST"
    cluster.order("/control/leader?topic=t")
    assert cluster.leader("t") is cluster.nodes[third]
    assert cluster.leader("t").consumer("t").bodies(extend=False) == [b"kept"]


def test_a_topic_gets_more_partitions() -> None:
    cluster = ClusterBench(3)
    cluster.create("t", "partition_num=1")
    assert cluster.post("/topic/partition/expand?topic=t&partition_num=3") == (200, None)
    assert {cluster.leader("t", each).member.number for each in range(3)} == {1, 2, 3}
    assert cluster.leader("t", 2).connect().ask(pub("t", b"x", "2")) == "OK"


def test_nothing_is_moved_while_a_node_is_away() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    cluster.order("/control/node?node=127.0.0.1:2&state=down")
    path = "/topic/partition/expand?topic=t&partition_num=2"
    assert cluster.post(path) == (500, {"message": "the cluster is unstable"})


def test_writes_that_are_disabled_leave_readers_alone() -> None:
    cluster = ClusterBench()
    cluster.create("plain")
    cluster.create("ordered", "orderedmulti=true")
    assert cluster.order("/control/writes?type=ordered")[0] == 200
    _, found = cluster.ask("/lookup?topic=ordered&access=w")
    answer = cast(dict[str, object], found)
    assert answer["partitions"] is None
    assert answer["producers"] is None
    assert "meta" in answer
    for path in ("/lookup?topic=plain&access=w", "/lookup?topic=ordered&access=r"):
        _, found = cluster.ask(path)
        assert cast(dict[str, object], found)["partitions"]


def test_options_are_answered_without_doing_anything() -> None:
    cluster = ClusterBench()
    path = "/topic/create?topic=t&partition_num=1&replicator=1"
    connect = api.connector(cluster.servers[0])
    status, headers, body = parsed(exchange(connect, cluster.now_ns, request("OPTIONS", path)))
    assert (status, headers["allow"], body) == (200, "POST, PUT, OPTIONS", b"")
    assert cluster.ask("/topics") == (200, {"topics": []})


def test_more_copies_are_made_and_fewer_kept() -> None:
    cluster = ClusterBench(3)
    cluster.create("t")
    leader = cluster.leader("t")
    assert leader.connect().ask(pub("t", b"kept")) == "OK"
    assert cluster.post("/topic/meta/update?topic=t&replicator=3") == (200, None)
    holders = [each for each in cluster.nodes if "t" in each.node.topics]
    assert holders == cluster.nodes
    cluster.order("/control/leader?topic=t")
    assert cluster.post("/topic/meta/update?topic=t&replicator=1") == (200, None)
    moved = cluster.leader("t")
    assert [each for each in cluster.nodes if "t" in each.node.topics] == [moved]
    assert moved is not leader
    assert moved.consumer("t").bodies(extend=False) == [b"kept"]


def test_a_changed_topic_is_another_one_when_it_is_created_again() -> None:
    cluster = ClusterBench()
    cluster.create("t", "syncdisk=5")
    again = "/topic/create?topic=t&partition_num=1&replicator=1&syncdisk=5"
    assert cluster.post("/topic/meta/update?topic=t&syncdisk=0") == (200, None)
    assert cluster.post(again) == (400, {"message": "already exist"})
    assert cluster.post("/topic/meta/update?topic=t&syncdisk=5&retention=-3") == (200, None)
    assert cluster.post(again) == (200, None)


def test_channels_may_be_left_to_registration_later() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    path = "/topic/meta/update?topic=t&disable_channel_auto_create="
    assert cluster.post(f"{path}true") == (200, None)
    client = cluster.leader("t").connect()
    assert client.ask(b"SUB t ch 0\n") == "E_SUB_CHANNEL_NOT_REGISTERED"
    assert cluster.post(f"{path}false") == (200, None)
    assert cluster.leader("t").connect().ask(b"SUB t ch 0\n") == "OK"
