"""A cluster as a process: what it says, how it is broken, what survives."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from nsq_bench import pub
from test_serve import Broker, answer, running
from waits import until

from wireproof_reference_impl.nsq import serve
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FrameReader, ServerFrame
from wireproof_spec.nsq.names import HEARTBEAT

pytestmark = pytest.mark.process

CLUSTER = ("--nodes", "2", "--lookupds", "2", "--control", "127.0.0.1:0")
Json = Mapping[str, object]


class Cluster:
    """The addresses of a cluster, and what may be asked there."""

    def __init__(self, broker: Broker, said: Json) -> None:
        self.broker = broker
        self.nodes = [each["tcp"] for each in cast(list[dict[str, str]], said["nodes"])]
        self.lookupds = cast(list[str], said["lookupd_http"])
        self.control = cast(str, said["control"])

    def connect(self, address: str) -> socket.socket:
        host, _, port = address.rpartition(":")
        sock = socket.create_connection((host, int(port)))
        self.broker.sockets.append(sock)
        sock.sendall(b"  V2")
        return sock

    def create(self, name: str, parameters: str) -> None:
        status, _ = ask(self.lookupds[0], "POST", f"/topic/create?topic={name}&{parameters}")
        assert status == 200

    def leader(self, topic: str, partition: int = 0) -> str:
        _, found = ask(self.lookupds[0], "GET", f"/lookup?topic={topic}")
        places = cast(dict[str, dict[str, object]], found["partitions"])
        return f"127.0.0.1:{places[str(partition)]['tcp_port']}"

    def order(self, path: str) -> Json:
        status, state = ask(self.control, "POST", path)
        assert status == 200, state
        return state


def ask(address: str, method: str, path: str, *, timeout: float | None = None) -> tuple[int, Json]:
    """Return status and JSON of an answer; of an empty one no fields."""
    token, _, address = address.rpartition("@")
    shown = {"Authorization": f"Bearer {token}"} if token else {}
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        accepted = {"Accept": "application/vnd.nsq; version=1.0"}
        connection.request(method, path, headers={**accepted, **shown})
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    return response.status, cast(Json, json.loads(body)) if body else {}


@contextmanager
def cluster(*options: str) -> Iterator[Cluster]:
    with running(*CLUSTER, *options) as broker:
        yield Cluster(broker, broker.said)


def messages(sock: socket.socket, count: int) -> list[bytes]:
    """Return the bodies of so many messages, each finished."""
    reader = FrameReader(limit=1 << 20)
    bodies: list[bytes] = []
    while len(bodies) < count:
        reader.feed(sock.recv(65536))
        while isinstance(frame := reader.next_frame(), ServerFrame):
            if frame.frame_type == FRAME_TYPE_MESSAGE:
                bodies.append(frame.data[26:])
                sock.sendall(b"FIN " + frame.data[10:26] + b"\n")
            else:
                assert frame.data in (HEARTBEAT, b"OK")
    return bodies


def test_nothing_acknowledged_is_lost_while_the_leader_moves() -> None:
    """Publish as fast as answers come, move the leader there and back, then read it all."""
    with cluster() as found:
        found.create("t", "partition_num=1&replicator=2")
        acknowledged: list[bytes] = []
        refused: list[bytes] = []
        over = threading.Event()

        def publish() -> None:
            number = 0
            sockets = {each: found.connect(each) for each in found.nodes}
            while not over.is_set():
                for sock in sockets.values():
                    body = b"%d" % number
                    number += 1
                    said = answer(sock, pub("t", body))
                    (acknowledged if said == b"OK" else refused).append(body)

        def wait_for(count: int) -> None:
            until(lambda: len(acknowledged) >= count, f"{count} acknowledged messages")

        publisher = threading.Thread(target=publish)
        publisher.start()
        try:
            for _ in range(10):
                before = len(acknowledged)
                found.order("/control/leader?topic=t")
                wait_for(before + 20)
        finally:
            over.set()
            publisher.join()
        assert not publisher.is_alive()
        consumer = found.connect(found.leader("t"))
        consumer.sendall(b"SUB t ch 0\nRDY 100\n")
        assert messages(consumer, len(acknowledged)) == acknowledged
        assert refused


def test_consumers_of_the_old_leader_are_sent_away() -> None:
    with cluster() as found:
        found.create("t", "partition_num=1&replicator=2")
        old = found.leader("t")
        consumer = found.connect(old)
        assert answer(consumer, b"SUB t ch 0\n") == b"OK"
        found.order("/control/leader?topic=t")
        assert consumer.recv(100) == b""
        assert found.leader("t") != old


def test_a_node_goes_away_and_comes_back() -> None:
    with cluster() as found:
        found.create("t", "partition_num=1&replicator=2")
        old = found.leader("t")
        client = found.connect(old)
        assert answer(client, pub("t", b"before")) == b"OK"
        found.order(f"/control/node?node={old}&state=down")
        assert client.recv(100) == b""
        with pytest.raises(ConnectionRefusedError):
            found.connect(old)
        new = found.leader("t")
        assert answer(found.connect(new), pub("t", b"meanwhile")) == b"OK"
        found.order(f"/control/node?node={old}&state=up")
        assert answer(found.connect(old), pub("t", b"x")) == b"E_FAILED_ON_NOT_LEADER "
        found.order(f"/control/leader?topic=t&node={old}")
        consumer = found.connect(old)
        consumer.sendall(b"SUB t ch 0\nRDY 100\n")
        assert messages(consumer, 2) == [b"before", b"meanwhile"]


def test_topics_and_messages_survive_sigterm(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path))
    with cluster(*options) as found:
        found.create("t", "partition_num=2&replicator=1&extend=true")
        found.create("r", "partition_num=1&replicator=2")
        found.order("/control/leader?topic=r")
        leads = found.nodes.index(found.leader("r"))
        for number in range(2):
            sock = found.connect(found.leader("t", number))
            assert answer(sock, pub("t", b"kept", str(number))) == b"OK"
        assert answer(found.connect(found.leader("r")), pub("r", b"kept")) == b"OK"
        found.broker.process.terminate()
        assert found.broker.process.wait() == 0
    assert (tmp_path / "node-2" / "t").is_dir()
    with cluster(*options) as found:
        assert found.nodes.index(found.leader("r")) == leads
        _, meta = ask(found.lookupds[1], "GET", "/lookup?topic=t&metainfo=true")
        assert cast(dict[str, object], meta["meta"])["extend_support"] is True
        found.order("/control/leader?topic=r")
        consumer = found.connect(found.leader("r"))
        consumer.sendall(b"SUB r ch 0\nRDY 1\n")
        assert messages(consumer, 1) == [b"kept"]


def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path))
    with cluster(*options) as found:
        found.create("t", "partition_num=1&replicator=2")
        consumer = found.connect(found.leader("t"))
        assert answer(consumer, b"SUB t ch 0\n") == b"OK"
        bodies = [b"%d" % number for number in range(100)]
        sock = found.connect(found.leader("t"))
        for body in bodies[:50]:
            assert answer(sock, pub("t", body)) == b"OK"
        found.order("/control/leader?topic=t")
        sock = found.connect(found.leader("t"))
        for body in bodies[50:]:
            assert answer(sock, pub("t", body)) == b"OK"
        found.broker.process.kill()
        found.broker.process.wait()
    with cluster(*options) as found:
        consumer = found.connect(found.leader("t"))
        consumer.sendall(b"SUB t ch 0\nRDY 100\n")
        assert messages(consumer, 100) == bodies


def test_a_silent_lookup_server_says_nothing_and_can_be_mended() -> None:
    with cluster() as found:
        broken = found.lookupds[1]
        found.order(f"/control/lookup?lookupd={broken}&answer=silent")
        with pytest.raises(TimeoutError):
            ask(broken, "GET", "/lookup?topic=t", timeout=0.3)
        found.order(f"/control/lookup?lookupd={broken}&answer=right")
        assert ask(broken, "GET", "/lookup?topic=t")[0] == 200


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--nodes", "2"], "needs --lookupds"),
        (["--control", "127.0.0.1:0"], "needs --lookupds"),
        (["--nodes", "0", "--lookupds", "1"], "out of range"),
        (["--nodes", "2", "--lookupds", "-1"], "out of range"),
        (["--lookupds", "1", "--control", "0.0.0.0:0"], "loopback"),
        (["--lookupds", "1", "--control", "nowhere"], "HOST:PORT"),
    ],
)
def test_bad_options_are_one_sentence(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve.main(["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", *options]) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert said.err.count("\n") == 1


def test_a_ledger_of_another_cluster_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster.jsonl").write_text("[]\n")
    options = ["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--lookupds", "1"]
    assert serve.main([*options, "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "cluster.jsonl does not fit this cluster" in said
    assert said.count("\n") == 1
