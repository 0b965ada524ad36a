"""What the kit's nsqlookupd answers to clients: documents as real servers have them."""

import pytest

from wireproof_kit.nsq.clients import lookup_server
from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.script import (
    LOOKUP_1,
    LOOKUP_2,
    NODE_1,
    NODE_2,
    Respond,
    Script,
    Shape,
)
from wireproof_spec import json_schema, strict_json
from wireproof_spec.strict_json import JsonValue

ADDRESSES = {
    name: f"127.0.0.1:{4150 + number}"
    for number, name in enumerate([LOOKUP_1, LOOKUP_2, NODE_1, NODE_2])
}
TWO = {0: NODE_1, 1: NODE_2}
SCHEMAS = {"redesigned": "lookup-partitioned", "original": "lookup-original"}
of_each_form = pytest.mark.parametrize("v1", [True, False], ids=["v1", "envelope"])
of_each_shape = pytest.mark.parametrize("shape", SCHEMAS)


def ask(path: str, script: Script, *, v1: bool, meta: str = "true") -> dict[str, JsonValue]:
    """Return the document that a lookup server of the kit answers with."""
    data = lookup_server.answer(
        Requested(0.0, LOOKUP_1, "GET", path, {"metainfo": (meta,)}, {}),
        Respond(v1=v1),
        script=script,
        leaders=script.leaders,
        addresses=ADDRESSES,
    )
    value = strict_json.read(data.partition(b"\r\n\r\n")[2]).value
    assert isinstance(value, dict)
    return value


def faults(name: str, value: JsonValue, *, v1: bool) -> object:
    return json_schema.check(f"nsq/{name}{'' if v1 else '-wrapped'}", value)


@of_each_form
@of_each_shape
@pytest.mark.parametrize("unknown", [False, True], ids=["as-known", "with-more"])
def test_a_lookup_answer_keeps_to_its_schema(shape: Shape, *, v1: bool, unknown: bool) -> None:
    script = Script("consumer", leaders=TWO, shape=shape, unknown=unknown)
    value = ask("/lookup", script, v1=v1)

    assert not faults("lookup", value, v1=v1)
    assert not faults(SCHEMAS[shape], value, v1=v1)


@of_each_form
def test_a_listlookup_answer_keeps_to_its_schema(*, v1: bool) -> None:
    assert not faults("listlookup", ask("/listlookup", Script("consumer"), v1=v1), v1=v1)


def test_a_node_has_one_address_where_somebody_listens() -> None:
    nodes = ask("/lookup", Script("consumer", leaders=TWO), v1=True)["partitions"]
    assert isinstance(nodes, dict)
    listening = set(ADDRESSES.values())
    for number, name in TWO.items():
        node = nodes[str(number)]
        assert isinstance(node, dict)
        host = node["broadcast_address"]
        assert f"{host}:{node['tcp_port']}" == ADDRESSES[name]
        others = node["id"], node["remote_address"], f"{host}:{node['http_port']}"
        assert not listening.intersection(map(str, others))
    assert len({str(node) for node in nodes.values()}) == len(TWO)


@pytest.mark.parametrize(("shape", "count"), [("redesigned", 3), ("original", 1)])
def test_each_node_and_the_meta_have_one_more_member_if_the_script_says_so(
    shape: Shape, count: int
) -> None:
    known, more = (
        str(ask("/lookup", Script("consumer", shape=shape, unknown=unknown), v1=True))
        for unknown in (False, True)
    )
    assert (known.count("'wireproof_unknown':"), more.count("'wireproof_unknown':")) == (0, count)


@pytest.mark.parametrize(("asked", "told"), [("true", True), ("1", True), ("", False)])
def test_meta_is_told_to_those_who_ask_for_it(asked: str, *, told: bool) -> None:
    answer = ask("/lookup", Script("consumer"), v1=True, meta=asked)

    assert ("meta" in answer) is told
    assert "partitions" in answer
