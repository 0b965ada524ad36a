"""Probes of a lookup server. Each docstring lists the words it can return."""

from collections.abc import Mapping

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup.servers import (
    CREATE_PATHS,
    DISABLE_PATH,
    TOMBSTONE_PATH,
    LookupClient,
    ask_lookup,
    creation_query,
)
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.probes.context import Probe, ProbeContext
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpAnswer
from wireproof_kit.observation import Observation, observed


def create_path(bench: ProbeContext) -> Observation:
    """POST to both paths that create topics; return ``creat`` or ``create``, the one that works.

    If neither works, return ``http:STATUS,CODE``.
    """
    seen = observed("http:silence")
    for path, word in ((CREATE_PATHS[1], "creat"), (CREATE_PATHS[0], "create")):
        name = bench.pool.next_name()
        query = creation_query(name, partitions=1, extend=False, ordered=False)
        for server in _lookup(bench).servers:
            answer = server.request("POST", path, query=query, v1=True)
            if answer.status == 200:
                bench.pool.adopt(_create_topic(bench, name))
                return observed(word)
            seen = observe_http(answer)
    return seen


def lookup_extend_meta(bench: ProbeContext) -> Observation:
    """Look up a plain and an ext topic, and compare extend_support in meta.

    ``always``: both have it. ``only-ext``: only the ext topic has it. ``none``: the ext topic
    lacks it.
    """
    meta = [_meta(_ask(bench, kind)) for kind in ("plain_topic", "ext_topic")]
    if "extend_support" not in meta[1]:
        return observed("none")
    return observed("always" if "extend_support" in meta[0] else "only-ext")


def lookup_consumer_meta(bench: ProbeContext) -> Observation:
    """Look up without metainfo, as consumers may: ``tolerant``, or ``http:STATUS,CODE``."""
    topic = bench.topic("plain_topic", "ext_topic")
    answers = [
        ask_lookup(_lookup(bench).servers[0], topic.name, metainfo=metainfo)
        for metainfo in (True, False)
    ]
    if all(answer.status == 200 for answer in answers):
        return observed("tolerant")
    return observe_http(answers[1])


def lookups(bench: ProbeContext) -> Observation:
    """Ping each lookup server: ``ok`` if two or more answer.

    ``one``: only one server is known. ``one-answers``: several are known, but at most one answers.
    """
    servers = _lookup(bench).servers
    if len(servers) == 1:
        return observed("one")
    answering = [server for server in servers if server.request("GET", "/ping").status == 200]
    return observed("ok" if len(answering) > 1 else "one-answers")


def write_disable(bench: ProbeContext) -> Observation:
    """Enable writing on a topic that is enabled: ``ok``, or ``http:STATUS,CODE``."""
    return _observe_done(_lookup(bench).servers[0].request("POST", DISABLE_PATH, v1=True))


def tombstone(bench: ProbeContext) -> Observation:
    """Remove a tombstone that does not exist: ``ok``, or ``http:STATUS,CODE``."""
    topic = bench.topic("plain_topic", "ext_topic")
    host, port = topic.http_address or topic.address
    query = {"topic": topic.name, "node": f"{host}:{port}", "restore": "true"}
    return _observe_done(
        _lookup(bench).servers[0].request("POST", TOMBSTONE_PATH, query=query, v1=True)
    )


def _observe_done(answer: HttpAnswer) -> Observation:
    return observed("ok") if answer.status == 200 else observe_http(answer)


def _ask(bench: ProbeContext, kind: str) -> HttpAnswer:
    topic = bench.topic(kind)
    return ask_lookup(_lookup(bench).servers[0], topic.name)


def _meta(answer: HttpAnswer) -> dict[str, object]:
    data = answer.data
    meta = data.get("meta") if isinstance(data, dict) else None
    return dict(meta) if isinstance(meta, dict) else {}


def _lookup(bench: ProbeContext) -> LookupClient:
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    return bench.lookup


def _create_topic(bench: ProbeContext, name: str) -> Topic:
    return Topic(
        name=name,
        partition=0,
        extend=False,
        ordered=False,
        shared=False,
        address=bench.broker.address,
        way="lookupd",
    )


LOOKUP_CAPABILITY_PROBES: Mapping[str, Probe] = {
    "lookups": lookups,
    "write-disable": write_disable,
    "tombstone": tombstone,
}
