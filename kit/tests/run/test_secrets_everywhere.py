"""No command writes a secret anywhere, in any spelling; files with exchanges are their owner's."""

import base64
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT

import pytest
from cli_process import Done, clean_environment, wireproof
from secured_broker import SECRET, VARIABLE, served

pytestmark = [pytest.mark.process, pytest.mark.long]

CASE, CLIENT_CASE = "nsq/publish/trace", "nsq/client-connection/handshake"
TOKEN = "t0ken-of-nobody"
WITH_EXCHANGES = (".jsonl", ".html", ".xml", ".pcapng", "-result.json", ".hex", ".py")


def spellings(secret: bytes) -> Iterator[bytes]:
    """Yield the bytes in which a secret may hide, however it is aligned in base64."""
    yield secret
    yield secret.hex().encode()
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + secret)
        yield whole[4 if shift else 0 : len(whole) // 4 * 4 - 4]


def check(told: bytes, where: str, secret: str = SECRET) -> None:
    bare = re.sub(rb"[\s:]", b"", told)
    for spelling in spellings(secret.encode()):
        assert spelling not in told, where
        assert spelling.replace(b" ", b"") not in bare, where
        assert spelling.upper() not in bare, where


def publish_as(address: str) -> None:
    """Log in through the proxy and publish, as a client does."""
    host, _, port = address.rpartition(":")
    secret = SECRET.encode()
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(b"  V2IDENTIFY\n\0\0\0\2{}")
        read_frame(sock)
        for piece in (b"AU", b"TH\n", len(secret).to_bytes(4, "big"), secret[:5], secret[5:]):
            sock.sendall(piece)
        read_frame(sock)
        sock.sendall(b"PUB t_" + b"\n\0\0\0\4body")
        read_frame(sock)
        sock.sendall(b"FIN 0123456789abcdef\n")
        read_frame(sock)


def read_frame(sock: socket.socket) -> bytes:
    size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    return sock.recv(size, socket.MSG_WAITALL)


def through_proxy(url: str, folder: Path) -> Done:
    files = ("--bundle", "passed.jsonl", "--pcap", "passed.pcapng")
    command = [sys.executable, "-m", "wireproof", "proxy", "--to", url, "--json", *files]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            publish_as(str(json.loads(first)["address"]))
            process.send_signal(SIGINT)
            out, err = process.communicate()
        finally:
            process.kill()
    return Done(process.returncode, (first + out).decode(), err.decode())


CLIENT = """
import os, socket, struct
secret = os.environ["MY_OWN_SECRET"].encode()
host, _, port = os.environ["WIREPROOF_NSQD"].rpartition(":")
with socket.create_connection((host, int(port))) as node:
    node.sendall(b"  V2AU")
    node.sendall(b"TH" + bytes([10]) + struct.pack(">i", len(secret)) + secret)
    while True:
        node.sendall(f"PUB {os.environ['WIREPROOF_TOPIC']} 0".encode() + b"\\n\\0\\0\\0\\4body")
        node.recv(1000)
"""
"""A producer that logs in though nobody has asked it to; its node answers with an error."""


def test_what_a_client_sends_unasked_is_masked(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    client = ("--exec", f"{sys.executable} client.py", "--role", "producer")
    files = ("--bundle", "b.jsonl", "--html", "b.html", "--pcap-all", "all", "-vv")

    done = wireproof(
        "client",
        *client,
        *files,
        "nsq/client-connection/handshake",
        cwd=tmp_path,
        MY_OWN_SECRET=SECRET,
    )

    assert done.code in (0, 1), done.err
    check((done.out + done.err).encode(), "client")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert b"AUTH" in (tmp_path / "b.html").read_bytes()
    for path in written:
        check(path.read_bytes(), str(path))


@pytest.mark.parametrize("is_in_url", [True, False])
def test_no_command_writes_the_token_of_the_control_api(is_in_url: bool, tmp_path: Path) -> None:
    with served("--fault", "beyond-no-header") as url:
        own = f"{TOKEN}@{url.partition('?http=')[2]}"
        given = [f"{url}&control={own}"] if is_in_url else [url, "--control", own]
        reports = (
            "--html",
            "r.html",
            "--junit",
            "r.xml",
            "--allure",
            "allure",
            "--pcap-all",
            "all",
        )
        done = [
            wireproof("doctor", *given, cwd=tmp_path),
            wireproof("probe", *given, "--json", cwd=tmp_path),
            wireproof("run", *given, CASE, "--plan", cwd=tmp_path),
            wireproof("run", *given, CASE, "--bundle", "b.jsonl", *reports, "-vv", cwd=tmp_path),
            wireproof("fuzz", *given, "--cases", "1", "--bundle", "f.jsonl", cwd=tmp_path),
            wireproof("report", "b.jsonl", "--md", "b.md", "--statement", "s.html", cwd=tmp_path),
            wireproof("replay", f"{CASE}/one", "--bundle", "b.jsonl", cwd=tmp_path),
            wireproof("list", given[0], cwd=tmp_path),
        ]

    assert "control" in done[0].out
    assert "missing  control" not in done[0].out
    for each in done:
        check(each.out.encode() + each.err.encode(), str(given), TOKEN)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            check(path.read_bytes(), str(path), TOKEN)


def test_no_command_writes_a_secret(tmp_path: Path) -> None:
    login = ("--auth-env", VARIABLE)
    reports = ("--html", "r.html", "--junit", "r.xml", "--allure", "allure", "--pcap-all", "all")
    done: dict[str, Done] = {}

    def call(*arguments: str) -> None:
        done[" ".join(arguments)] = wireproof(*arguments, cwd=tmp_path, **{VARIABLE: SECRET})

    with served("--auth-secret-env", VARIABLE, "--fault", "beyond-no-header") as url:
        place = url.partition("?")[0]
        call("doctor", url, *login)
        call("probe", url, *login, "-vv")
        call("probe", url, *login, "--json")
        call("run", url, CASE, *login, "--bundle", "b.jsonl", *reports, "-vv")
        call("run", url, "nsq/connection", *login, "--bundle", "c.jsonl", "--pcap", "some", "-vv")
        call("fuzz", place, *login, "--cases", "256", "--bundle", "f.jsonl", "--corpus", "corpus")
        call("replay", f"{CASE}/one", "--bundle", "b.jsonl", *login, "-vv", "--json")
        done["proxy"] = through_proxy(place, tmp_path)
    call("judge", "b.jsonl", "--bundle", "again.jsonl", "-vv")
    call("diff", "b.jsonl", "again.jsonl", "--md")
    call("baseline", "update", "known.toml", "--bundle", "c.jsonl", "--reason", "x")
    for bundle in ("b.jsonl", "passed.jsonl"):
        kinds = ("html", "junit", "md", "statement", "badge", "allure", "pcap-all")
        places = [word for kind in kinds for word in (f"--{kind}", f"{bundle}.{kind}")]
        call("report", bundle, *places)

    assert done["proxy"].code in (0, 1), done["proxy"].err
    assert '"AUTH"' in done["proxy"].out
    for command, each in done.items():
        assert "Traceback" not in each.err, command
        check(each.out.encode() + each.err.encode(), command)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".jsonl", ".html", ".xml", ".pcapng", ".json"}
    for path in files:
        check(path.read_bytes(), str(path))
        if path.name.endswith(WITH_EXCHANGES):
            assert path.stat().st_mode & 0o077 == 0, path
