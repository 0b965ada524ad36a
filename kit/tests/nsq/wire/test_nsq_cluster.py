"""What a case may do to a cluster, by a lookup server's own ways or by a control API."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import pytest
from scripted_peer import Peer, ScriptedPeer

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq import cluster as cluster_module
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.lookup import creations as creations_module
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.transcript import Transcript

A, B = 4150, 4160
TOPIC = Topic("t", 0, False, False, False, ("127.0.0.1", A), ("127.0.0.1", A + 1))
PATIENCE = Patience(answer=0.5, push=0.5, redelivery=0.5)


@dataclass
class Fleet:
    """Two nodes behind one lookup server, which is its own control API; what was asked of it."""

    leader: int | None = A
    busy: int = 0
    refused: str = ""
    asked: list[str] = field(default_factory=list[str])

    def __call__(self, peer: Peer) -> None:
        head = peer.until(b"\r\n\r\n").decode()
        if not head:
            return
        target = urlsplit(head.split(" ")[1])
        query = dict(parse_qsl(target.query))
        if head.startswith("POST"):
            self.asked.append(f"{target.path}?{target.query}")
        status, value = self.answer(target.path, query)
        body = b"" if value is None else json.dumps(value).encode()
        peer.say(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def answer(self, path: str, query: Mapping[str, str]) -> tuple[int, object]:
        if path == "/nodes":
            topics = {A: ["other", "t"], B: ["beside"]}
            nodes = [{**node(port), "topics": topics[port]} for port in (A, B)]
            return 200, {"producers": nodes}
        if path == "/lookup":
            port = {"beside": B, "other": A}.get(query["topic"], self.leader)
            led = {} if port is None else {"0": node(port)}
            return 200, {"channels": [], "partitions": led, "producers": list(led.values())}
        if self.refused:
            return 400, {"message": self.refused}
        if path in ("/topic/partition/move", "/control/leader"):
            return self.moved()
        return 200, {}

    def moved(self) -> tuple[int, object]:
        if self.busy:
            self.busy -= 1
            return 400, {"message": "the cluster is unstable"}
        self.leader = B if self.leader == A else A
        return 200, None


def node(port: int) -> dict[str, object]:
    record = {"broadcast_address": "127.0.0.1", "tcp_port": port, "http_port": port + 1}
    return {**record, "distributed_id": f"127.0.0.1:{port + 2}:{port}:1"}


def cluster(peer: ScriptedPeer, *, control: bool = False) -> Cluster:
    server = HttpClient(peer.address, transcript=Transcript(), seconds=5.0)
    return Cluster(
        lookup=LookupClient([server]),
        control=server if control else None,
        transcript=Transcript(),
        patience=PATIENCE,
    )


def test_a_leader_may_be_named_long_after_messages_are_due() -> None:
    """No text says how soon a cluster agrees; 30 s were measured under load."""
    fleet = Fleet()
    short = Patience(answer=0.1, push=0.1, redelivery=0.1, settling=10.0)
    with ScriptedPeer(fleet) as peer:
        server = HttpClient(peer.address, transcript=Transcript(), seconds=5.0)
        lookup = LookupClient([server])
        moving = Cluster(lookup=lookup, control=server, transcript=Transcript(), patience=short)
        late = threading.Timer(0.5, fleet.moved)
        late.start()
        found = moving.next_leader(TOPIC)
        late.join()
    assert found is not None
    assert found.address[1] == B


def test_a_node_besides_the_leader_is_found() -> None:
    with ScriptedPeer(Fleet()) as peer:
        seen = cluster(peer).elsewhere(TOPIC)
    assert (seen.address, seen.http_address) == (("127.0.0.1", B), ("127.0.0.1", B + 1))
    assert (seen.name, seen.partition) == ("t", 0)


def test_the_lookup_server_moves_a_leader_between_nodes_by_their_ids() -> None:
    fleet = Fleet()
    with ScriptedPeer(fleet) as peer:
        moved = cluster(peer).move_leader(TOPIC)
    assert moved.address == ("127.0.0.1", B)
    path, query = fleet.asked[0].split("?")
    assert path == "/topic/partition/move"
    assert dict(parse_qsl(query)) == {
        "topic": "t",
        "partition": "0",
        "move_leader": "true",
        "move_from": "127.0.0.1:4152:4150:1",
        "move_to": "127.0.0.1:4162:4160:1",
    }


def test_a_busy_cluster_is_asked_again() -> None:
    fleet = Fleet(busy=1)
    with ScriptedPeer(fleet) as peer:
        assert cluster(peer).move_leader(TOPIC).address == ("127.0.0.1", B)
    assert len(fleet.asked) == 2


def test_a_busy_cluster_is_reminded_of_its_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creations_module, "AGAIN_SECONDS", 0.0)
    fleet = Fleet()
    with ScriptedPeer(fleet) as peer:
        lookup = LookupClient([HttpClient(peer.address, transcript=Transcript(), seconds=5.0)])
        lookup.create_topic("t")
        fleet.busy = 1
        judged = Cluster(lookup=lookup, control=None, transcript=Transcript(), patience=PATIENCE)
        judged.move_leader(TOPIC)

    paths = [asked.partition("?")[0] for asked in fleet.asked]
    create, move = "/topic/create", "/topic/partition/move"
    assert paths == [create, move, create, move]


def test_a_cluster_that_stays_busy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "SETTLE_SECONDS", 0.2)
    fleet = Fleet(busy=1000)
    with ScriptedPeer(fleet) as peer, pytest.raises(ArrangementFailed, match=r"not stable .* 0.2"):
        cluster(peer).move_leader(TOPIC)


def test_a_refusal_is_told_in_the_server_s_words() -> None:
    fleet = Fleet(refused="move from not the topic leader")
    with ScriptedPeer(fleet) as peer, pytest.raises(ArrangementFailed, match="not the topic lead"):
        cluster(peer).move_leader(TOPIC)


def test_a_control_api_is_preferred() -> None:
    fleet = Fleet()
    with ScriptedPeer(fleet) as peer:
        cluster(peer, control=True).move_leader(TOPIC)
    assert fleet.asked == ["/control/leader?topic=t&partition=0"]


def test_a_leader_that_is_never_named_is_none() -> None:
    with ScriptedPeer(Fleet()) as peer:
        assert cluster(peer).next_leader(TOPIC) is None
    with ScriptedPeer(Fleet(leader=None)) as peer:
        assert cluster(peer).next_leader(TOPIC) is None
        assert cluster(peer).leader_of(TOPIC) is None


Break = Callable[[Cluster], object]


@pytest.mark.parametrize(
    ("breaking", "broken", "mended"),
    [
        (
            lambda cluster: cluster.make_unwritable(TOPIC),
            "/control/writable?topic=t&partition=0&writable=false",
            "/control/writable?topic=t&partition=0&writable=true",
        ),
        (
            lambda cluster: cluster.node_down(TOPIC),
            "/control/node?node=127.0.0.1%3A4150&state=down",
            "/control/node?node=127.0.0.1%3A4150&state=up",
        ),
        (
            lambda cluster: cluster.disable_writes("ordered"),
            "/disable/write?type=ordered",
            "/disable/write?type=none",
        ),
        (
            lambda cluster: cluster.lookup_answers(("127.0.0.1", 4161), "slow", delay_ms=7),
            "/control/lookup?lookupd=127.0.0.1%3A4161&answer=slow&delay_ms=7",
            "/control/lookup?lookupd=127.0.0.1%3A4161&answer=right",
        ),
    ],
    ids=["writable", "node", "writes", "lookup"],
)
def test_what_was_broken_is_mended(breaking: Break, broken: str, mended: str) -> None:
    fleet = Fleet()
    with ScriptedPeer(fleet) as peer:
        target = cluster(peer, control=True)
        breaking(target)
        assert fleet.asked == [broken]
        target.close()
        target.close()
    assert fleet.asked == [broken, mended]


def test_mending_never_complains() -> None:
    fleet = Fleet()
    with ScriptedPeer(fleet) as peer:
        target = cluster(peer, control=True)
        target.node_down(TOPIC)
        fleet.refused = "no node listens there"
        target.close()


@pytest.mark.parametrize(
    "breaking",
    [
        lambda cluster: cluster.make_unwritable(TOPIC),
        lambda cluster: cluster.node_down(TOPIC),
        lambda cluster: cluster.lookup_answers(("127.0.0.1", 4161), "silent"),
    ],
    ids=["writable", "node", "lookup"],
)
def test_without_a_control_api_it_is_said_what_is_missing(breaking: Break) -> None:
    with ScriptedPeer(Fleet()) as peer, pytest.raises(ArrangementFailed, match="--control"):
        breaking(cluster(peer))


def test_without_lookup_servers_it_is_said_what_is_missing() -> None:
    alone = Cluster(lookup=None, control=None, transcript=Transcript(), patience=PATIENCE)
    with pytest.raises(ArrangementFailed, match="--lookupd"):
        alone.elsewhere(TOPIC)
    alone.close()
