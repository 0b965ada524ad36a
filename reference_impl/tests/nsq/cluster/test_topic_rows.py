"""What is kept of a cluster, and how a cluster takes it up again."""

import json
from pathlib import Path

import pytest
from cluster_bench import ClusterBench
from nsq_bench import pub

from wireproof_reference_impl.nsq.cluster import topic_rows
from wireproof_reference_impl.nsq.cluster.cluster_file import ClusterFile
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault


def kept(cluster: ClusterBench) -> dict[str, object]:
    rows: dict[str, object] = json.loads(
        json.dumps(topic_rows.make_rows(cluster.cluster.topics.values()))
    )
    return rows


def made() -> ClusterBench:
    cluster = ClusterBench(3)
    cluster.create("t", "partition_num=2&replicator=1&extend=true")
    cluster.create("r", "replicator=2&disable_channel_auto_create=true")
    assert cluster.post("/channel/create?topic=r&channel=ch") == (200, None)
    cluster.order("/control/writable?topic=t&partition=1&writable=false")
    cluster.order("/control/leader?topic=r")
    return cluster


def test_a_ledger_comes_back_as_it_was() -> None:
    first, second = made(), ClusterBench(3)
    second.cluster.restore(topic_rows.read(kept(first), second.members), second.now_ns)
    assert kept(second) == kept(first)
    assert second.leader("r").member.number == first.leader("r").member.number
    assert second.leader("t", 1).connect().ask(pub("t", b"x", "1")) == "E_FAILED_ON_NOT_WRITABLE"


def test_a_follower_with_more_records_leads() -> None:
    """The leader's queue may have been cut when the machine was lost."""
    cluster = made()
    before = cluster.cluster.topics["r"].places[0]
    leader, follower = before.replicas
    longer = follower.node.topics["r"].partitions[0]
    assert cluster.nodes[leader.number - 1].connect().ask(pub("r", b"one")) == "OK"
    shorter = leader.node.topics["r"].partitions[0]
    longer.copy(next(iter(shorter.log.read_from(0)))[1])
    topics = topic_rows.read(kept(cluster), cluster.members)
    cluster.cluster.restore(topics, cluster.now_ns)
    assert cluster.leader("r").member is follower
    assert shorter.log.count == longer.log.count == 2


def test_what_the_ledger_does_not_name_is_removed() -> None:
    cluster = made()
    rows = {**kept(cluster), "t": None}
    cluster.cluster.restore(topic_rows.read(rows, cluster.members), cluster.now_ns)
    assert all("t" not in node.node.topics for node in cluster.nodes)


@pytest.mark.parametrize("text", ["[]", "3", "{", '{"t": {}}', '{"t": 1}'])
def test_a_file_that_is_no_ledger(text: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.jsonl").write_text(text + "\n")
    with pytest.raises(QueueFault, match="does not fit this cluster"):
        ClusterFile(tmp_path, synced=False).load(ClusterBench().members)


def test_a_ledger_of_more_nodes_than_there_are(tmp_path: Path) -> None:
    file = ClusterFile(tmp_path, synced=True)
    file.save(topic_rows.make_rows(made().cluster.topics.values()))
    with pytest.raises(QueueFault, match="it needs node 3"):
        file.load(ClusterBench(2).members)


def test_the_last_whole_line_of_a_topic_stands(tmp_path: Path) -> None:
    cluster = made()
    rows = kept(cluster)
    file = ClusterFile(tmp_path, synced=False)
    for each in (rows, {"t": None}, {"t": rows["t"]}, {"r": None}):
        file.save(each)
    path = tmp_path / "cluster.jsonl"
    with path.open("ab") as end:
        end.write(b'{"t": nu')

    topics = ClusterFile(tmp_path, synced=False).load(cluster.members)

    assert json.loads(json.dumps(topic_rows.make_rows(topics))) == {"t": rows["t"]}
    assert json.loads(path.read_bytes()) == {"t": rows["t"]}


def test_no_file_is_an_empty_ledger(tmp_path: Path) -> None:
    assert ClusterFile(tmp_path, synced=False).load(ClusterBench().members) == []
