"""Which clauses the checks of the proxy judge, what they leave out, and answers to lookups."""

import json
import re
from pathlib import Path

import pytest
from nsq_traffic import (
    BEAT,
    OK,
    PUB,
    Traffic,
    identified,
    look_up,
    opening_clauses,
    role_of,
    sized,
)

from wireproof_kit.nsq import proxy as nsq_proxy
from wireproof_kit.nsq.clients.events import Sent
from wireproof_kit.nsq.proxy.part import CLAUSES
from wireproof_kit.proxy.events import Clipped, Undecoded
from wireproof_spec.nsq.frame import response_frame
from wireproof_spec.nsq.message import message_schema
from wireproof_spec.strict_json import JsonValue


def test_the_list_of_clauses_is_what_the_checks_name() -> None:
    folder = Path(next(iter(nsq_proxy.__path__)))
    text = "".join(path.read_text("utf-8") for path in folder.glob("*_checks.py"))
    named = set(re.findall(r'"((?:smart|ext)\.[a-z-]+\.[a-z-]+)"', text))
    layouts = {
        message_schema(extend=extend, ordered=ordered).clause
        for extend in (True, False)
        for ordered in (True, False)
    }
    assert set(CLAUSES) == named | layouts | opening_clauses()


@pytest.mark.parametrize("granted", ["tls_v1", "deflate", "snappy"])
def test_what_is_encrypted_or_compressed_is_not_judged(granted: str) -> None:
    body = sized(json.dumps({granted: True}).encode())
    traffic = Traffic().client(b"  V2NOP\n", b"IDENTIFY\n", body)
    traffic.broker(response_frame(json.dumps({granted: True}).encode()), b"\x16\x03\x01")
    traffic.client(b"\x16\x03\x01" * 2000)

    assert traffic.deviating() == set()
    assert isinstance(traffic.events[-1], Undecoded)


def test_nothing_is_judged_after_a_command_that_is_not_known() -> None:
    traffic = identified().client(b"DPUB t 100\n", sized(b"PUB\n\xff\xff\xff\xff"), b"XYZ\n")
    traffic.broker(BEAT, BEAT, BEAT, b"\0\0\0\1")

    assert traffic.deviating() == set()


def test_of_a_long_command_or_frame_the_beginning_is_judged_and_the_rest_skipped() -> None:
    long = bytes(1 << 20)
    traffic = identified()
    data = b"PUB t 0\n" + sized(long) + PUB
    for at in range(0, len(data), 1 << 16):
        traffic.client(data[at : at + (1 << 16)])
    data = OK + b"\0\x10\0\4\0\0\0\0" + long + OK
    for at in range(0, len(data), 1 << 16):
        traffic.broker(data[at : at + (1 << 16)])

    clipped = [event for event in traffic.events if isinstance(event, Clipped)]
    assert [event.size for event in clipped] == [1 << 20, (1 << 20) + 4]
    assert all(event.kept <= 5 << 16 for event in clipped)
    assert traffic.shown["smart.partition.publish"][0] == ""
    last = traffic.events[-1]
    assert isinstance(last, Sent)
    assert last.data == b"OK"


LOOKUP: dict[str, JsonValue] = {
    "channels": [],
    "meta": {"partition_num": 1, "replica": 1},
    "producers": [],
    "partitions": {
        "0": {
            "id": "a",
            "remote_address": "a:1",
            "hostname": "a",
            "broadcast_address": "a",
            "tcp_port": 1,
            "http_port": 2,
            "version": "1",
            "distributed_id": "a",
        }
    },
}


def looked_up(answer: object, query: str = "topic=t&metainfo=true") -> dict[str, list[str]]:
    body = json.dumps(answer).encode()
    traffic = look_up(query)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    shown = traffic.broker(head + body).shown
    return {clause: found for clause, found in shown.items() if role_of(clause) != "client"}


def test_lookup_answers_are_judged() -> None:
    nodes = LOOKUP["partitions"]
    assert isinstance(nodes, dict)
    node = nodes["0"]
    assert isinstance(node, dict)
    text_port = {**LOOKUP, "partitions": {"0": {**node, "tcp_port": "1"}}}

    assert {*map(tuple, looked_up(LOOKUP).values())} == {("",)}
    assert len(looked_up(LOOKUP)) == 3
    assert looked_up({"status_code": 200, "status_txt": "OK", "data": LOOKUP}) == looked_up(LOOKUP)
    assert looked_up({k: v for k, v in LOOKUP.items() if k != "producers"})[
        "smart.lookup.answer"
    ] == ["no producers"]
    assert "partition 0/tcp_port" in looked_up(text_port)["smart.lookup.node-record"][0]
    assert looked_up({**LOOKUP, "meta": {"replica": 1}})["smart.lookup.metainfo"] == [
        "meta: no partition_num"
    ]
    assert "smart.lookup.metainfo" not in looked_up(LOOKUP, "topic=t")
    assert looked_up({"channels": [], "producers": []}) == {}


def test_a_delayed_publish_of_the_original_nsq_is_read_and_what_follows_is_judged() -> None:
    traffic = identified().client(b"DPUB t 1000\n", sized(b"body"), PUB).broker(OK, OK)

    assert not any(isinstance(event, Undecoded) for event in traffic.events)
    assert "smart.partition.publish" in traffic.conforming()
    assert traffic.deviating() == set()
