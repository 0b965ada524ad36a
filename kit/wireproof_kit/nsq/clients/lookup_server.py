"""The answers of the kit's nsqlookupd: both forms of each service, in both envelopes."""

import json
from collections.abc import Mapping

from wireproof_kit.nsq.clients.events import Requested
from wireproof_kit.nsq.clients.script import NODE_1, NODE_2, Respond, Script
from wireproof_spec.nsq import names
from wireproof_spec.strict_json import JsonValue

LISTLOOKUP, LOOKUP = "/listlookup", "/lookup"
VERSION = "0.3.7-HA.1.9"
_REGISTERED_FROM = {NODE_1: "127.0.0.1:1", NODE_2: "127.0.0.1:2"}
"""The address that each node registered from: nobody listens there."""
_UNKNOWN: Mapping[str, JsonValue] = {"wireproof_unknown": {"numbers": [1, None], "text": "x"}}
_REASONS = {200: "OK", 404: "Not Found", 500: "Internal Server Error"}


def answer(
    request: Requested,
    respond: Respond,
    *,
    script: Script,
    leaders: Mapping[int, str],
    addresses: Mapping[str, str],
) -> bytes:
    """Return the HTTP response of a lookup server that the kit plays, head and body.

    ``respond`` is the script's step for the request.
    """
    asked_v1 = names.V1_ACCEPT in request.headers.get("accept", "")
    v1 = next((each for each in (respond.v1, script.v1) if each is not None), asked_v1)
    if request.path == LISTLOOKUP:
        value = _listlookup(script, addresses)
    elif request.path == LOOKUP:
        # Real servers take any value of metainfo that is not empty for a yes.
        meta = bool(request.value("metainfo"))
        value = _lookup(script, leaders, addresses, meta=meta)
    else:
        return response(404, _wrap(None, v1=v1, status=404), v1=v1)
    body = respond.body
    if body is None:
        body = _wrap(value, v1=v1, status=respond.status)
    return response(respond.status, body, v1=v1)


def response(status: int, body: bytes, *, v1: bool) -> bytes:
    """Return an HTTP response; with ``v1``, a header says that the body has no envelope."""
    head = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}",
        "Content-Type: application/json; charset=utf-8",
        *([f"{names.NSQ_CONTENT_TYPE}: {names.V1_CONTENT_TYPE}"] if v1 else []),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def _wrap(value: JsonValue, *, v1: bool, status: int) -> bytes:
    text = _REASONS.get(status, "").upper().replace(" ", "_")
    if status != 200:
        value = {"message": text} if v1 else None
    if not v1:
        value = {"status_code": status, "status_txt": text, "data": value}
    return json.dumps(value).encode()


def _listlookup(script: Script, addresses: Mapping[str, str]) -> JsonValue:
    nodes: list[JsonValue] = [_lookup_node(addresses[name]) for name in script.listed]
    return {"lookupdleader": nodes[0] if nodes else {}, "lookupdnodes": nodes}


def _lookup_node(address: str) -> JsonValue:
    host, _, port = address.partition(":")
    # Three ports, and each another number: a client that takes the wrong one is seen.
    return {
        "ID": f"{host}:1:2:nsqlookup",
        "NodeIP": host,
        "TcpPort": "2",
        "HttpPort": port,
        "RpcPort": "1",
        "Epoch": 0,
    }


def _lookup(
    script: Script, leaders: Mapping[int, str], addresses: Mapping[str, str], *, meta: bool
) -> JsonValue:
    nodes = {name: _node(name, addresses[name], script) for name in leaders.values()}
    answer: dict[str, JsonValue] = {"channels": ["c"], "producers": list(nodes.values())}
    if script.shape == "redesigned":
        answer["partitions"] = {str(number): nodes[name] for number, name in leaders.items()}
        if meta:
            answer["meta"] = _meta(script)
    return answer


def _meta(script: Script) -> JsonValue:
    return {
        "partition_num": script.partition_num or len(script.leaders),
        "replica": 1,
        "extend_support": script.extend,
        "ordered": script.ordered,
        **(_UNKNOWN if script.unknown else {}),
    }


def _node(name: str, address: str, script: Script) -> JsonValue:
    host, _, port = address.partition(":")
    is_alike = script.names_alike and not script.is_about_address
    node: dict[str, JsonValue] = {
        # Not where the node listens: what a client must connect to is the broadcast address.
        "remote_address": address if is_alike else _REGISTERED_FROM[name],
        "hostname": host if is_alike else "wireproof",
        "broadcast_address": host,
        "tcp_port": int(port),
        "http_port": int(port) if is_alike else 1,
        "version": VERSION,
        **(_UNKNOWN if script.unknown else {}),
    }
    if script.shape == "redesigned":
        # As in the text and at real servers, the id is where the node registered from.
        node["id"] = node["remote_address"]
        node["distributed_id"] = f"{host}:3:{port}:{list(_REGISTERED_FROM).index(name) + 1}"
    return node
