"""What a proxy changes: the first IDENTIFY if it must, and addresses in lookup answers."""

import json
import zlib
from collections.abc import Mapping

import pytest

from wireproof_kit.nsq.proxy.gates import LookupGate, NodeGate
from wireproof_spec.strict_json import JsonValue

Address = tuple[str, int]
PLAIN: dict[str, JsonValue] = {"client_id": "c", "tls_v1": False, "heartbeat_interval": 1000}
PROXY = "192.0.2.9"


def identify(fields: Mapping[str, JsonValue]) -> bytes:
    body = json.dumps(fields, separators=(",", ":")).encode()
    return b"  V2IDENTIFY\n" + len(body).to_bytes(4, "big") + body


def passed(gate: NodeGate, data: bytes, size: int) -> bytes:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(map(gate.from_client, pieces))


@pytest.mark.parametrize("size", [1, 3, 13, 17, 1000])
@pytest.mark.parametrize("asked", ["tls_v1", "deflate", "snappy"])
def test_tls_and_compression_are_declined_however_the_bytes_come(asked: str, size: int) -> None:
    gate = NodeGate()
    rest = b"PUB t 0\n\0\0\0\4" + bytes(4)

    out = passed(gate, identify({**PLAIN, asked: True}) + rest, size)

    length = int.from_bytes(out[13:17], "big")
    assert out[:13] == b"  V2IDENTIFY\n"
    assert json.loads(out[17 : 17 + length]) == {**PLAIN, asked: False}
    assert out[17 + length :] == rest
    assert gate.take_notes() == [
        f"IDENTIFY asks for {asked}: declined by the proxy, which reads along"
    ]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    "data",
    [
        identify({**PLAIN}) + b"NOP\n",
        b"  V2IDENTIFY\n\0\0\0\4null" + b"NOP\n",
        b"  V2IDENTIFY\n\0\0\0\4{xx}" + b"NOP\n",
        b"  V2IDENTIFY\n\xff\xff\xff\xff" + b"x" * 100,
        b"  V2SUB t c 0\n",
        b"  V1whatever",
        b"GET /ping HTTP/1.1\r\n\r\n",
    ],
)
def test_anything_else_passes_unchanged(data: bytes, size: int) -> None:
    gate = NodeGate()

    assert passed(gate, data, size) == data
    assert gate.take_notes() == []


def test_an_identify_that_is_cut_off_passes_at_the_end() -> None:
    gate, data = NodeGate(), identify(PLAIN)[:-3]

    assert passed(gate, data, 5) + gate.release(by_client=True) == data


def node(host: str, tcp: int, http: int) -> dict[str, JsonValue]:
    return {
        "remote_address": "10.0.0.1:9",
        "broadcast_address": host,
        "tcp_port": tcp,
        "http_port": http,
    }


def front_for(kind: str, upstream: Address) -> Address | None:
    """Stand before everything but the host that is too much, at a port that shows what it was."""
    if upstream[0] == "full":
        return None
    host = "::1" if upstream[0] == "fe80::7" else "0.0.0.0"
    return host, {"nsqd": 20000, "http": 30000, "lookupd": 40000}[kind] + upstream[1]


def answer(body: bytes, *, chunked: bool = False) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nX-NSQ-Content-Type: nsq; version=1.0\r\n"
    if not chunked:
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    half = len(body) // 2
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[:half], body[half:]))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


def look_up(path: str, *raw: bytes, size: int = 1000) -> tuple[bytes, LookupGate]:
    gate = LookupGate(PROXY, front_for)
    request = f"GET {path} HTTP/1.1\r\nHost: l\r\n\r\n".encode()
    out = b""
    for each in raw:
        assert gate.from_client(request) == request
        out += b"".join(gate.from_server(each[a : a + size]) for a in range(0, len(each), size))
    return out, gate


REDESIGNED = {
    "channels": ["c"],
    "meta": {"partition_num": 2},
    "partitions": {"0": node("10.0.0.1", 1, 2), "1": node("10.0.0.2", 1, 2)},
    "producers": [node("10.0.0.1", 1, 2), node("10.0.0.2", 1, 2)],
}
ORIGINAL = {"channels": ["c"], "producers": [node("10.0.0.1", 1, 2)]}


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("data", [REDESIGNED, ORIGINAL], ids=["redesigned", "original"])
def test_lookup_answers_lead_to_the_proxy(
    data: dict[str, JsonValue], wrapped: bool, chunked: bool, size: int
) -> None:
    value = {"status_code": 200, "status_txt": "OK", "data": data} if wrapped else data
    raw = answer(json.dumps(value).encode(), chunked=chunked)

    out, gate = look_up("/lookup?topic=t", raw, raw, size=size)

    assert out.count(b"HTTP/1.1 200 OK") == 2
    head, _, body = out[: len(out) // 2].partition(b"\r\n\r\n")
    assert b"X-NSQ-Content-Type: nsq; version=1.0" in head
    assert b"chunked" not in head
    found = json.loads(body)
    found = found["data"] if wrapped else found
    nodes = [*found["producers"], *found.get("partitions", {}).values()]
    assert {each["broadcast_address"] for each in nodes} == {PROXY}
    assert {(each["tcp_port"], each["http_port"]) for each in nodes} == {(20001, 30002)}
    assert found["channels"] == ["c"]
    assert "lead to the proxy now" in gate.take_notes()[0]


def compressed(body: bytes, coding: str) -> bytes:
    form = {"gzip": 31, "deflate": 15, "deflate-bare": -15}.get(coding, 15)
    packer = zlib.compressobj(wbits=form)
    packed = packer.compress(body) + packer.flush()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding.partition('-')[0]}\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(packed) + packed


