"""Nodes that lookup servers name: which are contacted, and what is said before."""

import asyncio
from pathlib import Path

import pytest
from cli_process import wireproof
from lookup_answers import by_path, node, v1
from scripted_peer import ScriptedPeer

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq import services
from wireproof_kit.nsq.lookup.answer import Node
from wireproof_kit.nsq.lookup.discovery import discover
from wireproof_kit.nsq.lookup.reach import MOST_NODES, Reach
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.protocols import find_off_loopback, read_target
from wireproof_kit.proxy import relay
from wireproof_kit.proxy.fronts import Front
from wireproof_kit.wire.address import is_loopback, is_off_limits

SERVER = ("127.0.0.1", 4161)
OFF_LIMITS = (
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%lo",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2852039166",
    "0xa9fea9fe",
)


@pytest.mark.parametrize("host", OFF_LIMITS)
def test_link_local_and_metadata_addresses_are_off_limits(host: str) -> None:
    assert is_off_limits(host)
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("127.example", False),
        ("127.0.0.1.example", False),
        ("0.0.0.0", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("192.0.2.1", False),
        ("", False),
    ],
)
def test_loopback_is_decided_by_number(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("nsq://127.0.0.1:1", True),
        ("nsq://127.0.0.1:1?http=127.0.0.1:2&lookupd=[::1]:3&control=t@localhost:4", True),
        ("nsq://127.example:1", False),
        ("nsq://127.0.0.1:1?http=192.0.2.1:2", False),
        ("nsq://127.0.0.1:1?lookupd=192.0.2.1:2", False),
        ("nsq://127.0.0.1:1?control=t@192.0.2.1:2", False),
        ("nsq://?lookupd=127.0.0.1:1&lookupd=192.0.2.1:2", False),
        ("iggy://127.0.0.1:1?http=192.0.2.1:2", False),
    ],
)
def test_a_target_is_on_loopback_with_all_its_addresses(url: str, expected: bool) -> None:
    assert read_target(url).is_loopback() is expected


def admitted(told: list[str], *hosts: str, confined: bool = False) -> list[str]:
    reach = Reach(["127.0.0.1", "192.0.2.9"], told.append)
    if confined:
        reach.confine()
    nodes = [Node((host, 4150), None) for host in hosts]
    return [each.address[0] for each in reach.admit(SERVER, nodes)]


def test_hosts_that_the_user_named_are_contacted_in_silence() -> None:
    told: list[str] = []

    assert admitted(told, "127.0.0.1", "localhost", "127.0.0.5", "192.0.2.9") == [
        "127.0.0.1",
        "localhost",
        "127.0.0.5",
        "192.0.2.9",
    ]
    assert told == []


def test_another_host_is_said_once_before_it_is_contacted() -> None:
    told: list[str] = []

    assert admitted(told, "192.0.2.1", "192.0.2.1") == ["192.0.2.1"] * 2
    assert told == [
        "lookup server 127.0.0.1:4161 names 192.0.2.1:4150, on a host that you did not name; "
        "it is contacted"
    ]


def test_more_addresses_than_a_cluster_has_are_not_contacted() -> None:
    told: list[str] = []
    reach = Reach(["127.0.0.1"], told.append)
    nodes = [Node((f"10.0.{port >> 8}.{port & 255}", port), None) for port in range(1, 4000)]
    own = [Node(("127.0.0.1", port), None) for port in range(1, 4000)]

    assert len(reach.admit(SERVER, nodes)) == MOST_NODES
    assert reach.admit(SERVER, own) == ()
    assert len(reach.admit(SERVER, nodes[:9])) == 9
    assert len(told) == MOST_NODES + 1
    assert "beyond 256 addresses" in told[-1]
    assert len(Reach(["127.0.0.1"], told.append).admit(SERVER, own)) == MOST_NODES


@pytest.mark.parametrize("host", OFF_LIMITS)
def test_what_is_off_limits_is_said_and_not_contacted(host: str) -> None:
    told: list[str] = []

    assert admitted(told, host) == []
    assert len(told) == 1
    assert "it is not contacted" in told[0]


