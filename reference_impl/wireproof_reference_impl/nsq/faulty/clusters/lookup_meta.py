"""Faults of a topic's metadata, of the list of lookup servers, and of slave servers."""

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.lookup_changes import (
    Data,
    When,
    change_some,
    exchange_nodes,
    is_for_reading,
    is_for_writing,
    is_lookup,
    is_old,
    lookup_nodes,
    make_change,
    refuse,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.api import Question
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.strict_json import members_of

Meta = dict[str, object]


def _meta(change: Callable[[Meta], Meta], when: When) -> Settings:
    """Return settings that change the metadata in some answers."""

    def change_data(data: Data) -> object:
        meta = data.get("meta")
        return {**data, "meta": change(dict(members_of(meta)))} if meta else data

    return change_some(change_data, when)


def _of_ext(change: Callable[[Meta], Meta]) -> Callable[[Meta], Meta]:
    return lambda meta: change(meta) if meta.get("extend_support") else meta


def _count(meta: Meta) -> int:
    return int(str(meta["partition_num"]))


def _no_meta(data: Data) -> object:
    return {key: value for key, value in data.items() if key != "meta"}


def _without(meta: Meta, name: str) -> Meta:
    return {key: value for key, value in meta.items() if key != name}


def _is_list(request: Request) -> bool:
    return request.path == "/listlookup"


def _as_slave(change: Callable[[Data], object], when: When = is_lookup) -> tuple[Override, ...]:
    """Return overrides that change some answers of a slave."""
    rule = make_change(change, when)

    def find(
        original: Original, question: Question, server: LookupServer, request: Request
    ) -> object:
        answer = original(question, server, request)
        return answer if answer is None or server.leads else rule(request, answer)

    return (around(api, "find", find),)


@missing("smart.lookup.metainfo", partial(change_some, _no_meta))
def lookup_meta_not_for_consumers(r: Request) -> bool:
    """Lookup answers to consumers in the older style have no meta."""
    return is_old(r) and is_for_reading(r)


@boundary("smart.lookup.metainfo", partial(_meta, when=is_lookup))
def lookup_meta_one_less(meta: Meta) -> Meta:
    """partition_num in the meta of lookup answers is one too low."""
    return {**meta, "partition_num": _count(meta) - 1}


@wrong_value("smart.lookup.metainfo create.parameters", partial(_meta, when=is_lookup))
def lookup_meta_replica_always_one(meta: Meta) -> Meta:
    """Replica in the meta of lookup answers is 1 for every topic."""
    return {**meta, "replica": 1}


@condition("smart.lookup.metainfo", partial(_meta, when=is_lookup))
def lookup_meta_not_of_ordered_topics(meta: Meta) -> Meta:
    """The meta of an ordered topic has no partition_num in lookup answers."""
    return _without(meta, "partition_num") if meta.get("ordered") else meta


@wrong_value("lookup.meta-fields")
def lookup_ext_meta_as_text() -> Change:
    """partition_num in the meta of an ext topic is a string in lookup answers."""
    return _meta(
        _of_ext(lambda meta: {**meta, "partition_num": str(_count(meta))}), is_for_reading
    )


@missing("lookup.meta-fields")
def lookup_ext_meta_without_replica() -> Change:
    """The meta of an ext topic has no replica in lookup answers."""
    return _meta(_of_ext(lambda meta: _without(meta, "replica")), is_lookup)


@boundary("lookup.meta-fields")
def lookup_ext_meta_one_more() -> Change:
    """partition_num in the meta of an ext topic is one too high in lookup answers."""
    return _meta(_of_ext(lambda meta: {**meta, "partition_num": _count(meta) + 1}), is_for_reading)


@missing("lookup.extend-support", partial(_meta, when=is_old))
def lookup_extend_support_missing(meta: Meta) -> Meta:
    """The meta of lookup answers in the older style has no extend_support."""
    return _without(meta, "extend_support")


@wrong_value("lookup.extend-support create.extend", partial(_meta, when=is_for_reading))
def lookup_extend_support_as_text(meta: Meta) -> Meta:
    """extend_support is a string in lookup answers to consumers."""
    return {**meta, "extend_support": str(meta["extend_support"]).lower()}


@condition("lookup.extend-support", partial(_meta, when=is_old))
def lookup_extend_support_everywhere(meta: Meta) -> Meta:
    """extend_support is true for every topic in lookup answers in the older style."""
    return {**meta, "extend_support": True}


@missing("smart.lookup.listlookup", partial(change_some, when=_is_list))
def listlookup_master_only(data: Data) -> object:
    """Listlookup lists only the master lookup server."""
    return {**data, "lookupdnodes": lookup_nodes(data)[:1]}


@boundary("smart.lookup.listlookup")
def listlookup_last_left_out() -> Change:
    """Listlookup in the older style omits the last lookup server."""
    return change_some(
        lambda data: {**data, "lookupdnodes": lookup_nodes(data)[:-1]},
        lambda r: _is_list(r) and not r.v1,
    )


@wrong_value("smart.lookup.listlookup", partial(change_some, when=_is_list))
def listlookup_without_http(data: Data) -> object:
    """Listlookup gives the TCP port as the HTTP port."""
    return {
        **data,
        "lookupdnodes": [{**node, "HttpPort": node["TcpPort"]} for node in lookup_nodes(data)],
    }


@condition("smart.lookup.listlookup", partial(_as_slave, when=_is_list))
def listlookup_by_the_master_only(data: Data) -> object:
    """Listlookup at a slave lookup server lists only the master."""
    return {**data, "lookupdnodes": lookup_nodes(data)[:1]}


@missing("smart.lookup.slaves")
def slave_refuses_lookups() -> Change:
    """A slave lookup server refuses every lookup."""
    return _as_slave(refuse)


@condition("smart.lookup.slaves", partial(_as_slave, refuse))
def slave_refuses_producers(r: Request) -> bool:
    """A slave lookup server refuses lookups by producers."""
    return is_lookup(r) and is_for_writing(r)


@missing("smart.lookup.slaves", _as_slave)
def slave_knows_no_node(data: Data) -> object:
    """Lookup answers of a slave server list no node."""
    return {**data, "partitions": {}, "producers": []}


@wrong_value("smart.lookup.slaves smart.lookup.agree")
def slave_disagrees() -> Change:
    """Lookup answers of a slave server list each partition with the node of another partition."""
    return _as_slave(exchange_nodes)


@missing("smart.lookup.slaves")
def slave_without_meta() -> Change:
    """Lookup answers of a slave server have no meta."""
    return _as_slave(_no_meta)


FAULTS = list_faults(__name__)
