"""The server of generation `apache` as a process: over TCP and HTTP, and after a restart."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

import pytest
from apache_bench import Bench, message, polling, sending
from apache_bench import Client as BenchClient

from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.polled import decode_polled

pytestmark = pytest.mark.process

SERVE = "wireproof_reference_impl.iggy.serve"
COMMAND = f"import sys; from {SERVE} import main; sys.exit(main(sys.argv[1:]))"
ANYWHERE = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json", "--generation", "apache")


class Remote:
    """What a bench client takes for a connection, over a socket."""

    closed = False

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.sock = create_connection((host, int(port)))

    def receive(self, data: bytes, now_us: int) -> None:
        self.sock.sendall(data)

    def take_output(self) -> bytes:
        head = b""
        while len(head) < 256 or len(head) < int.from_bytes(head[48:52], "little"):
            data = self.sock.recv(65536)
            assert data, "the connection ended"
            head += data
        return head


@contextmanager
def served(*options: str) -> Iterator[tuple[subprocess.Popen[bytes], Mapping[str, str]]]:
    command = [sys.executable, "-c", COMMAND, *ANYWHERE, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def logged_in(remote: Remote) -> BenchClient:
    client = BenchClient(Bench(), remote, 7)  # type: ignore[arg-type]  # as a connection
    client.login()
    return client


def test_messages_are_sent_over_tcp_read_over_http_and_outlive_the_process(tmp_path: Path) -> None:
    with served("--data", str(tmp_path)) as (process, said):
        remote = Remote(said["tcp"])
        client = logged_in(remote)
        client.make_topic()
        client.produce(message(b"kept"))
        before = client.read(operations.POLL_MESSAGES, polling())
        login = json.dumps({"username": "iggy", "password": "iggy"}).encode()
        json_type = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{said['http']}/users/login", login, json_type)
        with urllib.request.urlopen(request) as answer:
            token = json.load(answer)["access_token"]["token"]
        shown = {"Authorization": f"Bearer {token}"}
        where = f"http://{said['http']}/streams/s/topics/t/messages"
        with urllib.request.urlopen(urllib.request.Request(where, headers=shown)) as answer:
            assert json.load(answer)["messages"][0]["payload"] == "a2VwdA=="
        remote.sock.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with served("--data", str(tmp_path)) as (_, said):
        remote = Remote(said["tcp"])
        after = logged_in(remote).read(operations.POLL_MESSAGES, polling())
        assert after == before
        assert decode_polled(OWN, after).head.count == 1
        remote.sock.close()


def test_a_variant_is_served() -> None:
    with served("--variant", "unchecked-offset-deltas") as (_, said):
        remote = Remote(said["tcp"])
        client = logged_in(remote)
        client.make_topic()
        body = sending(message(b"x", 5))
        assert client.status(operations.SEND_MESSAGES, body) == 0
        remote.sock.close()
