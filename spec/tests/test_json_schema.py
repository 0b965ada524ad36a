import subprocess
import sys
from collections.abc import Mapping
from importlib import resources

import pytest
from check_each import check_each

from wireproof_spec.json_schema import SchemaFault, check, document
from wireproof_spec.nsq import limits
from wireproof_spec.strict_json import JsonValue, read

NAMES = [
    f"{protocol}/{entry.name.removesuffix('.json')}"
    for protocol in ("nsq", "iggy")
    for entry in (resources.files(f"wireproof_spec.{protocol}") / "json_schemas").iterdir()
]

TRACED: dict[str, JsonValue] = {
    "status": "OK",
    "id": 123,
    "trace_id": "123456789",
    "queue_offset": 100000,
    "rawsize": 400,
}
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
LOOKUP: dict[str, JsonValue] = {
    "channels": ["BaseConsumer"],
    "meta": {"partition_num": 1, "replica": 1},
    "partitions": {"0": NODE},
    "producers": [NODE],
}
MESSAGE: dict[str, JsonValue] = {
    "offset": 0,
    "state": "available",
    "timestamp": 1692643862990111,
    "id": 2**128 - 1,
    "checksum": 2**32 - 1,
    "headers": {"key_3": {"kind": "uint64", "value": "QOIBAAAAAAA="}},
    "payload": "b3JkZXJzX2RhdGFfMg==",
}

GOOD: list[tuple[str, JsonValue]] = [
    ("nsq/ext-header", {}),
    ("nsq/ext-header", {"##client_dispatch_tag": "test_tag", "custom_h2": "test", "a-b": ""}),
    ("nsq/ext-header", {"##trace_id": "18446744073709551615"}),
    ("nsq/ext-header", {"##trace_id": "000000000000000000000007"}),
    ("nsq/ext-header", {"##trace_id": ""}),
    ("nsq/pub-ext-answer", TRACED),
    ("nsq/pub-ext-answer-wrapped", {"status_code": 200, "status_txt": "OK", "data": TRACED}),
    ("nsq/error-answer", {"message": "MSG_EMPTY"}),
    ("nsq/error-answer-wrapped", {"status_code": 500, "status_txt": "X", "data": None}),
    ("nsq/lookup", LOOKUP),
    ("nsq/lookup", {"channels": [], "partitions": None, "producers": None}),
    ("nsq/lookup-wrapped", {"status_code": 200, "status_txt": "OK", "data": LOOKUP}),
    ("nsq/topic-create-error", {"message": "already exist"}),
    ("nsq/identify-request", {}),
    ("nsq/identify-request", {"heartbeat_interval": -1, "msg_timeout": 0, "unknown": [1]}),
    ("nsq/identify-request", {"extend_support": True, "desired_tag": "t" * 100}),
    ("nsq/identify-original", {"heartbeat_interval": 120_000, "output_buffer_timeout": 5000}),
    ("nsq/identify-original", {"msg_timeout": 1, "desired_tag": 1, "long_id": None}),
    ("nsq/identify-original", {"client_id": None, "heartbeat_interval": None, "tls_v1": None}),
    ("iggy/message", MESSAGE),
    ("iggy/message", {**MESSAGE, "headers": None, "state": "marked_for_deletion", "more": 1}),
    ("iggy/polled-messages", []),
    ("iggy/polled-messages", [MESSAGE, {**MESSAGE, "headers": {}}]),
    (
        "iggy/polled-messages-tagged",
        {"partition_id": 1, "current_offset": 0, "messages": [MESSAGE]},
    ),
    (
        "iggy/send-messages",
        {"partitioning": {"kind": "balanced", "value": ""}, "messages": [{"payload": "YQ=="}]},
    ),
    ("iggy/store-consumer-offset", {"offset": 1}),
]

