"""Lookup servers that are none, are broken or hostile: one sentence and exit code 2.

Each is given beside a broker that is there, and alone, to name the broker itself.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_process import wireproof
from lookup_answers import http, node, v1
from scripted_peer import OK, Peer, Script, ScriptedPeer, dribbling

from wireproof.main import main
from wireproof_kit.nsq.lookup import discovery
from wireproof_kit.nsq.lookup import servers as lookup_module

NULLS = dict.fromkeys(("producers", "topics", "channels", "partitions", "meta"))
TEXT = node(tcp_port="4150")
PORTS = {"producers": [TEXT], "partitions": {"0": TEXT}, "channels": []}


def always(data: bytes) -> Script:
    def script(peer: Peer) -> None:
        if peer.until(b"\r\n\r\n"):
            peer.say(data)

    return script


def silent(peer: Peer) -> None:
    peer.rest()


# What a server does to every request, and a part of the sentence.
BAD: dict[str, tuple[Script, str]] = {
    "no-json": (always(http(b"<html>")), "was answered 200 with no JSON, but <html>"),
    "unescaped": (
        always(http(b'{"message":"a "b" c"}', status=400)),
        'was answered 400, a "b" c (which is no JSON)',
    ),
    "redirect": (
        always(http(b"", status=301, head="Location: http://127.0.0.1:1/x\r\n")),
        "was redirected to http://127.0.0.1:1/x; redirects are not followed",
    ),
    "cut": (always(http(b"{}")[:-1]), "was given no whole HTTP response"),
    "slow": (dribbling, "was given no whole answer in time"),
    "silent": (silent, "was given no whole answer in time"),
    "null-lists": (always(v1(NULLS)), "names nobody, writing is disabled"),
    "string-ports": (
        always(v1(PORTS)),
        'tcp_port: expected a port, a number from 1 to 65535, found "',
    ),
    "wrong-envelope": (always(v1({"ok": True, "result": PORTS})), "found ok, result"),
}
ALONE = {**BAD, "null-lists": (BAD["null-lists"][0], "know no node")}


def greeting(peer: Peer) -> None:
    """Answer OK to IDENTIFY, as a broker that has no more to say."""
    peer.exactly(4)
    while peer.line():
        peer.sized()
        peer.say(OK)


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with ScriptedPeer(greeting) as peer:
        yield f"nsq://127.0.0.1:{peer.address[1]}"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "UNUSABLE_SECONDS", 0.2)
    monkeypatch.setattr(discovery, "ANSWER_SECONDS", 0.3)


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    return line


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("script", "words"), BAD.values(), ids=BAD)
def test_a_lookup_server_beside_a_broker(
    script: Script, words: str, broker: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedPeer(script) as peer:
        address = f"127.0.0.1:{peer.address[1]}"
        code = main(["probe", broker, "--lookupd", address])

    line = sentence(capsys)
    assert code == 2, line
    assert line.startswith(f"wireproof: lookup server {address}: GET /")
    assert words in line


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("script", "words"), ALONE.values(), ids=ALONE)
def test_a_lookup_server_that_is_to_name_the_broker(
    script: Script, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedPeer(script) as peer:
        address = f"127.0.0.1:{peer.address[1]}"
        code = main(["probe", f"nsq://?lookupd={address}"])

    line = sentence(capsys)
    assert code == 2, line
    assert line.startswith("wireproof: lookup server")
    assert address in line
    assert words in line


def test_servers_that_are_not_there(broker: str, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedPeer(silent) as peer:
        address = f"127.0.0.1:{peer.address[1]}"

    assert main(["probe", broker, "--lookupd", address]) == 2
    assert f"cannot reach any lookup server at {address}" in sentence(capsys)


@pytest.mark.process
@pytest.mark.parametrize(
    "name", ["no-json", "unescaped", "redirect", "cut", "silent", "null-lists"]
)
def test_no_run_begins(name: str, broker: str, tmp_path: Path) -> None:
    """Few cases: each topic of a case is looked up until it is certain that nobody leads it."""
    script, words = BAD[name]
    with ScriptedPeer(script) as peer:
        done = wireproof(
            *("run", broker, "nsq/publish/ok", "--lookupd", f"127.0.0.1:{peer.address[1]}"),
            *("--bundle", "b.jsonl"),
            cwd=tmp_path,
        )

    assert words in done.refused()
    assert done.out == ""
    assert not (tmp_path / "b.jsonl").exists()
