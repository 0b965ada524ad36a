"""Faults of the lookup process: who is asked, how, and how the answers are read."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import json
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client import driver
from wireproof_reference_impl.nsq.client.core import lookups, topology
from wireproof_reference_impl.nsq.client.core.effects import Fetched
from wireproof_reference_impl.nsq.client.core.host import Host
from wireproof_reference_impl.nsq.client.core.lookups import READ, WRITE, Lookups
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    constant,
    die,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_MERGE = "client.lookup-all"
_LISTED = f"client-lookup.listed {_MERGE}"
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


def _no_list(original: Original, self: Lookups, candidates: list[str]) -> None:
    self._look_up()


def _list_later(original: Original, self: Lookups, candidates: list[str]) -> None:
    if self._round == 1:
        self._look_up()
    else:
        original(self, candidates)


def _list_or_nothing(*statuses: int | None) -> Override:
    """End the round when listlookup fails with one of these; None is no answer."""

    def call(
        original: Original, self: Host, address: object, target: str, take: object, **named: object
    ) -> None:
        def take_listed(answer: Fetched | None) -> None:
            status = None if answer is None else answer.status
            if target != "/listlookup" or status not in statuses:
                take(answer)  # type: ignore[operator]  # what fetch is given

        original(self, address, target, take_listed, **named)

    return around(Host, "fetch", call)


def _wrong_port(body: bytes) -> tuple[str, ...]:
    nodes = topology.read_object(body).get("lookupdnodes")
    assert isinstance(nodes, list)
    return tuple(f"{each['NodeIP']}:{each['TcpPort']}" for each in nodes)


def _keep_envelope(original: Original, body: bytes) -> object:
    if b'"status_code"' in body:
        raise topology.BadAnswer("an envelope")
    return original(body)


def _need_envelope(original: Original, body: bytes) -> object:
    if b'"status_code"' not in body:
        raise topology.BadAnswer("no envelope")
    return original(body)


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


def _strict_nodes(original: Original, node: object) -> object:
    return original(node) if isinstance(node, dict) and node.keys() <= _NODE else None


def _strict_meta(read: Topology, body: bytes) -> Topology:
    meta = topology._members(topology.read_object(body).get("meta"))
    known = {"partition_num", "replica", "extend_support", "ordered"}
    return read if meta.keys() <= known else Topology()


def _no_originals(read: Topology, body: bytes) -> Topology:
    return replace(read, originals=())


def _one_original_if_enveloped(read: Topology, body: bytes) -> Topology:
    return read if b'"status_code"' in body else replace(read, originals=())


def _die_without_nodes(read: Topology, body: bytes) -> Topology:
    if not read.places:
        die()
    return read


def _die_if_bad(original: Original, body: bytes) -> object:
    try:
        return original(body)
    except topology.BadAnswer:
        die()


def _die_if_deep(original: Original, body: bytes) -> object:
    try:
        json.loads(body)
    except RecursionError:
        die()
    except ValueError:
        pass
    return original(body)


def _die_at_port(original: Original, node: object) -> object:
    port = node.get("tcp_port") if isinstance(node, dict) else 1
    if not isinstance(port, int) or port > 65535:
        die()
    return original(node)


def _stop_without_nodes(original: Original, self: Lookups, address: str) -> None:
    original(self, address)
    if self._pending is None and not self.topology.places:
        self.stop()


def _numbered(read: Topology, body: bytes) -> Topology:
    return replace(read, leaders={0: read.originals[0]}) if read.originals else read


FAULTS = (
    extra(
        "node-first",
        "A client connects to a node of its configuration before it looks up.",
        "client.lookup-only",
        _REMEMBER,
        _node_first(READ, WRITE),
        may="client.handshake client-robust.loop client.end client.lookup-leave",
    ),
    condition(
        "node-first-consumer",
        "A consumer connects to a node of its configuration before it looks up.",
        "client.lookup-only",
        _REMEMBER,
        _node_first(READ),
        may="client.end client-robust.loop client.lookup-leave",
    ),
    wrong_value(
        "topic-capital",
        "The topic of a lookup is in capital letters.",
        "client-lookup.topic",
        _target(lambda target: target.replace("topic=wp", "topic=WP")),
    ),
    missing(
        "topic-unnamed",
        "A lookup calls the topic name instead of topic.",
        "client-lookup.topic",
        _target(lambda target: target.replace("topic=", "name=")),
    ),
    wrong_value(
        "producer-reads",
        "A producer looks up with access=r.",
        "client.lookup-access",
        _target(lambda target: target.replace("access=w", "access=r")),
    ),
    missing(
        "no-metainfo",
        "A producer looks up without metainfo.",
        "client.lookup-access client.shard-metainfo",
        _target(lambda target: target.replace("&metainfo=true", ""), only=WRITE),
        # It never learns how many partitions there are.
        may="client.complete client.shard-unavailable client.shard-refresh",
    ),
    wrong_value(
        "metainfo-one",
        "A producer looks up with metainfo=1.",
        "client.lookup-access client.shard-metainfo",
        _target(lambda target: target.replace("metainfo=true", "metainfo=1"), only=WRITE),
    ),
    wrong_value(
        "accept-short",
        "The Accept header names version 1, not 1.0.",
        "client-lookup.accept",
        _accept("application/vnd.nsq; version=1"),
    ),
    wrong_value(
        "accept-no-blank",
        "The Accept header has no blank before version.",
        "client-lookup.accept",
        _accept("application/vnd.nsq;version=1.0"),
    ),
    missing(
        "no-listlookup",
        "The lookup servers are never listed.",
        f"client.listlookup-first {_LISTED}",
        around(Lookups, "_list", _no_list),
    ),
    condition(
        "listlookup-later",
        "The lookup servers are listed in the second round only.",
        "client.listlookup-first",
        around(Lookups, "_list", _list_later),
    ),
    missing(
        "listed-unused",
        "Lookup servers that only listlookup names are not asked.",
        _LISTED,
        around(lookups, "known_servers", lambda _, listed, configured: configured),
    ),
    wrong_value(
        "listed-at-tcp-port",
        "Listed lookup servers are asked at their TcpPort.",
        _LISTED,
        around(lookups, "read_listlookup", lambda _, body: _wrong_port(body)),
    ),
    missing(
        "listlookup-needed",
        "Nobody is asked for the topic when listlookup fails.",
        "client.listlookup-failure",
        _list_or_nothing(404, 500, None),
        may="client.lookup-retry client.lookup-priority client-lookup.dead",
    ),
    condition(
        "listlookup-404",
        "Nobody is asked for the topic when listlookup answers 404.",
        "client.listlookup-failure",
        _list_or_nothing(404),
    ),
    missing(
        "envelope-unread",
        "Lookup answers in the envelope of old are not read.",
        "client-lookup.form",
        around(topology, "read_object", _keep_envelope),
        may=_MERGE,
    ),
    missing(
        "envelope-needed",
        "Only lookup answers in the envelope of old are read.",
        "client-lookup.form",
        around(topology, "read_object", _need_envelope),
        _accept("*/*"),
        may="client-lookup.nobody client-robust.lookup",
    ),
    missing(
        "original-unread",
        "Answers of the original nsqlookupd are not read.",
        "client.lookup-shapes client.original",
        _read(_no_originals),
        may="client-lookup.form",
    ),
    condition(
        "original-only-enveloped",
        "Answers of the original nsqlookupd are read in the envelope only.",
        "client.lookup-shapes client.original",
        _read(_one_original_if_enveloped),
        may="client-lookup.form",
    ),
    extra(
        "original-numbered",
        "Commands to an original nsqd name partition 0.",
        "client.original",
        _read(_numbered),
    ),
    condition(
        "node-with-more-unread",
        "A node with a member that the client does not know is not used.",
        "client-lookup.unknown",
        around(topology, "_address", _strict_nodes),
    ),
    condition(
        "meta-with-more-unread",
        "A lookup answer with a member in meta that the client does not know is not used.",
        "client-lookup.unknown",
        _read(_strict_meta),
    ),
    extra(
        "dies-without-nodes",
        "The process dies at a lookup answer without nodes.",
        "client-lookup.nobody",
        _read(_die_without_nodes),
        may="client-lookup.told client.listlookup-failure client-robust.lookup",
    ),
    missing(
        "gives-up-without-nodes",
        "Lookups end after a round without nodes.",
        "client-lookup.nobody",
        around(Lookups, "_done", _stop_without_nodes),
        may="client.lookup-retry client.listlookup-failure client-robust.lookup",
    ),
    extra(
        "dies-at-bad-answer",
        "The process dies at a lookup answer that is no JSON object.",
        "client-robust.lookup",
        around(lookups, "read_lookup", _die_if_bad),
    ),
    extra(
        "dies-at-deep-answer",
        "The process dies at a lookup answer that is nested very deeply.",
        "client-robust.lookup",
        around(lookups, "read_lookup", _die_if_deep),
    ),
    extra(
        "dies-at-bad-port",
        "The process dies at a lookup answer with a port that cannot be.",
        "client-robust.lookup",
        around(topology, "_address", _die_at_port),
    ),
    missing(
        "asks-dead-server-hot",
        "A round in vain is followed by the next one at once.",
        "client-lookup.dead",
        constant(lookups, "retry_delay", 0.0),
        constant(lookups, "gap", 0.0),
    ),
    boundary(
        "asks-dead-server-fast",
        "A round in vain is followed by the next one after 20 ms.",
        "client-lookup.dead",
        constant(lookups, "retry_delay", 0.02),
        constant(lookups, "gap", 0.02),
    ),
)
