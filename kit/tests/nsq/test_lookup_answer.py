"""Every answer of a lookup server becomes a value or one sentence."""

import json

import pytest
from lookup_answers import http, node, v1, wrapped
from scripted_peer import Script, ScriptedPeer, dribbling

from wireproof_kit.nsq.lookup.answer import (
    Leader,
    Node,
    read_nodes,
    read_servers,
    read_topic,
    read_topics,
)
from wireproof_kit.nsq.lookup.errors import LookupRefused, LookupRequest, Unusable
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.wire.transcript import Transcript

ASKED = LookupRequest(("10.0.0.1", 4161), "GET /lookup?topic=t")
HERE = ("127.0.0.1", 4150)

REDESIGNED = {
    "channels": ["ch"],
    "meta": {"partition_num": 2, "replica": 1},
    "partitions": {"1": node(4160), "0": node(4150)},
    "producers": [node(4150), node(4160)],
}
ORIGINAL = {
    "channels": ["ch"],
    "producers": [{k: v for k, v in node().items() if k not in ("id", "distributed_id")}],
}


def heard(script: Script, *, seconds: float = 5.0) -> HttpAnswer:
    with ScriptedPeer(script) as peer:
        client = HttpClient(peer.address, transcript=Transcript(), seconds=seconds)
        return client.request("GET", "/lookup", v1=True)


def said(data: bytes) -> HttpAnswer:
    return heard(lambda peer: peer.say(data))


@pytest.mark.parametrize("data", [v1(REDESIGNED), wrapped(REDESIGNED)], ids=["v1", "wrapped"])
def test_the_redesigned_answer_is_read_in_either_envelope(data: bytes) -> None:
    info = read_topic(said(data), ASKED)

    assert info.leaders == (
        Leader(0, HERE, ("127.0.0.1", 4151)),
        Leader(1, ("127.0.0.1", 4160), ("127.0.0.1", 4161)),
    )
    assert (info.channels, info.meta["partition_num"]) == (("ch",), 2)
    assert (info.is_partitioned, info.is_disabled) == (True, False)


@pytest.mark.parametrize("data", [v1(ORIGINAL), wrapped(ORIGINAL)], ids=["v1", "wrapped"])
def test_the_original_answer_is_read_in_either_envelope(data: bytes) -> None:
    info = read_topic(said(data), ASKED)

    assert (info.leaders, info.is_partitioned) == ((), False)
    assert info.nodes == (Node(HERE, ("127.0.0.1", 4151), "1"),)


def test_null_lists_name_nobody_and_say_so() -> None:
    answer = v1({"channels": ["ch"], "meta": None, "partitions": None, "producers": None})
    info = read_topic(said(answer), ASKED)

    assert (info.leaders, info.nodes, info.is_disabled) == ((), (), True)


WHOLE = json.dumps(REDESIGNED).encode()
CUT = http(WHOLE)[:-20]
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"cha'