def test_where_all_was_loopback_another_host_is_not_contacted_any_more() -> None:
    told: list[str] = []

    assert admitted(told, "127.0.0.1", "192.0.2.1", confined=True) == ["127.0.0.1"]
    assert "it is not contacted" in told[0]


def test_a_name_in_an_answer_cannot_act_on_the_terminal() -> None:
    told: list[str] = []

    admitted(told, "\x1b[2J\u202ex")

    assert told[0].isprintable()


def test_discovery_leaves_out_what_is_off_limits(capsys: pytest.CaptureFixture[str]) -> None:
    both = [node(4150), node(80, broadcast_address="169.254.169.254")]
    with ScriptedPeer(by_path(nodes=v1({"producers": both}))) as peer:
        assert [each.address for each in discover([peer.address])] == [("127.0.0.1", 4150)]
    assert "names 169.254.169.254:80" in capsys.readouterr().err


def test_discovery_says_that_only_such_nodes_are_named() -> None:
    nodes = v1({"producers": [node(80, broadcast_address="169.254.169.254")]})
    sentence = r"may not contact the nodes .*169\.254\.169\.254:80"
    with (
        ScriptedPeer(by_path(nodes=nodes)) as peer,
        pytest.raises(ArrangementFailed, match=sentence),
    ):
        discover([peer.address])


@pytest.mark.process
def test_a_local_lookup_server_does_not_open_the_fuzzer_to_other_hosts(tmp_path: Path) -> None:
    nodes = v1({"producers": [node(4150, broadcast_address="192.0.2.1")]})
    with ScriptedPeer(by_path(nodes=nodes)) as peer:
        url = f"nsq://?lookupd=127.0.0.1:{peer.address[1]}"
        assert find_off_loopback(read_target(url)) == "192.0.2.1:4150"
        done = wireproof("fuzz", url, "--cases", "1", cwd=tmp_path)

    assert done.code == 2
    assert "192.0.2.1:4150, on a host that you did not name" in done.err
    assert "192.0.2.1:4150 is not on this machine's loopback" in done.err


@pytest.mark.process
@pytest.mark.parametrize("url", ["nsq://127.example:1", "nsq://127.0.0.1:1?http=192.0.2.1:2"])
def test_the_fuzzer_refuses_what_only_looks_like_loopback(url: str, tmp_path: Path) -> None:
    done = wireproof("fuzz", url, "--cases", "1", cwd=tmp_path)

    assert "is not on this machine's loopback" in done.refused()


@pytest.mark.parametrize("host", ["169.254.169.254", "fe80::1%lo", "::ffff:169.254.169.254"])
def test_the_proxy_does_not_connect_where_only_an_answer_sends_it(host: str) -> None:
    front = Front("nsqd2", "nsqd", (host, 80), is_named=False)

    with pytest.raises(OSError, match="only an answer named it"):
        asyncio.run(relay.open_upstream(front))


def lookup_client(port: int) -> LookupClient:
    client = services.lookup_client(read_target(f"nsq://?lookupd=127.0.0.1:{port}"))
    assert client is not None
    return client


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("192.0.2.1", False)])
def test_hazards_are_allowed_where_all_nodes_are_on_loopback(host: str, expected: bool) -> None:
    nodes = v1({"producers": [node(4150, broadcast_address=host)]})
    with ScriptedPeer(by_path(nodes=nodes)) as peer:
        lookup = lookup_client(peer.address[1])
        try:
            assert lookup.confine_to_loopback() is expected
        finally:
            lookup.close()


def test_a_leader_that_is_off_limits_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    there = node(80, broadcast_address="169.254.169.254")
    answer = v1({"channels": [], "partitions": {"0": there}, "producers": [there], "meta": {}})
    with ScriptedPeer(by_path(lookup=answer)) as peer:
        lookup = lookup_client(peer.address[1])
        try:
            info = lookup.lookup("topic")
        finally:
            lookup.close()

    assert info is None
    assert "it is not contacted" in capsys.readouterr().err
