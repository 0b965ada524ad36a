"""The schemas of what lookup servers say, against recorded answers and against broken ones."""

import pytest
from check_each import check_each

from wireproof_spec import strict_json
from wireproof_spec.json_schema import check
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.golden import HttpExchange
from wireproof_spec.nsq.names import NSQ_CONTENT_TYPE
from wireproof_spec.strict_json import JsonValue

SERVICES = ("/info", "/topics", "/channels", "/nodes", "/listlookup", "/lookup")
ORIGINAL = "nsqio nsqlookupd 1.3.0"

NODE: dict[str, JsonValue] = {
    "id": "127.0.0.1:33122",
    "remote_address": "127.0.0.1:33122",
    "hostname": "test-sqs4",
    "broadcast_address": "127.0.0.1",
    "tcp_port": 4150,
    "http_port": 4151,
    "version": "0.3.7-HA.1.5.4.1",
    "distributed_id": "127.0.0.1:4250:4150:338437",
}
OLD_NODE = {name: value for name, value in NODE.items() if name not in ("id", "distributed_id")}
LOOKUP: dict[str, JsonValue] = {
    "channels": ["BaseConsumer"],
    "meta": {"partition_num": 1, "replica": 1},
    "partitions": {"0": NODE},
    "producers": [NODE],
}
SERVER: dict[str, JsonValue] = {
    "ID": "127.0.0.1:15113:15110:nsqlookup",
    "NodeIP": "127.0.0.1",
    "TcpPort": "15110",
    "HttpPort": "15111",
    "RpcPort": "15113",
    "Epoch": 0,
}
REGISTERED: dict[str, JsonValue] = {**OLD_NODE, "tombstones": [], "topics": ["t"]}
META: dict[str, JsonValue] = {
    "topic_name": "t",
    "extend_support": False,
    "ordered": False,
    "multi_part": False,
    "disable_channel_auto_create": False,
    "registered_channels": [],
}

GOOD: list[tuple[str, JsonValue]] = [
    ("lookup-node", {**NODE, "more": 1}),
    ("lookup-partitioned", LOOKUP),
    ("lookup-partitioned", {"channels": [], "partitions": None, "producers": None}),
    ("lookup-partitioned", {"channels": [], "partitions": {"10": NODE}, "producers": []}),
    ("lookup-original", {"channels": [], "producers": [OLD_NODE]}),
    ("listlookup", {"lookupdleader": SERVER, "lookupdnodes": [SERVER]}),
    ("nodes", {"producers": [REGISTERED, {**REGISTERED, "partitions": {"t": ["0", "1"]}}]}),
    ("topics", {"topics": ["t"], "meta_info": [META]}),
    ("channels", {"channels": []}),
    ("info", {"version": "1.3.0"}),
]

BAD: list[tuple[str, JsonValue, list[str]]] = [
    ("lookup-node", OLD_NODE, ["", ""]),
    ("lookup-node", {**NODE, "tcp_port": "4150"}, ["/tcp_port"]),
    ("lookup-node", {**NODE, "http_port": 0}, ["/http_port"]),
    ("lookup-node", {**NODE, "broadcast_address": ""}, ["/broadcast_address"]),
    ("lookup-partitioned", {"channels": [], "producers": []}, [""]),
    ("lookup-partitioned", {**LOOKUP, "partitions": {"01": NODE}}, ["/partitions"]),
    ("lookup-partitioned", {**LOOKUP, "partitions": {"0": OLD_NODE}}, ["/partitions/0"] * 2),
    ("lookup-partitioned", {**LOOKUP, "meta": {"partition_num": 1}}, ["/meta"]),
    (
        "lookup-partitioned",
        {**LOOKUP, "meta": {"partition_num": "1", "replica": 1}},
        ["/meta/partition_num"],
    ),
    ("lookup-partitioned", {**LOOKUP, "channels": None}, ["/channels"]),
    ("lookup-partitioned-wrapped", LOOKUP, ["", "", ""]),
    ("lookup-original", LOOKUP, ["", ""]),
    (
        "listlookup",
        {"lookupdleader": {**SERVER, "HttpPort": 15111}, "lookupdnodes": [SERVER]},
        ["/lookupdleader/HttpPort"],
    ),
    ("listlookup", {"lookupdleader": SERVER, "lookupdnodes": []}, ["/lookupdnodes"]),
    ("nodes", {"producers": [NODE]}, ["/producers/0", "/producers/0"]),
    ("topics", {"topics": [1]}, ["/topics/0"]),
    ("channels", {"channels": None}, ["/channels"]),
    ("info", {"ha_support": True}, [""]),
]


def schema_of(exchange: HttpExchange) -> str:
    path = exchange.path.partition("?")[0].removeprefix("/")
    kind = "original" if exchange.server == ORIGINAL else "partitioned"
    name = f"lookup-{kind}" if path == "lookup" else path
    names = {header.lower() for header in exchange.response_headers}
    return f"nsq/{name}" if NSQ_CONTENT_TYPE.lower() in names else f"nsq/{name}-wrapped"


ROWS = [
    row
    for row in golden.nsqlookupd_http()
    if row.status == 200 and row.path.partition("?")[0] in SERVICES
]


def test_recorded_answers_are_of_both_kinds_and_envelopes() -> None:
    assert {schema_of(row) for row in ROWS} >= {
        "nsq/lookup-partitioned",
        "nsq/lookup-partitioned-wrapped",
        "nsq/lookup-original",
        "nsq/listlookup",
        "nsq/nodes-wrapped",
        "nsq/topics",
        "nsq/channels",
        "nsq/info-wrapped",
    }


@check_each(ROWS, lambda row: row.name)
def test_recorded_answers_follow_their_schema(row: HttpExchange) -> None:
    assert check(schema_of(row), strict_json.read(row.response_body).value) == ()


@check_each(ROWS, lambda row: row.name)
def test_recorded_answers_break_the_schema_of_the_other_envelope(row: HttpExchange) -> None:
    name = schema_of(row)
    other = name.removesuffix("-wrapped") if "-wrapped" in name else f"{name}-wrapped"
    assert check(other, strict_json.read(row.response_body).value) != ()


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_good_answers_pass(name: str, value: JsonValue) -> None:
    wrapped: JsonValue = {"status_code": 200, "status_txt": "OK", "data": value}

    assert check(f"nsq/{name}", value) == ()
    if name != "lookup-node":
        assert check(f"nsq/{name}-wrapped", wrapped) == ()


@pytest.mark.parametrize(("name", "value", "pointers"), BAD)
def test_bad_answers_fail_where_they_are_bad(
    name: str, value: JsonValue, pointers: list[str]
) -> None:
    assert [fault.pointer for fault in check(f"nsq/{name}", value)] == pointers