# What is sent, and a part of the sentence.
BAD: dict[str, tuple[bytes, str]] = {
    "no-json": (http(b"<html>no</html>"), "answered 200 with no JSON, but <html>no</html>"),
    "empty": (http(b""), "no JSON, but an empty body"),
    "controls": (http(b"\x1b[2J\x07"), r"no JSON, but \x1b[2J\x07"),
    "json-list": (v1([]), "wrong body: expected a JSON object, found []"),
    "json-null": (http(b"null"), "wrong body: expected a JSON object, found null"),
    "deep": (http(b"[" * 5000 + b"]" * 5000), "with no JSON"),
    "missing-keys": (v1({"channels": []}), "expected partitions and producers"),
    "envelope-of-another": (v1({"result": REDESIGNED, "ok": True}), "found ok, result"),
    "half-an-envelope": (v1({"status_code": 200, "data": REDESIGNED}), "found data, status_code"),
    "envelope-without-data": (wrapped(None), "expected a JSON object, found null"),
    "string-port": (
        v1({**REDESIGNED, "producers": [node(tcp_port="4150")]}),
        'wrong producers/0/tcp_port: expected a port, a number from 1 to 65535, found "4150"',
    ),
    "port-0": (v1({**REDESIGNED, "producers": [node(tcp_port=0)]}), "found 0"),
    "port-true": (v1({**REDESIGNED, "producers": [node(tcp_port=True)]}), "found true"),
    "port-too-high": (v1({**REDESIGNED, "producers": [node(http_port=65536)]}), "found 65536"),
    "no-host": (
        v1({**REDESIGNED, "partitions": {"0": node(broadcast_address="")}}),
        'wrong partitions/0/broadcast_address: expected a host, found ""',
    ),
    "node-is-text": (v1({**REDESIGNED, "producers": ["n"]}), "producers/0: expected a JSON"),
    "partition-word": (
        v1({**REDESIGNED, "partitions": {"zero": node()}}),
        'name in partitions: expected a partition number, found "zero"',
    ),
    "partition-list": (v1({**REDESIGNED, "partitions": [node()]}), "wrong partitions: expected"),
    "producers-object": (v1({**REDESIGNED, "producers": {}}), "wrong producers: expected a list"),
    "redirect": (
        http(b"", status=302, head="Location: http://10.9.9.9:4161/lookup\r\n"),
        "redirected to http://10.9.9.9:4161/lookup; redirects are not followed",
    ),
    "redirect-nowhere": (http(b"", status=307), "redirected to nowhere"),
    "cut": (CUT, "given no whole HTTP response"),
    "cut-chunk": (CHUNKED, "given no whole HTTP response"),
    "not-http": (b"\0\0\0\x06\0\0\0\0OK\r\n\r\n", "given no whole HTTP response"),
    "nothing": (b"", "given no answer, the connection was closed"),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_an_unusable_answer_is_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(Unusable) as caught:
        read_topic(said(data), ASKED)

    sentence = str(caught.value)
    assert words in sentence
    assert sentence.startswith("lookup server 10.0.0.1:4161: GET /lookup?topic=t ")
    assert sentence.isprintable()
    assert len(sentence) < 300
    assert not isinstance(caught.value, LookupRefused)


REFUSED: dict[str, tuple[bytes, str]] = {
    "v1": (v1({"message": "Key not found"}, status=404), "answered 404, Key not found"),
    "wrapped": (
        wrapped(None, status=500, code=500, text="Key not found"),
        "answered 500, Key not found",
    ),
    "wrapped-in-a-200": (wrapped(None, code=404, text="TOPIC_NOT_FOUND"), "404, TOPIC_NOT_FOUND"),
    "unescaped": (
        http(b'{"message":"strconv.Atoi: parsing "abc": invalid syntax"}', status=400),
        'answered 400, strconv.Atoi: parsing "abc": invalid syntax (which is no JSON)',
    ),
    "no-body": (http(b"", status=503), "answered 503, with an empty body"),
    "html": (http(b"<h1>Bad Gateway</h1>", status=502), "<h1>Bad Gateway</h1> (which is no JSON)"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_told_from_an_answer_of_no_use(data: bytes, words: str) -> None:
    with pytest.raises(LookupRefused) as caught:
        read_topic(said(data), ASKED)

    assert words in str(caught.value)


def test_a_slow_body_ends_with_the_deadline() -> None:
    with pytest.raises(Unusable, match="no whole answer in time"):
        read_topic(heard(dribbling, seconds=0.3), ASKED)


def test_a_server_that_is_not_there_is_named() -> None:
    with ScriptedPeer(lambda peer: None) as peer:
        address = peer.address
    client = HttpClient(address, transcript=Transcript(), seconds=1.0)

    with pytest.raises(Unusable, match="no connection is accepted"):
        read_nodes(client.request("GET", "/nodes"), LookupRequest(address, "GET /nodes"))


def test_nodes_and_topics_are_read() -> None:
    assert read_nodes(said(wrapped({"producers": [node()]})), ASKED)[0].address == HERE
    assert read_topics(said(v1({"topics": ["a", "b"]})), ASKED) == ("a", "b")
    assert read_nodes(said(v1({"producers": None})), ASKED) == ()
    for read, name in ((read_nodes, "producers"), (read_topics, "topics")):
        with pytest.raises(Unusable, match=f"expected {name}, found other"):
            read(said(v1({"other": []})), ASKED)


def test_listlookup_is_read_with_ports_as_strings_or_numbers() -> None:
    master = {"NodeIP": "10.0.0.1", "HttpPort": "4161"}
    other = {"NodeIP": "10.0.0.2", "HttpPort": 4162}
    servers = read_servers(
        said(v1({"lookupdleader": master, "lookupdnodes": [master, other]})), ASKED
    )

    assert servers.master == ("10.0.0.1", 4161)
    assert servers.all == (("10.0.0.1", 4161), ("10.0.0.2", 4162))


def test_listlookup_without_a_master_is_read() -> None:
    servers = read_servers(said(v1({"lookupdleader": None, "lookupdnodes": None})), ASKED)

    assert (servers.master, servers.all) == (None, ())


@pytest.mark.parametrize("port", ["x", "-1", "", None, "99999999999", "70000"])
def test_listlookup_with_a_port_that_is_none(port: object) -> None:
    data = {"lookupdleader": {}, "lookupdnodes": [{"NodeIP": "10.0.0.1", "HttpPort": port}]}
    with pytest.raises(Unusable, match="lookupdnodes/0/HttpPort: expected a port"):
        read_servers(said(v1(data)), ASKED)


def test_an_ipv6_server_stands_in_brackets() -> None:
    assert LookupRequest(("::1", 4161), "GET /").text == "[::1]:4161"
