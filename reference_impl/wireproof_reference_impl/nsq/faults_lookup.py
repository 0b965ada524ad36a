"""Faults of what a lookup server tells of a topic.

Most are wrong only in the older style, or only for consumers: the ways by which a client comes to
the topics it works with stay right, so that what is claimed still shows.
"""

from collections.abc import Callable, Mapping
from typing import cast

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.http_request import Answer, HttpRefusal, Request, compact_json
from wireproof_reference_impl.nsq.http_request import data as answer_with
from wireproof_reference_impl.nsq.lookupd.rules import escaped_error
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    MISSING,
    WRONG_VALUE,
    Preset,
    fault,
)

Data = dict[str, object]
Record = dict[str, object]
Change = Callable[[Data], object]
When = Callable[[Request], bool]

_STRANGER: Record = {
    "id": "127.0.0.1:1",
    "remote_address": "127.0.0.1:1",
    "hostname": "stranger",
    "broadcast_address": "127.0.0.1",
    "tcp_port": 4150,
    "http_port": 4151,
    "version": "0",
    "distributed_id": "127.0.0.1:0:4150:1",
}


def is_lookup(request: Request) -> bool:
    """Tell whether a topic is looked up."""
    return request.path == "/lookup"


def is_old(request: Request) -> bool:
    """Tell whether a topic is looked up in the older style."""
    return is_lookup(request) and not request.v1


def is_unmeant(request: Request) -> bool:
    """Tell whether a topic is looked up without metainfo."""
    return is_lookup(request) and not request.text("metainfo")


def is_for_reading(request: Request) -> bool:
    """Tell whether a topic is looked up for reading."""
    return is_lookup(request) and request.text("access") == "r"


def telling(change: Change, when: When) -> Settings:
    """Return settings under which the data of some answers are changed."""
    return {"lookup.answer": changing(change, when)}


def changing(change: Change, when: When) -> Callable[[Request, object], object]:
    """Return the rule that changes the data of some answers."""

    def rule(request: Request, data: object) -> object:
        return change(dict(cast(Data, data))) if when(request) else data

    return rule


def refuse(data: Data) -> object:
    """Refuse to answer.

    Raises:
        HttpRefusal: always.
    """
    raise HttpRefusal(400, "INVALID_ARG")


def _without(name: str) -> Change:
    return lambda data: {key: value for key, value in data.items() if key != name}


def _renamed(name: str, other: str) -> Change:
    return lambda data: {other if key == name else key: value for key, value in data.items()}


def partitions(data: Data) -> dict[str, Record]:
    """Return the partitions an answer lists."""
    return cast(dict[str, Record], data.get("partitions") or {})


def _producers(data: Data) -> list[Record]:
    return cast(list[Record], data.get("producers") or [])


def _channels(data: Data) -> list[str]:
    return cast(list[str], data["channels"])


def each_record(change: Callable[[Record], Record]) -> Change:
    """Return the change of every node record; lists that are null stay so."""

    def changed(data: Data) -> object:
        if data["partitions"] is None:
            return data
        led = {number: change(node) for number, node in partitions(data).items()}
        return {**data, "partitions": led, "producers": [change(n) for n in _producers(data)]}

    return changed


def _only_partitions(change: Callable[[dict[str, Record]], Mapping[str, Record]]) -> Change:
    return lambda data: {**data, "partitions": data["partitions"] and change(partitions(data))}


def _only_producers(change: Callable[[list[Record]], list[Record]]) -> Change:
    return lambda data: {**data, "producers": data["producers"] and change(_producers(data))}


def exchanged(data: Data) -> object:
    """Give every partition the node of another."""
    led = partitions(data)
    if not led:
        return data
    nodes = list(led.values())
    return {**data, "partitions": dict(zip(led, nodes[1:] + nodes[:1], strict=True))}


def _enveloped(change: Change) -> Settings:
    """Return settings under which the envelope of old is another one."""

    def sent(request: Request, answer: Answer) -> Answer:
        if request.v1 or not is_lookup(request):
            return answer
        right = _parsed(answer)
        return Answer(answer.status, compact_json(change(right)), answer.headers)

    return {"lookup.sent": sent}


def _parsed(answer: Answer) -> Data:
    import json

    return cast(Data, json.loads(answer.body))


