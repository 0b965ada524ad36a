"""Faults of the partitions and nodes that a lookup server lists."""

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.lookup_changes import (
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
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request, plain
from wireproof_reference_impl.overrides import replace_function
from wireproof_spec.strict_json import is_array, items_of, members_of

_SERVICE_PATHS = ("/topics", "/channels", "/nodes")


def _are_nodes(request: Request) -> bool:
    return request.path == "/nodes"


def _change_lists(change: Callable[[list[object]], list[object]]) -> Callable[[Data], object]:
    """Return the change of every list of an answer."""

    def change_data(data: Data) -> object:
        return {name: change(value) if is_array(value) else value for name, value in data.items()}

    return change_data


@extra("smart.lookup.services-form", partial(change_some, when=_are_nodes))
def nodes_lead_everything(data: Data) -> object:
    """The list of nodes gives every node the partitions of all nodes."""
    led: dict[str, set[str]] = {}
    for node in producers(data):
        for topic, numbers in members_of(node["partitions"]).items():
            led.setdefault(topic, set()).update(map(str, items_of(numbers)))
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
        names = self._told.setdefault(request.text("topic"), [])
        names += [name for name in channels(members_of(data)) if name not in names]
        return {"channels": list(names)}


@extra("smart.lookup.services-form")
def channels_of_any_partition() -> Change:
    """The channels of one partition are also listed for all other partitions."""
    return {"lookup.answer": _AnyPartition()}


@missing("smart.lookup.services")
def topics_never_listed() -> Change:
    """The list of topics is always empty."""
    return change_some(
        lambda data: {**data, "topics": []}, lambda request: request.path == "/topics"
    )


@missing("smart.lookup.services")
def channels_never_listed() -> Change:
    """The list of a topic's channels is always empty."""
    return change_some(
        lambda data: {**data, "channels": []}, lambda request: request.path == "/channels"
    )


@missing("smart.lookup.services", partial(change_some, when=_are_nodes))
def nodes_never_listed(data: Data) -> object:
    """The list of nodes is always empty."""
    return {**data, "producers": []}


def _cut(value: object) -> object:
    return value[:8] if isinstance(value, str) else value


@wrong_value(
    "smart.lookup.services",
    partial(change_some, _change_lists(lambda names: list(map(_cut, names)))),
)
def topics_and_channels_cut(request: Request) -> bool:
    """The lists of topics and of channels truncate names to 8 letters."""
    return request.path in _SERVICE_PATHS


@condition("smart.lookup.services", partial(change_some, _change_lists(lambda values: [])))
def services_for_v1_only(r: Request) -> bool:
    """The lists of topics, channels and nodes are empty in the older style."""
    return r.path in _SERVICE_PATHS and not r.v1


@wrong_value("smart.lookup.ping", replace_function(api, "plain"))
def ping_answered_otherwise(body: bytes, *, v1: bool) -> Answer:
    """GET /ping is answered with another text than OK."""
    return plain(b"PONG", v1=v1)


@missing("smart.lookup.tombstone", partial(change_some, when=_are_nodes))
def nodes_without_tombstones(data: Data) -> object:
    """The list of nodes omits their tombstones."""
    nodes = [
        {**node, "tombstones": [False for _ in items_of(node["tombstones"])]}
        for node in producers(data)
    ]
    return {**data, "producers": nodes}


@wrong_value("smart.lookup.node-record")
def lookup_ports_as_text() -> Change:
    """Ports are strings in lookup answers in the older style."""
    return change_some(
        each_record(lambda node: {**node, "tcp_port": str(node["tcp_port"])}), is_old
    )


@missing("smart.lookup.node-record")
def lookup_without_ids() -> Change:
    """Nodes have neither id nor distributed_id in lookup answers in the older style."""
    return change_some(each_record(drop_names("id distributed_id")), is_old)


@boundary("smart.lookup.node-record")
def lookup_no_http_port_for_consumers() -> Change:
    """Lookup answers to consumers give 0 as the HTTP port."""
    return change_some(each_record(lambda node: {**node, "http_port": 0}), is_for_reading)


@boundary("smart.lookup.partitions")
def lookup_first_partition_missing() -> Change:
    """Lookup answers without metainfo omit partition 0."""
    return change_some(
        only_partitions(lambda led: {k: v for k, v in led.items() if k != "0"}), is_unmeant
    )


@wrong_value("smart.lookup.partitions")
def lookup_partitions_from_one() -> Change:
    """Lookup answers without metainfo number partitions from 1."""
    return change_some(
        only_partitions(lambda led: {str(int(k) + 1): v for k, v in led.items()}), is_unmeant
    )


@wrong_value("smart.lookup.partitions")
def lookup_partitions_padded() -> Change:
    """Lookup answers without metainfo write partition numbers with two digits."""
    return change_some(
        only_partitions(lambda led: {f"{int(k):02}": v for k, v in led.items()}), is_unmeant
    )


@condition(
    "smart.lookup.partitions",
    partial(change_some, only_partitions(lambda led: dict(list(led.items())[:1]))),
)
def lookup_partitions_of_ordered_topics(r: Request) -> bool:
    """Lookup answers to consumers without metainfo list only partition 0 of an orderedmulti
    topic.
    """
    return is_unmeant(r) and is_for_reading(r)


@missing("smart.lookup.producers")
def lookup_producers_first_only() -> Change:
    """Lookup answers list only one producer."""
    return change_some(only_producers(lambda nodes: nodes[:1]), is_lookup)


@extra("smart.lookup.producers")
def lookup_producer_for_each_partition() -> Change:
    """Lookup answers list a node in producers once for each partition, and the first node once
    more.
    """
    return change_some(only_producers(lambda nodes: nodes + nodes[:1]), is_lookup)


@wrong_value("smart.lookup.producers")
def lookup_producers_http() -> Change:
    """Lookup answers give the HTTP port of producers as their TCP port."""
    return change_some(
        only_producers(lambda nodes: [{**node, "tcp_port": node["http_port"]} for node in nodes]),
        is_unmeant,
    )


@wrong_value("smart.lookup.leader")
def lookup_leaders_exchanged() -> Change:
    """Lookup answers without metainfo list each partition with the node of another partition."""
    return change_some(exchange_nodes, is_unmeant)


@wrong_value(
    "smart.lookup.leader",
    partial(change_some, each_record(lambda node: {**node, "tcp_port": node["http_port"]})),
)
def lookup_leader_on_http(r: Request) -> bool:
    """Lookup answers to consumers give the HTTP port as the TCP port."""
    return is_for_reading(r) and is_unmeant(r)


@wrong_value(
    "smart.lookup.leader",
    partial(change_some, each_record(lambda node: {**node, "broadcast_address": "127.9.9.9"})),
)
def lookup_leader_elsewhere(r: Request) -> bool:
    """Lookup answers to consumers give an address where no node listens."""
    return is_for_reading(r) and is_unmeant(r)


@missing(
    "smart.lookup.leader smart.lookup.partitions",
    partial(change_some, only_partitions(lambda led: {})),
)
def lookup_leads_nobody(r: Request) -> bool:
    """Lookup answers to consumers without metainfo list no partition."""
    return is_for_reading(r) and is_unmeant(r)


def _last_as_first(led: dict[str, Record]) -> dict[str, Record]:
    return {**led, list(led)[-1]: next(iter(led.values()))} if led else led


@boundary("smart.lookup.leader")
def lookup_last_led_by_the_first() -> Change:
    """Lookup answers without metainfo list the last partition with the node of the first."""
    return change_some(only_partitions(_last_as_first), is_unmeant)


FAULTS = list_faults(__name__)
