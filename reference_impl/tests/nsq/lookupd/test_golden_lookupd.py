"""What a real youzan nsqlookupd was recorded to answer, the deployed dialect answers too.

The recording is one long session with one cluster, so it is replayed as one, in its order; the
kept rows are a sample, and what the missing ones did is done here before the row that needs it.
Who leads what differs from run to run, and so do addresses: of a node record the names and
types are compared, of its place in the answer everything.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import cast

from check_each import check_each
from cluster_bench import ClusterBench, exchange, parsed

from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.options import DEPLOYED
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange

SERVER = "youzan nsqlookupd"
FIRST_NODE_HTTP = "127.0.0.1:15211"
NOT_YET_KNOWN = "a topic made before was not known to the recorded server yet; here it is at once"

LEFT_OUT = {
    "partition-expand/reduce": "the recorded cluster was unstable at that moment",
    "lookup/old-nsqd-registered-without-partition-w": "a node registered over the lookup "
    "server's TCP protocol, which is not offered",
    "topics/list/plain": NOT_YET_KNOWN,
    "topics/metainfo-lower-case-ignored": NOT_YET_KNOWN,
    "leader-lookupd-killed/listlookup-on-other-23s": "lookup servers do not come and go",
}
"""Rows that are not repeated, and why."""

TOPICS = "xxx plain1 plain2 rep2 ord1 ordext1 multi1 extcase ext1val sync1 syncneg reten1 retneg"
"""The topics that had the channel ch from some moment on."""

ROWS = [each for each in golden.nsqlookupd_http() if each.server == SERVER]


def make_plain1(cluster: ClusterBench) -> None:
    cluster.create("plain1")


def subscribe_everywhere(cluster: ClusterBench) -> None:
    for name in TOPICS.split():
        for number, place in cluster.cluster.topics[name].places.items():
            assert place.leader is not None
            place.leader.node.topics[name].partitions[number].channel("ch")


def finish_the_upgrade(cluster: ClusterBench) -> None:
    cluster.wait(3)


def tombstone_the_first(cluster: ClusterBench) -> None:
    path = f"/topic/tombstone?topic=plain2&node={FIRST_NODE_HTTP}"
    assert cluster.post(path) == (200, None)


def let_the_other_lead(cluster: ClusterBench) -> None:
    first, second = cluster.servers
    for server in cluster.servers:
        server.servers = (second, first)


BEFORE: Mapping[str, Callable[[ClusterBench], None]] = {
    "create/v1-accept": make_plain1,
    "lookup/xxx/w-meta/with-channel/plain": subscribe_everywhere,
    "upgradeext/false-does-not-downgrade": finish_the_upgrade,
    "tombstone/lookup-w/plain": tombstone_the_first,
    "leader-lookupd-killed/lookup-w-on-other": let_the_other_lead,
}
"""What happened between rows."""


def recorded_cluster() -> ClusterBench:
    cluster = ClusterBench(dialect=DEPLOYED)
    for member in cluster.members:
        port = 15200 + 10 * member.number
        member.tcp, member.http = ("127.0.0.1", port), ("127.0.0.1", port + 1)
    return cluster


def server_of(row: HttpExchange) -> int:
    return 1 if "follower" in row.name or "on-other" in row.name else 0


@cache
def replayed() -> Mapping[str, bytes]:
    cluster = recorded_cluster()
    answers = {}
    for row in ROWS:
        if row.name in BEFORE:
            BEFORE[row.name](cluster)
        if row.name not in LEFT_OUT:
            connect = api.connector(cluster.servers[server_of(row)])
            answers[row.name] = exchange(connect, cluster.now_ns, request_of(row))
    return answers


def request_of(row: HttpExchange) -> bytes:
    fields = {**row.request_headers, "Host": "x", "Content-Length": str(len(row.request_body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{row.method} {row.path} HTTP/1.1\r\n{head}\r\n".encode() + row.request_body


def shape(value: object) -> object:
    """Return an answer without what differs from run to run."""
    if isinstance(value, dict):
        fields: dict[str, object] = value
        if "topics" in fields and "partitions" in fields:
            return {"node": {name: type(each).__name__ for name, each in fields.items()}}
        if {"tcp_port", "ID"} & set(fields):
            return {name: type(each).__name__ for name, each in fields.items()}
        fields = {**fields, "stable": True} if "stable" in fields else fields
        return {name: shape(each) for name, each in fields.items()}
    if isinstance(value, list):
        shapes = [shape(each) for each in value]
        return sorted(shapes, key=str)
    return value


def comparable(body: bytes) -> object:
    try:
        found: object = json.loads(body)
    except ValueError:
        return body
    fields = cast(dict[str, object], found)
    inner = fields.get("data", fields)
    if isinstance(inner, dict) and "version" in inner:
        inner["version"] = "any"
    return shape(found)


@check_each([each for each in ROWS if each.name not in LEFT_OUT], lambda row: row.name)
def test_row_is_repeated(row: HttpExchange) -> None:
    status, headers, body = parsed(replayed()[row.name])
    assert status == row.status
    assert comparable(body) == comparable(row.response_body)
    expected = {name.lower(): value for name, value in row.response_headers.items()}
    for name in ("content-type", "x-nsq-content-type", "allow"):
        assert headers.get(name) == expected.get(name)


def test_rows_named_here_exist() -> None:
    names = {each.name for each in ROWS}
    assert set(LEFT_OUT) <= names
    assert set(BEFORE) <= names
