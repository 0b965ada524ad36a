"""What a script that repeats an exchange takes for the same, and what it sends before."""

import contextlib
import re
import socket
import threading
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import crash, failed, header
from script_fixture import answer_all, broker, code_of, subscribed
from wire_fixture import TOPIC, Exchange, message, ok, server_frame

from wireproof_reports.exchange.reproducer import script

pytestmark = pytest.mark.process


def test_the_exit_code_says_whether_it_shows(tmp_path: Path) -> None:
    def refuse_all(link: socket.socket, got: list[bytes]) -> None:
        while data := link.recv(65536):
            for _ in re.findall(rb"IDENTIFY|SUB |INTERNAL_CREATE|RDY ", data):
                link.sendall(server_frame(1, b"E_INVALID no"))

    text = script(subscribed(), header())
    with broker(answer_all) as (address, _):
        assert code_of(tmp_path, text, address) == 0
    with broker(refuse_all) as (address, _):
        assert code_of(tmp_path, text, address) == 1
    assert code_of(tmp_path, text, "127.0.0.1:1") == 2


@pytest.mark.parametrize(
    ("came", "code"),
    [
        (message(99, None, b"then"), 0),
        (message(99, None, b"now."), 1),
        (message(99, None, b"then", attempts=2), 1),
        (message(99, b"{}", b"then"), 1),
    ],
)
def test_another_message_is_not_what_was_recorded(came: bytes, code: int, tmp_path: Path) -> None:
    def deliver(link: socket.socket, got: list[bytes]) -> None:
        while data := link.recv(65536):
            for word in re.findall(rb"IDENTIFY|SUB |INTERNAL_CREATE|RDY ", data):
                link.sendall(came if word == b"RDY " else ok())

    with broker(deliver) as (address, _):
        assert code_of(tmp_path, script(subscribed(), header()), address) == code


@pytest.mark.parametrize(
    ("answer", "accepted", "partitions"),
    [
        (ok(), ["ok"], {0, 2}),
        (server_frame(1, b"E_TOPIC_NOT_EXIST"), ["ok"], {0, 2}),
        (server_frame(1, b"E_TOPIC_NOT_EXIST"), ["E_TOPIC_NOT_EXIST"], {0}),
        (ok(), ["E_TOPIC_NOT_EXIST"], {0, 2}),
    ],
)
def test_the_partitions_that_were_there_are_created(
    answer: bytes, accepted: list[str], partitions: set[int]
) -> None:
    talk = Exchange().open(extend_support=True)
    talk.send([(b"PUB " + TOPIC + b" 2\n\0\0\0\1m", "publish")]).receive(answer)
    case = failed("x/y", "ext.publish", "t", "x", accepted, transcript=talk.record())

    found = re.findall(r"CREATE_TOPIC wp_9f2c_4 (\d+) ", script(case, header()))

    assert set(map(int, found)) == partitions


def test_a_secret_that_is_not_masked_is_sent_as_it_was() -> None:
    talk = Exchange().open(extend_support=True)
    talk.send([(b"AUTH\n\0\0\0\0", "auth")]).receive(server_frame(1, b"E_INVALID"))
    case = failed("x/y", "ext.publish", "t", "x", ["ok"], transcript=talk.record())

    assert "'send', b'AUTH\\n\\x00\\x00\\x00\\x00'" in script(case, header())


def test_a_death_shows_when_nobody_listens_any_more(tmp_path: Path) -> None:
    case = msgspec.structs.replace(crash(65534), observation="dead")

    assert code_of(tmp_path, script(case, header()), serve_until(4, "lives")) == 1
    assert code_of(tmp_path, script(case, header()), serve_until(4, "dies")) == 0


def serve_until(count: int, what: str) -> str:
    """Serve connections, each until its client has gone; stop to listen after so many reads."""
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listening.getsockname()[1]}"

    def run() -> None:
        left = count
        with listening, contextlib.suppress(OSError):
            while left or what == "lives":
                link, _ = listening.accept()
                with link, contextlib.suppress(OSError):
                    while link.recv(65536):
                        left = max(left - 1, 0)
                        link.sendall(ok())

    threading.Thread(target=run, daemon=True).start()
    return address