BAD: list[tuple[str, JsonValue, list[str]]] = [
    ("nsq/ext-header", [], [""]),
    ("nsq/ext-header", {"a b": "c"}, [""]),
    ("nsq/ext-header", {"a\n": "c"}, [""]),
    ("nsq/ext-header", {"a": 1, "b": None}, ["/a", "/b"]),
    ("nsq/ext-header", {"##trace_id": "18446744073709551616"}, ["/##trace_id"]),
    ("nsq/ext-header", {"##trace_id": "99999999999999999999"}, ["/##trace_id"]),
    ("nsq/ext-header", {"##trace_id": "1\n"}, ["/##trace_id"]),
    ("nsq/ext-header", {"##trace_id": "-1"}, ["/##trace_id"]),
    ("nsq/ext-header", {"##client_dispatch_tag": 5}, ["/##client_dispatch_tag"]),
    ("nsq/pub-ext-answer", {**TRACED, "trace_id": 123}, ["/trace_id"]),
    ("nsq/pub-ext-answer", {**TRACED, "status": "ok"}, ["/status"]),
    ("nsq/pub-ext-answer", {"status": "OK"}, ["", "", "", ""]),
    ("nsq/pub-ext-answer", {"status_code": 200, "status_txt": "OK", "data": TRACED}, [""] * 5),
    (
        "nsq/pub-ext-answer-wrapped",
        {"status_code": 200, "status_txt": "OK", "data": {}},
        ["/data"] * 5,
    ),
    ("nsq/error-answer", {"message": ""}, ["/message"]),
    (
        "nsq/error-answer-wrapped",
        {"status_code": 404, "status_txt": "X", "data": None},
        ["/status_code"],
    ),
    ("nsq/lookup", {**LOOKUP, "partitions": {"x": NODE}}, ["/partitions"]),
    (
        "nsq/lookup",
        {**LOOKUP, "producers": [{**NODE, "tcp_port": "4150"}]},
        ["/producers/0/tcp_port"],
    ),
    ("nsq/identify-request", {"heartbeat_interval": 999}, ["/heartbeat_interval"]),
    ("nsq/identify-request", {"extend_support": "true"}, ["/extend_support"]),
    ("nsq/identify-request", {"deflate": True, "snappy": True}, [""]),
    ("nsq/identify-request", None, [""]),
    ("nsq/identify-original", {"client_id": 1, "tls_v1": 1}, ["/client_id", "/tls_v1"]),
    ("nsq/identify-original", {"heartbeat_interval": 999}, ["/heartbeat_interval"]),
    ("nsq/identify-original", {"sample_rate": 100}, ["/sample_rate"]),
    ("nsq/identify-original", {"deflate": True, "snappy": True}, [""]),
    ("nsq/identify-original", [], [""]),
    ("iggy/message", {**MESSAGE, "state": "Available", "id": "1"}, ["/id", "/state"]),
    ("iggy/message", {**MESSAGE, "state": 1, "id": 2**128}, ["/id", "/state"]),
    ("iggy/message", {**MESSAGE, "offset": -1, "checksum": 2**32}, ["/checksum", "/offset"]),
    ("iggy/message", {**MESSAGE, "payload": "b3Jk=", "headers": []}, ["/headers", "/payload"]),
    ("iggy/message", {**MESSAGE, "payload": "YQ==\n"}, ["/payload"]),
    ("iggy/message", {"offset": 0}, [""] * 6),
    ("iggy/polled-messages", {"messages": []}, [""]),
    (
        "iggy/headers",
        {"k": {"kind": "decimal", "value": "dg=="}, "l": {"kind": "raw", "value": "*"}},
        ["/k/kind", "/l/value"],
    ),
    ("iggy/store-consumer-offset", {"id": 1, "offset": 1}, ["/id"]),
    (
        "iggy/send-messages",
        {"partitioning": {"kind": "random", "value": ""}, "messages": [{"payload": ""}]},
        ["/partitioning/kind"],
    ),
]


@check_each(GOOD)
def test_good_documents_pass(row: tuple[str, JsonValue]) -> None:
    name, value = row
    assert check(name, value) == ()


@check_each(BAD)
def test_bad_documents_fail_where_they_are_bad(row: tuple[str, JsonValue, list[str]]) -> None:
    name, value, pointers = row
    assert [fault.pointer for fault in check(name, value)] == pointers


def test_a_fault_says_what_was_expected() -> None:
    faults = check("nsq/ext-header", {"k": 1})

    assert faults == (SchemaFault("/k", "type 'string'", "1"),)
    assert faults[0].text == "expected type 'string', found 1"


def test_pointers_are_escaped() -> None:
    (fault,) = (f for f in check("nsq/ext-header", {"a/b~": 1}) if f.pointer)

    assert fault.pointer == "/a~1b~0"


@check_each(NAMES)
def test_every_schema_is_a_schema(name: str) -> None:
    from jsonschema import Draft202012Validator

    schema = document(name)
    assert isinstance(schema, Mapping)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:wireproof:{name}"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", ["nsq/none", "none/none", "none", "", "nsq/"])
def test_an_unknown_name_is_a_lookup_error(name: str) -> None:
    with pytest.raises(LookupError):
        check(name, {})


def bounds(field: str) -> tuple[int | None, int | None]:
    schema = document("nsq/identify-request")
    assert isinstance(schema, dict)
    assert isinstance(schema["properties"], dict)
    rules = schema["properties"][field]
    assert isinstance(rules, dict)
    choices = rules.get("anyOf", [rules])
    assert isinstance(choices, list)
    last = choices[-1]
    assert isinstance(last, dict)
    low, high = last.get("minimum"), last.get("maximum")
    assert isinstance(low, int | None)
    assert isinstance(high, int | None)
    return low, high


def test_the_ranges_of_identify_are_the_limits() -> None:
    assert bounds("heartbeat_interval") == (
        limits.MIN_HEARTBEAT_INTERVAL_MS,
        limits.MAX_HEARTBEAT_INTERVAL_MS,
    )
    assert bounds("msg_timeout") == (limits.MIN_MSG_TIMEOUT_MS, limits.MAX_MSG_TIMEOUT_MS)
    assert bounds("output_buffer_size") == (limits.MIN_OUTPUT_BUFFER_SIZE, None)
    assert bounds("output_buffer_timeout") == (1, limits.MAX_OUTPUT_BUFFER_TIMEOUT_MS)
    assert bounds("sample_rate") == (0, limits.MAX_SAMPLE_RATE)


@pytest.mark.process
def test_jsonschema_is_loaded_only_when_used() -> None:
    code = "import sys, wireproof_spec.json_schema; print('jsonschema' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert loaded.stdout.strip() == b"False"


def test_exact_numbers_pass_through() -> None:
    value = read(
        b'{"status":"OK","id":18446744073709551615,"trace_id":"1","queue_offset":0,"rawsize":1e1}'
    ).value

    assert check("nsq/pub-ext-answer", value) == ()
