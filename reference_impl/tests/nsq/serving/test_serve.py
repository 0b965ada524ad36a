"""The broker as a process: what it says, how it ends, a sample of the recording over sockets."""

import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from nsq_bench import identified, pub, sized
from waits import POLL_S, Stopwatch

from wireproof_reference_impl.nsq import serve
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.frame import FrameReader, ServerFrame
from wireproof_spec.nsq.names import MAGIC

pytestmark = pytest.mark.process

COMMAND = (
    "import sys; from wireproof_reference_impl.nsq.serve import main; sys.exit(main(sys.argv[1:]))"
)
ANYWHERE = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
SAMPLE = (
    "magic/garbage",
    "identify/feature_negotiation",
    "pub/pipelined",
    "pub_ext/ok_trace",
    "pub_ext/header_longer_than_body",
    "pub_ext/truncated",
    "sub/ext_without_identify",
    "cmd/line_5000_with_newline",
)


class Broker:
    """A broker in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], said: Mapping[str, object]) -> None:
        self.process = process
        self.said = said
        host, _, port = str(said["tcp"]).rpartition(":")
        self.address = (host, int(port))
        self.sockets: list[socket.socket] = []

    def connect(self, *, magic: bool = True) -> socket.socket:
        sock = socket.create_connection(self.address)
        self.sockets.append(sock)
        if magic:
            sock.sendall(MAGIC)
        return sock


@contextmanager
def running(*options: str) -> Iterator[Broker]:
    command = [sys.executable, "-c", COMMAND, *ANYWHERE, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        broker = Broker(process, json.loads(first_line(process)))
        try:
            yield broker
        finally:
            for sock in broker.sockets:
                sock.close()
            process.kill()


def first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def frames_until_closed(sock: socket.socket) -> list[ServerFrame]:
    """Return every frame until the peer ends the connection or nothing more is due."""
    reader, frames = FrameReader(limit=1 << 20), []
    while data := sock.recv(65536):
        reader.feed(data)
        while isinstance(frame := reader.next_frame(), ServerFrame):
            frames.append(frame)
    return frames


def answer(sock: socket.socket, data: bytes) -> bytes:
    sock.sendall(data)
    reader = FrameReader(limit=1 << 20)
    while True:
        reader.feed(sock.recv(65536))
        frame = reader.next_frame()
        if isinstance(frame, ServerFrame):
            return frame.data


def send_until_stuck(sock: socket.socket, data: bytes) -> bool:
    """Send until the peer takes nothing for a second; False if it takes a gigabyte."""
    rest, sent, blocked = data, 0, None
    while sent < 1 << 30:
        try:
            count = sock.send(rest)
        except BlockingIOError:
            blocked = blocked or Stopwatch()
            if blocked.seconds() > 1:
                return True
            select.select([], [sock], [], POLL_S)
        else:
            rest, sent, blocked = rest[count:] or data, sent + count, None
    return False


@pytest.fixture(scope="module")
def deployed() -> Iterator[Broker]:
    """One broker for the whole sample: its scenarios make the same topics of the same kind."""
    sizes = ("--max-msg-size", "204800", "--max-body-size", "512000")
    with running("--dialect", "deployed", *sizes) as broker:
        yield broker


@pytest.mark.parametrize("name", SAMPLE)
def test_recorded_exchange_over_sockets(name: str, deployed: Broker) -> None:
    scenario = next(each for each in golden.nsqd_tcp() if each.name == name)
    for each in scenario.setup:
        ext = "true" if each["ext"] else "false"
        line = f"INTERNAL_CREATE_TOPIC {each['create_topic']} {each['partition']} {ext}\n"
        assert answer(deployed.connect(), line.encode()) == b"OK"
    sock = deployed.connect(magic=False)
    for data in scenario.list_sent("A"):
        sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    found = frames_until_closed(sock)
    expected = [step for step in scenario.steps if step.direction == "recv" and step.data]
    assert [(frame.frame_type, len(frame.data)) for frame in found] == [
        (step.frame_type, len(step.data) - 8) for step in expected
    ]
    for frame, step in zip(found, expected, strict=True):
        assert step.varies or step.data.endswith(frame.data)


def test_a_last_word_that_is_written_late_reaches_who_sends_no_more() -> None:
    with running("--variant", "written-late") as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0 false\n") == b"OK"
        sock.sendall(pub("t", b"cut")[:-1])
        sock.shutdown(socket.SHUT_WR)
        frames = frames_until_closed(sock)
    assert [frame.data[:13] for frame in frames] == [b"E_BAD_MESSAGE"]


def test_data_survive_sigterm(tmp_path: Path) -> None:
    with running("--data", str(tmp_path)) as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0 true\n") == b"OK"
        assert answer(sock, pub("t", b"kept")) == b"OK"
        broker.process.send_signal(signal.SIGTERM)
        assert broker.process.wait() == 0
        assert broker.process.stderr is not None
        assert broker.process.stderr.read() == b""
    with running("--data", str(tmp_path)) as broker:
        consumer = broker.connect()
        assert answer(consumer, identified('{"extend_support":true}')) == b"OK"
        assert answer(consumer, b"SUB t ch 0\n") == b"OK"
        assert answer(consumer, b"RDY 1\n").endswith(b"kept")
        broker.process.send_signal(signal.SIGINT)
        assert broker.process.wait() == 0


def test_a_client_that_resets_its_connection_harms_nobody() -> None:
    with running() as broker:
        other = broker.connect()
        for _ in range(20):
            sock = broker.connect()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.sendall(b"NOP\n" * 100 + b"PUB t 0\n" + b"\xff" * 4)
            sock.close()
        assert answer(other, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"


def test_a_fault_may_end_the_whole_broker() -> None:
    with running("--fault", "length-65535-halts") as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0 true\n") == b"OK"
        header = b'{"k":"%s"}' % (b"v" * (65535 - 8))
        sock.sendall(b"PUB_EXT t 0\n" + sized(len(header).to_bytes(2) + header + b"x"))
        assert broker.process.wait() == serve.HALTED


def test_written_byte_by_byte() -> None:
    with running("--variant", "byte-by-byte") as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0 true\n") == b"OK"


def test_what_is_written_in_pieces_waits_for_no_acknowledgement() -> None:
    """A delayed acknowledgement comes after 40 ms; the first ones of a connection come at once."""
    with running("--variant", "byte-by-byte") as broker:
        sock = broker.connect()
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0 true\n") == b"OK"
        seconds = [_seconds_of_answer(sock) for _ in range(40)][20:]
    assert min(seconds) < 0.03


def _seconds_of_answer(sock: socket.socket) -> float:
    started = time.monotonic()
    assert answer(sock, pub("t", b"soon")) == b"OK"
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--tcp", "nowhere"], "HOST:PORT"),
        (["--tcp", "127.0.0.1:99999"], "HOST:PORT"),
        (["--fault", "trace-litle-endian"], "did you mean 'trace-little-endian'"),
        (["--variant", "zzz"], "--list-variants"),
        (["--max-msg-size", "0"], "too small"),
        (["--max-msg-size", "big"], "invalid int value"),
        (["--dialect", "spoken"], "invalid choice"),
        (["--no-such-option"], "unrecognized arguments"),
        (["--tcp", "203.0.113.1:1"], "cannot serve"),
    ],
)
def test_bad_options_are_one_sentence(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve.main(options) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("option", ["--tcp", "--http"])
def test_a_port_in_use_is_one_sentence(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    free = {"--tcp": "127.0.0.1:0", "--http": "127.0.0.1:0", "--data": str(tmp_path)}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        options = [word for pair in {**free, option: address}.items() for word in pair]
        assert serve.main(options) == 2
    said = capsys.readouterr().err
    assert f"cannot serve: {address}: Address already in use; {option} HOST:0 picks" in said
    assert said.count("\n") == 1


def test_a_data_directory_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    options = ["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", str(file)]
    assert serve.main(options) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("option", ["--list-faults", "--list-variants"])
def test_lists_have_five_columns(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main([option]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line.split("\t")) == 5 for line in lines)
    assert len(lines) >= 15


def test_at_a_terminal_faults_are_paragraphs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert serve.main(["--list-faults"]) == 0

    out = capsys.readouterr().out
    paragraphs = out.strip().split("\n\n")
    (shown,) = (each for each in paragraphs if each.startswith("trace-little-endian ("))
    assert len(paragraphs) > 100
    assert "\t" not in out
    assert "  breaks ext.publish.trace-response" in shown
    assert all(line.startswith("  ") for line in shown.splitlines()[1:])
    assert max(map(len, out.splitlines())) <= 60


def test_start_is_quick_and_loads_neither_schemas_nor_presets() -> None:
    code = (
        "import sys; import wireproof_reference_impl.nsq.serve; "
        "unused = {'jsonschema', 'hypothesis', 'pytest', 'click', 'construct'}; "
        "unused |= {f'wireproof_reference_impl.nsq.{each}' for each in ('presets', 'faulty')}; "
        "print(sorted(unused & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_client_that_does_not_read_does_not_stop_others() -> None:
    with running() as broker:
        lazy = broker.connect()
        assert answer(lazy, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
        lazy.setblocking(False)
        assert send_until_stuck(lazy, pub("t", b"x") * 1000)
        assert answer(broker.connect(), pub("t", b"x")) == b"OK"
