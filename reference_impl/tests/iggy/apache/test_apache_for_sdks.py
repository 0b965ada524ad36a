"""Generation `apache`: what the project's own SDKs ask for, beyond what was recorded."""

import json
from http import HTTPStatus
from typing import Any

import pytest
from apache_bench import Bench
from iggy_bench import exchange

from wireproof_reference_impl.iggy.apache.http import routes
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.bodies.cluster import CLUSTER

MEASURED = bytes.fromhex(
    "0b00000073696e676c652d6e6f646501000000"  # the cluster's name, one node
    "09000000696767792d6e6f6465090000003132372e302e302e31"  # the node's name and address
    "1e6e00001f6e00000000"  # ports 28190 for TCP and 28191 for HTTP; the leader, healthy
)
"""What server 0.9.0-edge.5 answered to the command."""

TO_FIRST = {"kind": "partition_id", "value": "AAAAAA=="}
KEY = {"kind": "string", "value": "aw=="}


def produce(bench: Bench, messages: object, topic: str = "t", how: object = TO_FIRST) -> Any:
    bench.node.tokens.add("shown")
    connection = routes.connection(bench.node)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer shown"}
    body = json.dumps({"partitioning": how, "messages": messages})
    path = f"/streams/s/topics/{topic}/messages"
    answer = exchange(connection, "POST", path, body.encode(), headers, now_us=bench.tick())
    return answer.status, json.loads(answer.body)


def test_the_cluster_is_described_as_by_the_measured_server() -> None:
    bench = Bench()
    bench.node.addresses = ("127.0.0.1", 28190), ("127.0.0.1", 28191)

    found = bench.login().read(operations.GET_CLUSTER_METADATA)
    assert found == MEASURED
    assert encode(CLUSTER, decode(CLUSTER, found)) == MEASURED


def test_further_members_of_messages_are_ignored() -> None:
    bench = Bench()
    bench.with_topic()
    header = {"key": KEY, "value": {"kind": "bool", "value": "AQ==", "size": 1}, "size": 12}
    messages = [{"payload": "YQ==", "header": {"id": 77}, "size": 61, "user_headers": [header]}]

    status, found = produce(bench, messages, how={**TO_FIRST, "size": 6})
    assert status == HTTPStatus.CREATED
    assert found["confirmations"][0]["base_offset"] == 0


@pytest.mark.parametrize(("topic", "partition"), [("none", "AAAAAA=="), ("t", "CQAAAA==")])
def test_messages_for_an_unknown_place_are_refused_in_one_way(topic: str, partition: str) -> None:
    bench = Bench()
    bench.with_topic()

    how = {**TO_FIRST, "value": partition}
    status, found = produce(bench, [{"payload": "YQ=="}], topic, how)
    assert status == HTTPStatus.NOT_FOUND
    assert (found["id"], found["code"]) == (statuses.RESOURCE_NOT_FOUND, "resource_not_found")