@pytest.mark.parametrize("coding", ["gzip", "deflate", "deflate-bare"])
def test_compressed_answers_lead_to_the_proxy(coding: str) -> None:
    raw = compressed(json.dumps(REDESIGNED).encode(), coding)

    out, _ = look_up("/lookup?topic=t", raw, size=3)

    head, _, body = out.partition(b"\r\n\r\n")
    assert b"encoding" not in head.lower()
    assert json.loads(body)["producers"][0]["broadcast_address"] == PROXY


def test_an_answer_of_unknown_compression_passes_and_is_told() -> None:
    raw = compressed(json.dumps(REDESIGNED).encode(), "br")

    out, gate = look_up("/lookup?topic=t", raw)

    assert out == raw
    assert gate.take_notes() == ["the answer is too long or compressed: it leads past the proxy"]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_lookup_servers_are_asked_not_to_compress(size: int) -> None:
    asked = (
        b"GET /lookup?topic=t HTTP/1.1\r\nHost: l\r\naccept-encoding:  gzip, br\r\nX: y\r\n\r\n"
    )
    other = b"POST /topic/create?topic=t HTTP/1.1\r\nHost: l\r\nContent-Length: 21\r\n\r\n"
    other += b"Accept-Encoding: gzip" + asked.replace(b"/lookup", b"/stats")
    gate, data = LookupGate(PROXY, front_for), asked + other + asked[:-2]

    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    out = b"".join(map(gate.from_client, pieces)) + gate.release(by_client=True)

    plain = asked.replace(b"accept-encoding:  gzip, br", b"Accept-Encoding: identity")
    assert out == plain + other + asked[:-2]
    assert gate.take_notes() == ["the lookup server is asked not to compress its answer"]


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
def test_bytes_that_are_no_http_pass_a_lookup_gate_whole(size: int) -> None:
    request = b"GET /lookup?topic=t HTTP/1.1\r\nHost: l\r\n\r\n"
    answered = answer(b"no JSON")
    for sent, received in (
        (request + b"\0\1 no request\r\n\r\n" * 9, answered + b"\0\1 no answer\r\n\r\n" * 9),
        (b"GET /" + b"x" * 100_000, b"HTTP/1.1 200 OK\r\n" + b"x" * 100_000),
    ):
        gate = LookupGate(PROXY, front_for)
        pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
        out = b"".join(map(gate.from_client, pieces)) + gate.release(by_client=True)
        assert out == sent
        pieces = [received[at : at + size] for at in range(0, len(received), size)]
        out = b"".join(map(gate.from_server, pieces)) + gate.release(by_client=False)
        assert out == received


def test_an_answer_that_ends_with_the_connection_leads_to_the_proxy() -> None:
    gate = LookupGate(PROXY, front_for)
    gate.from_client(b"GET /lookup?topic=t HTTP/1.0\r\n\r\n")
    out = gate.from_server(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(ORIGINAL).encode())
    out += gate.release(by_client=False)

    producers = json.loads(out.partition(b"\r\n\r\n")[2])["producers"]
    assert producers[0]["broadcast_address"] == PROXY


def test_listed_lookup_servers_lead_to_the_proxy_with_ports_as_strings() -> None:
    server = {"NodeIP": "10.0.0.3", "HttpPort": "61", "TcpPort": "60", "ID": "x"}
    data = {"lookupdleader": server, "lookupdnodes": [server]}

    out, _ = look_up("/listlookup", answer(json.dumps(data).encode()))

    found = json.loads(out.partition(b"\r\n\r\n")[2])
    moved = {**server, "NodeIP": PROXY, "HttpPort": "40061"}
    assert found == {"lookupdleader": moved, "lookupdnodes": [moved]}


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        ("/lookup?topic=t", answer(b"not json")),
        ("/lookup?topic=t", answer(json.dumps({"message": "TOPIC_NOT_FOUND"}).encode())),
        ("/lookup?topic=t", answer(json.dumps({"partitions": None, "producers": 3}).encode())),
        ("/stats", answer(json.dumps(ORIGINAL).encode(), chunked=True)),
        ("/topics", answer(b"{}")),
    ],
)
def test_other_answers_pass_unchanged(path: str, raw: bytes) -> None:
    assert look_up(path, raw, raw, size=7)[0] == raw + raw


def test_addresses_may_be_names_or_of_ipv6_and_lead_to_where_the_proxy_listens() -> None:
    data = {"producers": [node("node-7.example", 1, 2), node("fe80::7", 1, 2)]}

    out, _ = look_up("/nodes", answer(json.dumps(data).encode()))

    producers = json.loads(out.partition(b"\r\n\r\n")[2])["producers"]
    assert [each["broadcast_address"] for each in producers] == [PROXY, "::1"]


def test_an_address_that_the_proxy_does_not_stand_before_is_left_and_told() -> None:
    data = {"producers": [node("full", 1, 2), node("10.0.0.1", 1, 2)]}

    out, gate = look_up("/nodes", answer(json.dumps(data).encode()))

    producers = json.loads(out.partition(b"\r\n\r\n")[2])["producers"]
    hosts = [each["broadcast_address"] for each in producers]
    assert hosts == ["full", PROXY]
    assert "full:1 is left in the answer: the proxy stands before too many" in gate.take_notes()
