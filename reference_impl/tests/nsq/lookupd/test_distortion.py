"""How lookup servers answer wrongly, late or not at all."""

import json
from typing import cast

import pytest
from cluster_bench import ClusterBench, exchange, parsed, request

from wireproof_reference_impl.nsq.lookupd import api

LOOKUP = "/lookup?topic=t&metainfo=true"


def distorted(way: str, path: str = LOOKUP, *, v1: bool = True) -> tuple[int, bytes]:
    cluster = ClusterBench()
    cluster.create("t")
    status, _ = cluster.order(f"/control/lookup?lookupd=127.0.0.1:101&answer={way}")
    assert status == 200
    connect = api.connector(cluster.servers[0])
    found = parsed(exchange(connect, cluster.now_ns, request("GET", path, v1=v1)))
    return found[0], found[2]


@pytest.mark.parametrize("v1", [True, False])
@pytest.mark.parametrize(
    ("way", "status", "words"),
    [
        ("not-json", 200, b"<html>"),
        ("unescaped", 400, b'parsing "abc"'),
        ("empty", 200, b""),
        ("error-500", 500, b"INTERNAL_ERROR"),
        ("null-lists", 200, b'"producers":null'),
        ("string-ports", 200, b'"tcp_port":"1"'),
    ],
)
def test_wrong_bodies(way: str, status: int, words: bytes, v1: bool) -> None:
    found, body = distorted(way, v1=v1)
    assert found == status
    assert words in body


@pytest.mark.parametrize("way", ["not-json", "unescaped", "empty"])
def test_some_are_no_json(way: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(distorted(way)[1])


@pytest.mark.parametrize("v1", [True, False])
def test_the_wrong_envelope_is_the_other_one(v1: bool) -> None:
    right = json.loads(distorted("right", v1=not v1)[1])
    assert json.loads(distorted("wrong-envelope", v1=v1)[1]) == right


def test_errors_come_in_the_wrong_envelope_too() -> None:
    path = "/lookup?topic=no&access=w"
    found = json.loads(distorted("wrong-envelope", path)[1])
    assert found == {"status_code": 404, "status_txt": "Key not found", "data": None}
    found = json.loads(distorted("wrong-envelope", path, v1=False)[1])
    assert found == {"message": "Key not found"}


def test_a_redirect_names_the_next_lookup_server() -> None:
    cluster = ClusterBench()
    cluster.order("/control/lookup?lookupd=127.0.0.1:101&answer=redirect")
    connect = api.connector(cluster.servers[0])
    asked = request("GET", "/lookup?topic=a%20b&access=r")
    status, headers, _ = parsed(exchange(connect, cluster.now_ns, asked))
    assert status == 307
    assert headers["location"] == "http://127.0.0.1:102/lookup?topic=a+b&access=r"


def test_a_slow_answer_comes_when_it_is_due() -> None:
    cluster = ClusterBench()
    cluster.create("t")
    cluster.order("/control/lookup?lookupd=127.0.0.1:101&answer=slow&delay_ms=2000")
    link = api.connector(cluster.servers[0])("127.0.0.1:1", cluster.now_ns)
    link.receive(request("GET", LOOKUP), cluster.now_ns)
    cluster.wait(1.9)
    assert link.take_output() == b""
    cluster.wait(0.2)
    assert parsed(link.take_output())[0] == 200
    link.receive(request("GET", LOOKUP) * 2, cluster.now_ns)
    cluster.wait(4.1)
    assert link.take_output().count(b"HTTP/1.1 200") == 2


def test_a_silent_server_keeps_the_connection() -> None:
    cluster = ClusterBench()
    cluster.order("/control/lookup?lookupd=127.0.0.1:101&answer=silent")
    link = api.connector(cluster.servers[0])("127.0.0.1:1", cluster.now_ns)
    link.receive(request("GET", LOOKUP), cluster.now_ns)
    cluster.wait(60)
    assert link.take_output() == b""
    assert not link.closed


def test_changes_are_answered_right() -> None:
    cluster = ClusterBench()
    cluster.order("/control/lookup?lookupd=127.0.0.1:101&answer=not-json")
    cluster.create("t")
    assert cluster.post("/topic/meta/update?topic=t&upgradeext=true") == (200, None)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/control/leader", "'topic' is missing"),
        ("/control/leader?topic=no", "there is no topic 'no'"),
        ("/control/leader?topic=t&partition=7", "1 partition(s) from 0 on, none is '7'"),
        ("/control/leader?topic=t&node=127.0.0.1:9", "there are 127.0.0.1:1, 127.0.0.1:2"),
        ("/control/leader?topic=t&node=127.0.0.1:1", "leads the partition already"),
        ("/control/writable?topic=t&writable=maybe", "one of true, false"),
        ("/control/writable?topic=t", "'writable' is missing"),
        ("/control/node?node=127.0.0.1:1&state=gone", "one of up, down"),
        ("/control/writes?type=some", "one of none, ordered, all"),
        ("/control/lookup?lookupd=127.0.0.1:1&answer=right", "no lookup server"),
        ("/control/lookup?lookupd=127.0.0.1:101&answer=odd", "one of right, silent"),
        ("/control/lookup?lookupd=127.0.0.1:101&answer=slow&delay_ms=x", "milliseconds"),
    ],
)
def test_the_control_refuses_with_one_sentence(path: str, words: str) -> None:
    cluster = ClusterBench()
    cluster.create("t")
    before = cluster.order("/control/state", method="GET")[1]
    status, found = cluster.order(path)
    assert status == 400
    assert words in cast(str, found["message"])
    assert cluster.order("/control/state", method="GET")[1] == before


def test_a_down_node_cannot_be_made_to_lead() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    cluster.order("/control/node?node=127.0.0.1:2&state=down")
    for node in ("", "&node=127.0.0.1:2"):
        assert cluster.order(f"/control/leader?topic=t{node}")[0] == 400


def test_the_state_tells_what_was_broken() -> None:
    cluster = ClusterBench()
    cluster.create("t", "replicator=2")
    cluster.order("/control/lookup?lookupd=127.0.0.1:102&answer=empty")
    cluster.order("/control/writes?type=all")
    cluster.order("/control/writable?topic=t&writable=false")
    _, told = cluster.order("/control/node?node=127.0.0.1:2&state=down")
    _, state = cluster.order("/control/state", method="GET")
    nodes = cast(list[dict[str, str]], state["nodes"])
    servers = cast(list[dict[str, object]], state["lookupds"])
    topics = cast(dict[str, dict[str, dict[str, object]]], state["topics"])
    assert [each["state"] for each in nodes] == ["up", "down"]
    assert [each["answer"] for each in servers] == ["right", "empty"]
    assert state["writes_disabled"] == "all"
    assert topics["t"]["0"] == {
        "leader": "127.0.0.1:1",
        "replicas": ["127.0.0.1:1", "127.0.0.1:2"],
        "in_sync": ["127.0.0.1:1"],
        "writable": False,
    }
    assert told == {**state, "topics": {}}
