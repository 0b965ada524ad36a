"""What nodes of a real youzan cluster were recorded to do, nodes of the reference do too."""

import re
from collections.abc import Mapping, Sequence

import pytest
from cluster_bench import ClusterBench, NodeBench, exchange
from nsq_bench import Client, pub, pub_ext, sized
from test_golden_nsqd import answer_of, came, request_of, sent, without

from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.options import DEPLOYED
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange, Json, Scenario, Step

CLUSTER = "cluster"
SCENARIOS = [each for each in golden.nsqd_tcp() if each.server == CLUSTER]
EXCHANGES = [each for each in golden.nsqd_http() if each.server == CLUSTER]
HTTP_PATH = "/topic/meta/update"
TRACED = b'{"##trace_id":"12","k":"v"}'
BEFORE = (
    pub("gdd_upgraded", b"before upgrade 1"),
    b"PUB_TRACE gdd_upgraded 0\n" + sized((11).to_bytes(8) + b"before upgrade 2"),
)
AFTER = (
    pub("gdd_upgraded", b"after upgrade 1 no header"),
    pub_ext("gdd_upgraded", TRACED, b"after upgrade 2"),
    pub_ext("gdd_upgraded", b'{"k2":"v2"}', b"after upgrade 3"),
)
_PARTITION = re.compile(rb"(?:PUB\w*|SUB\w*) \S+ (?:[^\d\s]\S* )?(\d+)\n")

UPGRADE = [each for each in SCENARIOS if each.name.startswith("upgrade/")]
"""Three rows of one story: they are told in one test."""


def arranged(setup: Sequence[Mapping[str, Json]]) -> ClusterBench:
    cluster = ClusterBench(dialect=DEPLOYED)
    for each in setup:
        flags = [
            ("extend", each["ext"]),
            ("orderedmulti", each["ordered"]),
            ("disable_channel_auto_create", each.get("disable_channel_auto_create", False)),
        ]
        wanted = f"partition_num={each['partition_num']}&replicator={each['replicator']}"
        wanted += "".join(f"&{name}=true" for name, on in flags if on)
        cluster.create(str(each["create_topic"]), wanted)
    return cluster


def node_of(cluster: ClusterBench, name: str, topic: str, partition: int) -> NodeBench:
    """Return the node that the recorded client talked to."""
    if not cluster.cluster.topics:
        return cluster.nodes[0]
    leader = cluster.leader(topic, partition)
    other = next(each for each in cluster.nodes if each is not leader)
    return other if name.endswith(("wrong_node", "follower")) else leader


def partition_of(scenario: Scenario) -> int:
    data = b"".join(step.data for step in scenario.steps if step.direction == "send")
    found = _PARTITION.search(data)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    "scenario", [each for each in SCENARIOS if each not in UPGRADE], ids=lambda each: each.name
)
def test_scenario_is_repeated(scenario: Scenario) -> None:
    cluster = arranged(scenario.setup)
    topic = str(scenario.setup[0]["create_topic"]) if scenario.setup else ""
    node = node_of(cluster, scenario.name, topic, partition_of(scenario))
    clients = repeated(node, scenario.steps)
    assert {name: client.closed for name, client in clients.items()} == scenario.closed


def repeated(node: NodeBench, steps: Sequence[Step]) -> dict[str, Client]:
    """Do what the clients did, compare what came, and return the clients."""
    clients: dict[str, Client] = {}
    for step in steps:
        if step.connection not in clients:
            clients[step.connection] = node.connect(magic=False)
        (sent if step.direction == "send" else came)(clients[step.connection], step)
    return clients


def test_an_upgrade_is_repeated() -> None:
    old_client, new_client, refused = UPGRADE
    cluster = arranged(old_client.setup)
    node = cluster.leader("gdd_upgraded")
    publisher = node.connect()
    clients: dict[str, Client] = {}
    for step in old_client.steps:
        if step.direction == "http":
            assert cluster.post(f"{HTTP_PATH}?topic=gdd_upgraded&upgradeext=true") == (200, None)
            publish(publisher, AFTER)
            continue
        if step.connection not in clients:
            clients[step.connection] = node.connect(magic=False)
        if step.data.startswith(b"RDY"):
            publish(publisher, BEFORE)
        (sent if step.direction == "send" else came)(clients[step.connection], step)
    assert clients["A"].closed
    repeated(node, new_client.steps)
    assert repeated(node, refused.steps)["A"].closed


def publish(publisher: Client, commands: Sequence[bytes]) -> None:
    for command in commands:
        assert publisher.ask(command) in ("OK", "trace")


@pytest.mark.parametrize("exchange_row", EXCHANGES, ids=lambda each: each.name)
def test_exchange_is_repeated(exchange_row: HttpExchange) -> None:
    row = exchange_row
    cluster = arranged(row.setup)
    topic = str(row.setup[0]["create_topic"])
    node = node_of(cluster, row.name, topic, 0)
    connect = http_api.connector(node.node)
    status, _, body = answer_of(exchange(connect, cluster.now_ns, request_of(row)))
    assert status == row.status
    assert without(body, row.varies) == without(row.response_body, row.varies)
