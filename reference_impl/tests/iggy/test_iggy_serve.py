"""The Iggy server as a process: what it says, how it ends, sockets, options."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from iggy_bench import STREAM, frame, polling, sending, sent, u32

from wireproof_reference_impl.iggy.serve import main
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.frame import Response, ResponseReader

pytestmark = pytest.mark.process

SERVE = "wireproof_reference_impl.iggy.serve"
COMMAND = f"import sys; from {SERVE} import main; sys.exit(main(sys.argv[1:]))"
ANYWHERE = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], said: Mapping[str, str | None]) -> None:
        self.process = process
        self.said = said
        self.sockets: list[socket.socket] = []

    def connect(self) -> socket.socket:
        host, _, port = str(self.said["tcp"]).rpartition(":")
        sock = socket.create_connection((host, int(port)))
        self.sockets.append(sock)
        return sock

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait()


@contextmanager
def served(*options: str) -> Iterator[Served]:
    command = [sys.executable, "-c", COMMAND, *ANYWHERE, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        server = Served(process, json.loads(process.stdout.readline()))
        try:
            yield server
        finally:
            for sock in server.sockets:
                sock.close()
            process.kill()


def ask(sock: socket.socket, code: int, payload: bytes = b"") -> Response:
    sock.sendall(frame(code, payload))
    reader = ResponseReader(limit=1 << 24)
    while True:
        data = sock.recv(65536)
        assert data, "the connection ended"
        reader.feed(data)
        answer = reader.next_response()
        if isinstance(answer, Response):
            return answer


def with_topic(sock: socket.socket) -> None:
    ask(sock, commands.CREATE_STREAM, u32(1) + b"s")
    ask(sock, commands.CREATE_TOPIC, STREAM + u32(1) + u32(1) + b"t")


def http(server: Served, path: str) -> bytes:
    with urllib.request.urlopen(f"http://{server.said['http']}{path}") as answer:
        found: bytes = answer.read()
    return found


def test_messages_outlive_the_process(tmp_path: Path) -> None:
    with served("--data", str(tmp_path)) as server:
        assert server.said["data"] == str(tmp_path)
        sock = server.connect()
        with_topic(sock)
        assert ask(sock, commands.SEND_MESSAGES, sending(sent(b"kept"))).status == 0
        before = ask(sock, commands.POLL_MESSAGES, polling()).body
        assert server.end() == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    with served("--data", str(tmp_path)) as server:
        assert ask(server.connect(), commands.POLL_MESSAGES, polling()).body == before
        assert server.end(signal.SIGINT) == 0


def test_what_cannot_be_read_ends_the_connection_and_no_other() -> None:
    with served() as server:
        other, sock = server.connect(), server.connect()
        assert ask(sock, commands.PING).status == 0
        assert len(ask(other, commands.GET_CLIENTS).body) > 50
        sock.sendall(frame(999))
        assert sock.recv(10) == b""
        assert ask(other, commands.PING).status == 0
        stats = json.loads(http(server, "/stats"))
        assert (stats["process_id"], stats["clients_count"]) == (server.process.pid, 1)


def test_states_are_set_by_the_control() -> None:
    with served("--control", "127.0.0.1:0") as server:
        sock = server.connect()
        with_topic(sock)
        ask(sock, commands.SEND_MESSAGES, sending(sent(b"x")))
        where = "/control/message?stream=1&topic=1&partition=1&offset=0&state=poisoned"
        token, _, address = str(server.said["control"]).rpartition("@")
        shown = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://{address}{where}", headers=shown, method="POST")
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["state"] == "poisoned"
        assert ask(sock, commands.POLL_MESSAGES, polling()).body[12] == 20
        assert json.loads(http(server, "/streams/1/topics/1/messages"))[0]["state"] == "poisoned"


def test_answers_written_late_and_in_pieces_are_whole() -> None:
    with served("--variant", "written-late", "--variant", "byte-by-byte") as server:
        sock = server.connect()
        with_topic(sock)
        ask(sock, commands.SEND_MESSAGES, sending(sent(b"x" * 5000)))
        assert ask(sock, commands.POLL_MESSAGES, polling()).body.endswith(b"x" * 5000)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fault", "nothing"), "no fault is called 'nothing'"),
        (("--tcp", "nowhere"), "'nowhere' is no address"),
        (("--tcp", "::1:0"), "'::1:0': an IPv6 address stands in brackets; write [::1]:0"),
        (("--control", "0.0.0.0:0"), "a loopback address is needed"),
        (("--generation", "old"), "invalid choice"),
        (("--segment-size", "0"), "--segment-size 0 is out of range"),
        (("--generation", "tagged", "--data", "x"), "--data is not for --generation tagged"),
        (
            ("--generation", "apache", "--control", "127.0.0.1:0"),
            "--control is not for --generation apache",
        ),
        (("--data", "/dev/null/x"), "cannot serve"),
    ],
)
def test_bad_options_are_one_sentence(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ANYWHERE, *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("wireproof serve iggy: ")
    assert said in error
    assert error.count("\n") == 1


def test_faults_and_variants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-faults"]) == 0
    assert "checksum-castagnoli\tclause\tiggy.checksum.polynomial," in capsys.readouterr().out
    assert main(["--list-variants"]) == 0
    assert "byte-by-byte\tvariant\t\t" in capsys.readouterr().out
