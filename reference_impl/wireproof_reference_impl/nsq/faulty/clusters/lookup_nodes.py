"""Faults of the partitions and nodes that a lookup server lists."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.nsq.lookup_changes import (
    LOOKERS,
    Change,
    Data,
    Record,
    change_some,
    channels,
    drop_names,
    each_record,
    exchange_nodes,
    is_for_reading,
    is_lookup,
    is_old,
    is_unmeant,
    only_partitions,
    only_producers,
    producers,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request, plain
from wireproof_reference_impl.overrides import replace_function


def _last_as_first(led: dict[str, Record]) -> dict[str, Record]:
    return {**led, list(led)[-1]: next(iter(led.values()))} if led else led


_RECORD = "smart.lookup.node-record"
_PARTITIONS = "smart.lookup.partitions"
_PRODUCERS = "smart.lookup.producers"
_LEADER = "smart.lookup.leader"
_SERVICES = "smart.lookup.services"
_FORM = "smart.lookup.services-form"
_SERVICE_PATHS = ("/topics", "/channels", "/nodes")


def _are_nodes(request: Request) -> bool:
    return request.path == "/nodes"


def _without_tombstones(data: Data) -> object:
    nodes = [
        {**node, "tombstones": [False for _ in cast(list[bool], node["tombstones"])]}
        for node in producers(data)
    ]
    return {**data, "producers": nodes}


def _leading_everything(data: Data) -> object:
    """Give every node the partitions of all nodes."""
    led: dict[str, set[str]] = {}
    for node in producers(data):
        for topic, numbers in cast(dict[str, list[str]], node["partitions"]).items():
            led.setdefault(topic, set()).update(numbers)
    all_of_them = {topic: sorted(numbers) for topic, numbers in led.items()}
    nodes = [{**node, "partitions": all_of_them} for node in producers(data)]
    return {**data, "producers": nodes}


class _AnyPartition:
    """Lists for one partition all channels reported before for any partition of the topic."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}

    def __call__(self, request: Request, data: object) -> object:
        """Return an answer about channels, with those reported before added."""
        if request.path != "/channels":
            return data
        told = self._told.setdefault(request.text("topic"), [])
        told += [name for name in channels(cast(Data, data)) if name not in told]
        return {"channels": list(told)}


def _cut(value: object) -> object:
    return value[:8] if isinstance(value, str) else value


def _change_lists(change: Callable[[list[object]], list[object]]) -> Change:
    """Return the change of every list of an answer."""

    def change_data(data: Data) -> object:
        return {
            name: change(cast(list[object], value)) if isinstance(value, list) else value
            for name, value in data.items()
        }

    return change_data


def _otherwise(body: bytes, *, v1: bool) -> Answer:
    return plain(b"PONG", v1=v1)


