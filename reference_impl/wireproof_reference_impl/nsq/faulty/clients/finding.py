"""Faults of the lookup process: who is asked, how, and how the answers are read."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

import json
from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import constant, die
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client import driver
from wireproof_reference_impl.nsq.client.core import lookups, topology
from wireproof_reference_impl.nsq.client.core.effects import Fetched
from wireproof_reference_impl.nsq.client.core.host import Host
from wireproof_reference_impl.nsq.client.core.lookups import READ, WRITE, Lookups
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.lookup_changes import lookup_nodes
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.strict_json import is_object, members_of

_configured: list[str] = []
"""The node that the kit names for clients without lookup servers."""


def _target(change: Callable[[str], str], *, only: str = "") -> Override:
    def call(original: Original, topic: str, access: str) -> object:
        target = str(original(topic, access))
        return change(target) if only in ("", access) else target

    return around(lookups, "lookup_target", call)


def _accept(value: str) -> Override:
    def call(original: Original, self: Host, *args: object, **named: object) -> object:
        return original(self, *args, **{**named, "accept": value})

    return around(Host, "fetch", call)


def _remember_node(original: Original, told: Mapping[str, object]) -> object:
    _configured[:] = [str(told.get("nsqd"))]
    return original(told)


class _Nobody:
    """Owns a connection and uses it for nothing."""

    def connected(self, local: str) -> None:
        """Do nothing."""

    def received(self, data: bytes) -> None:
        """Do nothing."""

    def lost(self, reason: str) -> None:
        """Do nothing."""


def _node_first(*accesses: str) -> Override:
    """Connect to the node of the configuration, and look up a moment later."""

    def call(original: Original, self: Lookups) -> None:
        if self._access not in accesses:
            original(self)
            return
        self._host.connect(lookups.split_address(_configured[0]), _Nobody(), within_s=1.0)

        def begin() -> None:
            original(self)

        self._host.after(0.2, begin)

    return around(Lookups, "start", call)


_REMEMBER = around(driver, "_settings", _remember_node)


def _list_or_nothing(*statuses: int | None) -> Override:
    """End the round when listlookup fails with one of these; None is no answer."""

    def call(
        original: Original,
        self: Host,
        address: object,
        target: str,
        take: Callable[[Fetched | None], None],
        **named: object,
    ) -> None:
        def take_listed(answer: Fetched | None) -> None:
            status = None if answer is None else answer.status
            if target != "/listlookup" or status not in statuses:
                take(answer)

        original(self, address, target, take_listed, **named)

    return around(Host, "fetch", call)


def _read(change: Callable[[Topology, bytes], Topology]) -> Override:
    def call(original: Original, body: bytes) -> object:
        read = original(body)
        assert isinstance(read, Topology)
        return change(read, body)

    return around(lookups, "read_lookup", call)


_NODE = {
    *("id", "remote_address", "hostname", "broadcast_address", "tcp_port", "http_port"),
    *("version", "distributed_id"),
}


@extra("client.lookup-only", also=(_REMEMBER,))
def node_first() -> Change:
    """A client connects to a node of its configuration before it looks up."""
    return _node_first(READ, WRITE)


@condition("client.lookup-only", also=(_REMEMBER,))
def node_first_consumer() -> Change:
    """A consumer connects to a node of its configuration before it looks up."""
    return _node_first(READ)


@wrong_value("client-lookup.topic", _target)
def topic_capital(target: str) -> str:
    """The topic of a lookup is in capital letters."""
    return target.replace("topic=wp", "topic=WP")


@missing("client-lookup.topic", _target)
def topic_unnamed(target: str) -> str:
    """A lookup calls the topic name instead of topic."""
    return target.replace("topic=", "name=")


@wrong_value("client.lookup-access", _target)
def producer_reads(target: str) -> str:
    """A producer looks up with access=r."""
    return target.replace("access=w", "access=r")


@missing("client.lookup-access client.shard-metainfo", partial(_target, only=WRITE))
def no_metainfo(target: str) -> str:
    """A producer looks up without metainfo."""
    return target.replace("&metainfo=true", "")


@wrong_value("client.lookup-access client.shard-metainfo", partial(_target, only=WRITE))
def metainfo_one(target: str) -> str:
    """A producer looks up with metainfo=1."""
    return target.replace("metainfo=true", "metainfo=1")


@wrong_value("client-lookup.accept")
def accept_short() -> Change:
    """The Accept header names version 1, not 1.0."""
    return _accept("application/vnd.nsq; version=1")


@wrong_value("client-lookup.accept")
def accept_no_blank() -> Change:
    """The Accept header has no blank before version."""
    return _accept("application/vnd.nsq;version=1.0")


@missing(
    "client.listlookup-first client-lookup.listed-form client-lookup.repeated",
    around(Lookups, "_list"),
)
def no_listlookup(original: Original, self: Lookups, candidates: list[str]) -> None:
    """The lookup servers are never listed."""
    self._look_up()


@condition("client.listlookup-first", around(Lookups, "_list"))
def listlookup_later(original: Original, self: Lookups, candidates: list[str]) -> None:
    """The lookup servers are listed in the second round only."""
    if self._round == 1:
        self._look_up()
    else:
        original(self, candidates)


@condition("client-lookup.repeated", around(Lookups, "_list"))
def listlookup_once(original: Original, self: Lookups, candidates: list[str]) -> None:
    """The lookup servers are listed in the first round only."""
    if self._round == 1:
        original(self, candidates)
    else:
        self._look_up()


@missing("client-lookup.listed-form", around(lookups, "known_servers"))
def listed_unused(_: Original, listed: tuple[str, ...], configured: tuple[str, ...]) -> object:
    """Lookup servers that only listlookup names are not asked."""
    return configured


@wrong_value("client-lookup.listed-form", around(lookups, "read_listlookup"))
def listed_at_tcp_port(_: Original, body: bytes) -> tuple[str, ...]:
    """Listed lookup servers are asked at their TcpPort."""
    nodes = lookup_nodes(topology.read_object(body))
    return tuple(f"{node['NodeIP']}:{node['TcpPort']}" for node in nodes)


@missing("client.listlookup-failure")
def listlookup_needed() -> Change:
    """Nobody is asked for the topic when listlookup fails."""
    return _list_or_nothing(404, 500, None)


@condition("client.listlookup-failure")
def listlookup_404() -> Change:
    """Nobody is asked for the topic when listlookup answers 404."""
    return _list_or_nothing(404)


@missing("client-lookup.form", around(topology, "read_object"))
def envelope_unread(original: Original, body: bytes) -> object:
    """Lookup answers in the envelope of old are not read."""
    if b'"status_code"' in body:
        raise topology.BadAnswer("an envelope")
    return original(body)


@missing("client-lookup.form", around(topology, "read_object"), also=(_accept("*/*"),))
def envelope_needed(original: Original, body: bytes) -> object:
    """Only lookup answers in the envelope of old are read."""
    if b'"status_code"' not in body:
        raise topology.BadAnswer("no envelope")
    return original(body)


@missing("client.lookup-shapes client.original", _read)
def original_unread(read: Topology, body: bytes) -> Topology:
    """Answers of the original nsqlookupd are not read."""
    return replace(read, originals=())


@condition("client.lookup-shapes client.original", _read)
def original_only_enveloped(read: Topology, body: bytes) -> Topology:
    """Answers of the original nsqlookupd are read in the envelope only."""
    return read if b'"status_code"' in body else replace(read, originals=())


@extra("client.original", _read)
def original_numbered(read: Topology, body: bytes) -> Topology:
    """Commands to an original nsqd name partition 0."""
    return replace(read, leaders={0: read.originals[0]}) if read.originals else read


@condition("client-lookup.unknown", around(topology, "_address"))
def node_with_more_unread(original: Original, node: object) -> object:
    """A node with a member that the client does not know is not used."""
    return original(node) if isinstance(node, dict) and node.keys() <= _NODE else None


@wrong_value("client.address", around(topology, "_address"))
def at_remote_address(original: Original, node: object) -> object:
    """A client connects to remote_address, from which a node registered."""
    host, _, port = str(members_of(node).get("remote_address")).partition(":")
    return original({"broadcast_address": host, "tcp_port": int(port)})


@wrong_value("client.address", around(topology, "_address"))
def at_http_port(original: Original, node: object) -> object:
    """A client connects to http_port instead of tcp_port."""
    fields = members_of(node)
    return original({**fields, "tcp_port": fields.get("http_port")})


@condition("client-lookup.unknown", _read)
def meta_with_more_unread(read: Topology, body: bytes) -> Topology:
    """A lookup answer with a member in meta that the client does not know is not used."""
    meta = members_of(topology.read_object(body).get("meta"))
    known = {"partition_num", "replica", "extend_support", "ordered"}
    return read if meta.keys() <= known else Topology()


@extra("client-lookup.nobody", _read)
def dies_without_nodes(read: Topology, body: bytes) -> Topology:
    """The process dies at a lookup answer without nodes."""
    if not read.places:
        die()
    return read


@missing("client-lookup.nobody", around(Lookups, "_done"))
def gives_up_without_nodes(original: Original, self: Lookups, address: str) -> None:
    """Lookups end after a round without nodes."""
    original(self, address)
    if self._pending is None and not self.topology.places:
        self.stop()


@extra("client-robust.lookup", around(lookups, "read_lookup"))
def dies_at_bad_answer(original: Original, body: bytes) -> object:
    """The process dies at a lookup answer that is no JSON object."""
    try:
        return original(body)
    except topology.BadAnswer:
        die()


@extra("client-robust.lookup", around(lookups, "read_lookup"))
def dies_at_deep_answer(original: Original, body: bytes) -> object:
    """The process dies at a lookup answer that is nested very deeply."""
    try:
        json.loads(body)
    except RecursionError:
        die()
    except ValueError:
        pass
    return original(body)


@extra("client-robust.lookup", around(topology, "_address"))
def dies_at_bad_port(original: Original, node: object) -> object:
    """The process dies at a lookup answer with a port that cannot be."""
    port = node.get("tcp_port") if is_object(node) else 1
    if not isinstance(port, int) or port > 65535:
        die()
    return original(node)


@missing("client-lookup.dead")
def asks_dead_server_hot() -> Change:
    """A round in vain is followed by the next one at once."""
    return (
        constant(lookups, "retry_delay", 0.0),
        constant(lookups, "gap", 0.0),
    )


@boundary("client-lookup.dead")
def asks_dead_server_fast() -> Change:
    """A round in vain is followed by the next one after 20 ms."""
    return (
        constant(lookups, "retry_delay", 0.02),
        constant(lookups, "gap", 0.02),
    )


FAULTS = list_faults(__name__)
