"""Nodes are found through lookup servers, or one sentence says why not."""

import pytest
from lookup_answers import by_path, http, node, v1, wrapped
from ports import NOBODY
from scripted_peer import Peer, Script, ScriptedPeer, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.lookup import discovery
from wireproof_kit.nsq.lookup.discovery import check_servers, discover

NODES = by_path(nodes=v1({"producers": [node(4150), node(4160)]}))
PORTS = [4150, 4160]


def ports(*servers: tuple[str, int], seconds: float = 10.0) -> list[int]:
    return [each.address[1] for each in discover(servers, seconds=seconds)]


def test_registered_nodes_are_found_in_either_envelope() -> None:
    old = by_path(nodes=wrapped({"producers": [node(4150), node(4160)]}))
    for script in (NODES, old):
        with ScriptedPeer(script) as peer:
            assert ports(peer.address) == PORTS


def test_nodes_of_several_servers_are_merged() -> None:
    other = by_path(nodes=v1({"producers": [node(4160), node(4170)]}))
    with ScriptedPeer(NODES) as one, ScriptedPeer(other) as two:
        assert ports(one.address, two.address) == [4150, 4160, 4170]


def test_a_server_that_is_of_no_use_is_passed_over() -> None:
    with ScriptedPeer(by_path(nodes=http(b"no"))) as bad, ScriptedPeer(NODES) as good:
        assert ports(NOBODY, bad.address, good.address) == PORTS


def test_without_nodes_the_producers_of_topics_are_taken() -> None:
    script = by_path(
        topics=v1({"topics": ["a", "b"]}),
        lookup=v1({"channels": [], "partitions": {}, "producers": [node(4160)]}),
    )
    with ScriptedPeer(script) as peer:
        assert ports(peer.address) == [4160]


def test_servers_that_are_not_there() -> None:
    with pytest.raises(TargetUnreachable, match="cannot reach any lookup server at 127"):
        discover([NOBODY, NOBODY])


def test_servers_that_know_nobody() -> None:
    nobody = by_path(nodes=v1({"producers": []}), topics=v1({"topics": []}))
    with ScriptedPeer(nobody) as peer, pytest.raises(ArrangementFailed, match="know no node"):
        discover([peer.address])


BAD = {
    "no-json": (http(b"<html>"), "no JSON"),
    "unescaped": (http(b'{"message":"a "b" c"}', status=400), 'a "b" c'),
    "redirect": (http(b"", status=301, head="Location: http://x/\r\n"), "not followed"),
    "string-ports": (v1({"producers": [node(tcp_port="4150")]}), 'found "4150"'),
    "missing-keys": (v1({}), "expected producers, found an empty object"),
    "wrong-envelope": (v1({"data": {"producers": []}}), "expected producers, found data"),
    "cut": (http(b"{}")[:-1], "no whole HTTP response"),
}


@pytest.mark.parametrize(("answer", "words"), BAD.values(), ids=BAD)
def test_the_first_fault_is_the_sentence(answer: bytes, words: str) -> None:
    with ScriptedPeer(by_path(nodes=answer)) as peer:
        port = peer.address[1]
        with pytest.raises(ArrangementFailed) as caught:
            discover([NOBODY, peer.address])

    assert words in str(caught.value)
    assert str(caught.value).startswith(f"lookup server 127.0.0.1:{port}: GET /nodes")


def test_a_silent_server_costs_no_more_than_the_time_there_is() -> None:
    watch = Stopwatch()
    with ScriptedPeer(saying()) as peer, pytest.raises(ArrangementFailed, match="in time"):
        discover([peer.address, peer.address], seconds=0.5)

    assert watch.seconds() < LIMIT_S


SPEAKING = {
    "nodes": by_path(nodes=v1({"producers": []})),
    "a-no-in-json": by_path(),
    "lookup-alone": by_path(
        nodes=http(b"404 page not found", status=404),
        listlookup=http(b"404 page not found", status=404),
        lookup=wrapped(None, status=500, code=500, text="Key not found"),
    ),
}


@pytest.mark.parametrize("script", SPEAKING.values(), ids=SPEAKING)
def test_whatever_answers_in_json_passes_for_a_lookup_server(script: Script) -> None:
    with ScriptedPeer(by_path(nodes=http(b"no"))) as bad, ScriptedPeer(script) as good:
        check_servers([NOBODY, bad.address, good.address])


def test_a_page_for_every_question_is_no_lookup_server() -> None:
    page = http(b"404 page not found", status=404)
    script = by_path(nodes=page, listlookup=page, lookup=page)
    with ScriptedPeer(script) as peer, pytest.raises(ArrangementFailed) as caught:
        check_servers([NOBODY, peer.address])

    assert "GET /nodes was answered 404, 404 page not found (which is no JSON)" in str(
        caught.value
    )


def test_a_silent_server_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ANSWER_SECONDS", 0.2)
    asked: list[bytes] = []

    def script(peer: Peer) -> None:
        asked.append(peer.until(b"\r\n\r\n"))
        peer.rest()

    with ScriptedPeer(script) as peer, pytest.raises(ArrangementFailed, match="in time"):
        check_servers([peer.address])

    assert len(asked) == 1