FAULTS: tuple[Preset, ...] = (
    extra(
        "nodes-lead-everything",
        "the list of nodes gives every node the partitions of all nodes",
        breaks=_FORM,
        settings=change_some(_leading_everything, _are_nodes),
    ),
    extra(
        "channels-of-any-partition",
        "the channels of one partition are also listed for all other partitions",
        breaks=_FORM,
        settings={"lookup.answer": _AnyPartition()},
    ),
    missing(
        "topics-never-listed",
        "the list of topics is always empty",
        breaks=_SERVICES,
        may_break=_FORM,
        settings=change_some(
            lambda data: {**data, "topics": []}, lambda request: request.path == "/topics"
        ),
    ),
    missing(
        "channels-never-listed",
        "the list of a topic's channels is always empty",
        breaks=_SERVICES,
        may_break=_FORM,
        settings=change_some(
            lambda data: {**data, "channels": []}, lambda request: request.path == "/channels"
        ),
    ),
    missing(
        "nodes-never-listed",
        "the list of nodes is always empty",
        breaks=_SERVICES,
        may_break=f"{_FORM} smart.lookup.tombstone",
        settings=change_some(lambda data: {**data, "producers": []}, _are_nodes),
    ),
    wrong_value(
        "topics-and-channels-cut",
        "the lists of topics and of channels truncate names to 8 letters",
        breaks=_SERVICES,
        may_break=_FORM,
        settings=change_some(
            _change_lists(lambda names: list(map(_cut, names))),
            lambda request: request.path in _SERVICE_PATHS,
        ),
    ),
    condition(
        "services-for-v1-only",
        "the lists of topics, channels and nodes are empty in the older style",
        breaks=_SERVICES,
        may_break=f"{_FORM} smart.lookup.tombstone",
        settings=change_some(
            _change_lists(lambda values: []), lambda r: r.path in _SERVICE_PATHS and not r.v1
        ),
    ),
    wrong_value(
        "ping-answered-otherwise",
        "GET /ping is answered with another text than OK",
        breaks="smart.lookup.ping",
        overrides=(replace_function(api, "plain", _otherwise),),
    ),
    missing(
        "nodes-without-tombstones",
        "the list of nodes omits their tombstones",
        breaks="smart.lookup.tombstone",
        settings=change_some(_without_tombstones, _are_nodes),
    ),
    wrong_value(
        "lookup-ports-as-text",
        "ports are strings in lookup answers in the older style",
        breaks=_RECORD,
        may_break=f"{_SERVICES} {_FORM}",
        settings=change_some(
            each_record(lambda node: {**node, "tcp_port": str(node["tcp_port"])}), is_old
        ),
    ),
    missing(
        "lookup-without-ids",
        "nodes have neither id nor distributed_id in lookup answers in the older style",
        breaks=_RECORD,
        settings=change_some(each_record(drop_names("id distributed_id")), is_old),
    ),
    boundary(
        "lookup-no-http-port-for-consumers",
        "lookup answers to consumers give 0 as the HTTP port",
        breaks=_RECORD,
        settings=change_some(each_record(lambda node: {**node, "http_port": 0}), is_for_reading),
    ),
    boundary(
        "lookup-first-partition-missing",
        "lookup answers without metainfo omit partition 0",
        breaks=_PARTITIONS,
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: {k: v for k, v in led.items() if k != "0"}), is_unmeant
        ),
    ),
    wrong_value(
        "lookup-partitions-from-one",
        "lookup answers without metainfo number partitions from 1",
        breaks=_PARTITIONS,
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: {str(int(k) + 1): v for k, v in led.items()}), is_unmeant
        ),
    ),
    wrong_value(
        "lookup-partitions-padded",
        "lookup answers without metainfo write partition numbers with two digits",
        breaks=_PARTITIONS,
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: {f"{int(k):02}": v for k, v in led.items()}), is_unmeant
        ),
    ),
    condition(
        "lookup-partitions-of-ordered-topics",
        "lookup answers to consumers without metainfo list only partition 0 of an orderedmulti "
        "topic",
        breaks=_PARTITIONS,
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: dict(list(led.items())[:1])),
            lambda r: is_unmeant(r) and is_for_reading(r),
        ),
    ),
    missing(
        "lookup-producers-first-only",
        "lookup answers list only one producer",
        breaks=_PRODUCERS,
        settings=change_some(only_producers(lambda nodes: nodes[:1]), is_lookup),
    ),
    extra(
        "lookup-producer-for-each-partition",
        "lookup answers list a node in producers once for each partition, and the first node "
        "once more",
        breaks=_PRODUCERS,
        settings=change_some(only_producers(lambda nodes: nodes + nodes[:1]), is_lookup),
    ),
    wrong_value(
        "lookup-producers-http",
        "lookup answers give the HTTP port of producers as their TCP port",
        breaks=_PRODUCERS,
        settings=change_some(
            only_producers(
                lambda nodes: [{**node, "tcp_port": node["http_port"]} for node in nodes]
            ),
            is_unmeant,
        ),
    ),
    wrong_value(
        "lookup-leaders-exchanged",
        "lookup answers without metainfo list each partition with the node of another partition",
        breaks=_LEADER,
        may_break="smart.lookup.slaves smart.lookup.agree",
        settings=change_some(exchange_nodes, is_unmeant),
    ),
    wrong_value(
        "lookup-leader-on-http",
        "lookup answers to consumers give the HTTP port as the TCP port",
        breaks=_LEADER,
        may_break=LOOKERS,
        settings=change_some(
            each_record(lambda node: {**node, "tcp_port": node["http_port"]}),
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
    ),
    wrong_value(
        "lookup-leader-elsewhere",
        "lookup answers to consumers give an address where no node listens",
        breaks=_LEADER,
        may_break=LOOKERS,
        settings=change_some(
            each_record(lambda node: {**node, "broadcast_address": "127.9.9.9"}),
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
    ),
    missing(
        "lookup-leads-nobody",
        "lookup answers to consumers without metainfo list no partition",
        breaks=f"{_LEADER} {_PARTITIONS}",
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: {}), lambda r: is_for_reading(r) and is_unmeant(r)
        ),
    ),
    boundary(
        "lookup-last-led-by-the-first",
        "lookup answers without metainfo list the last partition with the node of the first",
        breaks=_LEADER,
        may_break="smart.lookup.slaves smart.lookup.agree smart.lookup.producers",
        settings=change_some(only_partitions(_last_as_first), is_unmeant),
    ),
)