def _stranger_for_unknown(when: When) -> Settings:
    def strange(data: Data) -> object:
        if partitions(data) or _channels(data):
            return data
        return {**data, "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}

    return telling(strange, when)


def _stranger_for_producers(refusal: HttpRefusal, v1: bool) -> Answer:
    if refusal.code != "Key not found" or refusal.status != 404:
        return escaped_error(refusal, v1)
    found = {"channels": [], "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}
    return answer_with(found, v1=v1)


def _dropped(names: str) -> Callable[[Record], Record]:
    gone = names.split()
    return lambda node: {key: value for key, value in node.items() if key not in gone}


_ANSWER = "smart.lookup.answer"
_ENVELOPE = "smart.lookup.envelope"
_CONSUMER = "smart.lookup.consumer"
_CHANNELS = "smart.lookup.channels"
_RECORD = "smart.lookup.node-record"
_PARTITIONS = "smart.lookup.partitions"
_PRODUCERS = "smart.lookup.producers"
_LEADER = "smart.lookup.leader"
_UNKNOWN = "smart.lookup.unknown-topic"
_ACCESS = "smart.lookup.access"

_LOOKERS = (
    f"{_ANSWER} {_ENVELOPE} {_CONSUMER} {_CHANNELS} {_RECORD} {_PARTITIONS} {_PRODUCERS} "
    f"{_LEADER} {_ACCESS} smart.lookup.slaves smart.lookup.metainfo lookup.extend-support "
    "smart.lookup.v1 smart.lookup.no-access smart.lookup.no-channel "
    "smart.lookup.partition-parameter smart.lookup.metainfo-unasked smart.lookup.disabled "
    "smart.lookup.tombstone create.delete"
)
"""Clauses of which some case looks a topic up."""

FAULTS: tuple[Preset, ...] = (
    fault(
        "lookup-without-channels",
        "in the older style the answer has no channels",
        breaks=_ANSWER,
        may_break=_LOOKERS,
        settings=telling(_without("channels"), is_old),
        way=MISSING,
    ),
    fault(
        "lookup-producers-renamed",
        "in the older style producers are called nodes",
        breaks=_ANSWER,
        may_break=_LOOKERS,
        settings=telling(_renamed("producers", "nodes"), is_old),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-partitions-in-a-list",
        "in the older style partitions is a list of nodes",
        breaks=_ANSWER,
        may_break=_LOOKERS,
        settings=telling(
            lambda data: {**data, "partitions": list(partitions(data).values())}, is_old
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-always-bare",
        "the answer is bare whatever was asked for",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1 smart.lookup.error-form smart.lookup.services "
        "smart.lookup.listlookup-form smart.lookup.disabled",
        settings={"lookup.v1": lambda request: True},
        way=MISSING,
    ),
    fault(
        "lookup-envelope-text",
        "status_txt in the envelope is ok in small letters",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1",
        settings=_enveloped(lambda whole: {**whole, "status_txt": "ok"}),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-envelope-code-as-text",
        "status_code in the envelope is a string",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1",
        settings=_enveloped(lambda whole: {**whole, "status_code": "200"}),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-consumer-needs-metainfo",
        "in the older style a consumer that does not ask for metainfo is refused",
        breaks=_CONSUMER,
        may_break=_LOOKERS,
        settings=telling(
            refuse, lambda r: is_old(r) and is_for_reading(r) and not r.text("metainfo")
        ),
        way=CONDITION,
    ),
    fault(
        "lookup-consumer-must-not-ask",
        "in the older style a consumer that asks for metainfo is refused",
        breaks=_CONSUMER,
        may_break=_LOOKERS,
        settings=telling(refuse, lambda r: is_old(r) and is_for_reading(r) and not is_unmeant(r)),
        way=CONDITION,
    ),
    fault(
        "lookup-consumer-gets-nothing",
        "a consumer that does not ask for metainfo is told null for producers",
        breaks=_CONSUMER,
        may_break=_LOOKERS,
        settings=telling(
            lambda data: {**data, "producers": None},
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
        way=MISSING,
    ),
    fault(
        "lookup-channels-for-producers-only",
        "a consumer is told of no channels",
        breaks=_CHANNELS,
        settings=telling(lambda data: {**data, "channels": []}, is_for_reading),
        way=MISSING,
    ),
    fault(
        "lookup-channels-cut",
        "the names of channels are cut to 16 letters",
        breaks=_CHANNELS,
        settings=telling(
            lambda data: {**data, "channels": [name[:16] for name in _channels(data)]}, is_lookup
        ),
        way=BOUNDARY,
    ),
    fault(
        "lookup-channels-upper-case",
        "the names of channels are told in capitals",
        breaks=_CHANNELS,
        settings=telling(
            lambda data: {**data, "channels": [name.upper() for name in _channels(data)]},
            is_lookup,
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-ports-as-text",
        "in the older style ports are strings",
        breaks=_RECORD,
        may_break="smart.lookup.services",
        settings=telling(
            each_record(lambda node: {**node, "tcp_port": str(node["tcp_port"])}), is_old
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-without-ids",
        "in the older style nodes have neither id nor distributed_id",
        breaks=_RECORD,
        settings=telling(each_record(_dropped("id distributed_id")), is_old),
        way=MISSING,
    ),
    fault(
        "lookup-no-http-port-for-consumers",
        "a consumer is told 0 for the HTTP port",
        breaks=_RECORD,
        settings=telling(each_record(lambda node: {**node, "http_port": 0}), is_for_reading),
        way=BOUNDARY,
    ),
    fault(
        "lookup-first-partition-missing",
        "partition 0 is not told of without metainfo",
        breaks=_PARTITIONS,
        may_break=_LOOKERS,
        settings=telling(
            _only_partitions(lambda led: {k: v for k, v in led.items() if k != "0"}), is_unmeant
        ),
        way=BOUNDARY,
    ),
    fault(
        "lookup-partitions-from-one",
        "partitions are numbered from 1 without metainfo",
        breaks=_PARTITIONS,
        may_break=_LOOKERS,
        settings=telling(
            _only_partitions(lambda led: {str(int(k) + 1): v for k, v in led.items()}), is_unmeant
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-partitions-padded",
        "partitions have numbers of two digits without metainfo",
        breaks=_PARTITIONS,
        may_break=_LOOKERS,
        settings=telling(
            _only_partitions(lambda led: {f"{int(k):02}": v for k, v in led.items()}), is_unmeant
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-partitions-of-ordered-topics",
        "of a topic with orderedmulti only partition 0 is told to consumers without metainfo",
        breaks=_PARTITIONS,
        may_break=_LOOKERS,
        settings=telling(
            _only_partitions(lambda led: dict(list(led.items())[:1])),
            lambda r: is_unmeant(r) and is_for_reading(r),
        ),
        way=CONDITION,
    ),
    fault(
        "lookup-producers-first-only",
        "only one producer is told of",
        breaks=_PRODUCERS,
        settings=telling(_only_producers(lambda nodes: nodes[:1]), is_lookup),
        way=MISSING,
    ),
    fault(
        "lookup-producer-for-each-partition",
        "producers has a node once for each partition, and the first one more",
        breaks=_PRODUCERS,
        settings=telling(_only_producers(lambda nodes: nodes + nodes[:1]), is_lookup),
        way=EXTRA,
    ),
    fault(
        "lookup-producers-http",
        "producers have the HTTP port for the TCP port",
        breaks=_PRODUCERS,
        settings=telling(
            _only_producers(
                lambda nodes: [{**node, "tcp_port": node["http_port"]} for node in nodes]
            ),
            is_unmeant,
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-leaders-exchanged",
        "each partition is told with the node of another without metainfo",
        breaks=_LEADER,
        may_break="smart.lookup.slaves",
        settings=telling(exchanged, is_unmeant),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-leader-on-http",
        "a consumer is told the HTTP port for the TCP port",
        breaks=_LEADER,
        may_break=_LOOKERS,
        settings=telling(
            each_record(lambda node: {**node, "tcp_port": node["http_port"]}),
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-leader-elsewhere",
        "a consumer is told an address where no node is",
        breaks=_LEADER,
        may_break=_LOOKERS,
        settings=telling(
            each_record(lambda node: {**node, "broadcast_address": "127.9.9.9"}),
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
        way=WRONG_VALUE,
    ),
    fault(
        "lookup-unknown-topic-read",
        "a consumer is told of a node for a topic that does not exist",
        breaks=_UNKNOWN,
        may_break=_LOOKERS + " create.refused",
        settings=_stranger_for_unknown(is_for_reading),
        way=EXTRA,
    ),
    fault(
        "lookup-unknown-topic-written",
        "a producer is told of a node for a topic that does not exist",
        breaks=_UNKNOWN,
        may_break=_LOOKERS,
        settings={"lookup.error": _stranger_for_producers},
        way=EXTRA,
    ),
    fault(
        "lookup-bad-name-known",
        "a node is told of for a name that no topic may have",
        breaks=_UNKNOWN,
        settings=_stranger_for_unknown(lambda r: is_lookup(r) and " " in r.text("topic")),
        way=CONDITION,
    ),
    fault(
        "lookup-access-overlooked",
        "access=r is taken for access=w",
        breaks=_ACCESS,
        may_break=_LOOKERS + f" {_UNKNOWN} smart.lookup.disabled create.odd create.delete",
        settings={"lookup.access": lambda access: "w"},
        way=MISSING,
    ),
    fault(
        "lookup-access-always-read",
        "access=w is taken for access=r",
        breaks=_ACCESS,
        may_break=_LOOKERS + " smart.cluster.disabled-lookup",
        settings={"lookup.access": lambda access: "r"},
        way=MISSING,
    ),
    fault(
        "lookup-access-one-node",
        "a producer is told of one partition only without metainfo",
        breaks=_ACCESS,
        may_break=_LOOKERS,
        settings=telling(
            _only_partitions(lambda led: dict(list(led.items())[:1])),
            lambda r: is_unmeant(r) and r.text("access") == "w",
        ),
        way=BOUNDARY,
    ),
)
