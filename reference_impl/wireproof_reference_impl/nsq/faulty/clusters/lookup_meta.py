"""Faults of a topic's metadata, of the list of lookup servers, and of slave servers."""

from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.lookup_changes import (
    Data,
    When,
    change_some,
    exchange_nodes,
    is_for_reading,
    is_for_writing,
    is_lookup,
    is_old,
    make_change,
    refuse,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.api import Question
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.overrides import Original, Override, around

Meta = dict[str, object]


def _meta(change: Callable[[Meta], Meta], when: When) -> Settings:
    """Return settings that change the metadata in some answers."""

    def change_data(data: Data) -> object:
        meta = data.get("meta")
        return {**data, "meta": change(dict(cast(Meta, meta)))} if meta else data

    return change_some(change_data, when)


def _of_ext(change: Callable[[Meta], Meta]) -> Callable[[Meta], Meta]:
    return lambda meta: change(meta) if meta.get("extend_support") else meta


def _count(meta: Meta) -> int:
    return int(cast(int, meta["partition_num"]))


def _no_meta(data: Data) -> object:
    return {key: value for key, value in data.items() if key != "meta"}


def _without(meta: Meta, name: str) -> Meta:
    return {key: value for key, value in meta.items() if key != name}


def _is_list(request: Request) -> bool:
    return request.path == "/listlookup"


def _nodes(data: Data) -> list[Meta]:
    return cast(list[Meta], data["lookupdnodes"])


def _as_slave(change: Callable[[Data], object], when: When = is_lookup) -> tuple[Override, ...]:
    """Return overrides that change some answers of a slave."""
    rule = make_change(change, when)

    def find(
        original: Original, question: Question, server: LookupServer, request: Request
    ) -> object:
        found = original(question, server, request)
        return found if found is None or server.leads else rule(request, found)

    return (around(api, "find", find),)


_META = "smart.lookup.metainfo"
_LIST = "smart.lookup.listlookup"
_SLAVES = "smart.lookup.slaves"
_AGREE = "smart.lookup.agree"
_EXTEND = "lookup.extend-support"
_FIELDS = "lookup.meta-fields"
_TOLD = (
    f"{_META} {_FIELDS} smart.lookup.slaves smart.lookup.metainfo-unasked smart.lookup.disabled "
    "create.parameters create.odd create.delete create.delete-odd"
)
"""Clauses of which some case compares the numbers in meta."""
_FORM = "smart.lookup.listlookup-form create.slave"

FAULTS: tuple[Preset, ...] = (
    missing(
        "lookup-meta-not-for-consumers",
        "lookup answers to consumers in the older style have no meta",
        breaks=_META,
        may_break=f"{_TOLD} {_EXTEND}",
        settings=change_some(_no_meta, lambda r: is_old(r) and is_for_reading(r)),
    ),
    boundary(
        "lookup-meta-one-less",
        "partition_num in the meta of lookup answers is one too low",
        breaks=_META,
        may_break=_TOLD,
        settings=_meta(lambda meta: {**meta, "partition_num": _count(meta) - 1}, is_lookup),
    ),
    wrong_value(
        "lookup-meta-replica-always-one",
        "replica in the meta of lookup answers is 1 for every topic",
        breaks=f"{_META} create.parameters",
        may_break=f"{_TOLD} create.update",
        settings=_meta(lambda meta: {**meta, "replica": 1}, is_lookup),
    ),
    condition(
        "lookup-meta-not-of-ordered-topics",
        "the meta of an ordered topic has no partition_num in lookup answers",
        breaks=_META,
        may_break=_TOLD,
        settings=_meta(
            lambda meta: _without(meta, "partition_num") if meta.get("ordered") else meta,
            is_lookup,
        ),
    ),
    wrong_value(
        "lookup-ext-meta-as-text",
        "partition_num in the meta of an ext topic is a string in lookup answers",
        breaks=_FIELDS,
        may_break=_TOLD,
        settings=_meta(
            _of_ext(lambda meta: {**meta, "partition_num": str(_count(meta))}), is_for_reading
        ),
    ),
    missing(
        "lookup-ext-meta-without-replica",
        "the meta of an ext topic has no replica in lookup answers",
        breaks=_FIELDS,
        may_break=_TOLD,
        settings=_meta(_of_ext(lambda meta: _without(meta, "replica")), is_lookup),
    ),
    boundary(
        "lookup-ext-meta-one-more",
        "partition_num in the meta of an ext topic is one too high in lookup answers",
        breaks=_FIELDS,
        may_break=_TOLD,
        settings=_meta(
            _of_ext(lambda meta: {**meta, "partition_num": _count(meta) + 1}), is_for_reading
        ),
    ),
    missing(
        "lookup-extend-support-missing",
        "the meta of lookup answers in the older style has no extend_support",
        breaks=_EXTEND,
        settings=_meta(lambda meta: _without(meta, "extend_support"), is_old),
    ),
    wrong_value(
        "lookup-extend-support-as-text",
        "extend_support is a string in lookup answers to consumers",
        breaks=f"{_EXTEND} create.extend",
        may_break="create.parameters create.odd create.update",
        settings=_meta(
            lambda meta: {**meta, "extend_support": str(meta["extend_support"]).lower()},
            is_for_reading,
        ),
    ),
    condition(
        "lookup-extend-support-everywhere",
        "extend_support is true for every topic in lookup answers in the older style",
        breaks=_EXTEND,
        settings=_meta(lambda meta: {**meta, "extend_support": True}, is_old),
    ),
    missing(
        "listlookup-master-only",
        "listlookup lists only the master lookup server",
        breaks=_LIST,
        may_break=_FORM,
        settings=change_some(lambda data: {**data, "lookupdnodes": _nodes(data)[:1]}, _is_list),
    ),
    boundary(
        "listlookup-last-left-out",
        "listlookup in the older style omits the last lookup server",
        breaks=_LIST,
        may_break=_FORM,
        settings=change_some(
            lambda data: {**data, "lookupdnodes": _nodes(data)[:-1]},
            lambda r: _is_list(r) and not r.v1,
        ),
    ),
    wrong_value(
        "listlookup-without-http",
        "listlookup gives the TCP port as the HTTP port",
        breaks=_LIST,
        may_break=_FORM,
        settings=change_some(
            lambda data: {
                **data,
                "lookupdnodes": [{**node, "HttpPort": node["TcpPort"]} for node in _nodes(data)],
            },
            _is_list,
        ),
    ),
    condition(
        "listlookup-by-the-master-only",
        "listlookup at a slave lookup server lists only the master",
        breaks=_LIST,
        may_break=_FORM,
        overrides=_as_slave(lambda data: {**data, "lookupdnodes": _nodes(data)[:1]}, _is_list),
    ),
    missing(
        "slave-refuses-lookups",
        "a slave lookup server refuses every lookup",
        breaks=_SLAVES,
        may_break=f"{_AGREE} smart.lookup.access smart.lookup.disabled",
        overrides=_as_slave(refuse),
    ),
    condition(
        "slave-refuses-producers",
        "a slave lookup server refuses lookups by producers",
        breaks=_SLAVES,
        may_break=f"{_AGREE} smart.lookup.access smart.lookup.disabled",
        overrides=_as_slave(refuse, lambda r: is_lookup(r) and is_for_writing(r)),
    ),
    missing(
        "slave-knows-no-node",
        "lookup answers of a slave server list no node",
        breaks=_SLAVES,
        may_break=f"{_AGREE} smart.lookup.access smart.lookup.disabled",
        overrides=_as_slave(lambda data: {**data, "partitions": {}, "producers": []}),
    ),
    wrong_value(
        "slave-disagrees",
        "lookup answers of a slave server list each partition with the node of another partition",
        breaks=f"{_SLAVES} {_AGREE}",
        overrides=_as_slave(exchange_nodes),
    ),
    missing(
        "slave-without-meta",
        "lookup answers of a slave server have no meta",
        breaks=_SLAVES,
        overrides=_as_slave(_no_meta),
    ),
)
