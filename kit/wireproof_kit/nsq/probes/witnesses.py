"""Further witnesses of capabilities: other commands that show the same capability.

A capability is absent only if no witness shows it. A witness returns a word that shows the
capability, or the word of the answer.
"""

from collections.abc import Mapping

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup.servers import ask_lookup
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.probes import capability, delivery
from wireproof_kit.nsq.probes.context import Probe, ProbeContext
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.http import HttpAnswer, Query
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq import names

SHOWN = observed("ok")


def ext_subscription(bench: ProbeContext) -> Observation:
    """Consume a PUB message from an ext topic: ``ok`` if it has an ext part, or ``no-ext-part``.

    That the subscription is accepted shows nothing: nsqio nsqd ignores extend_support.
    """
    seen = delivery.no_ext_layout(bench)
    return SHOWN if seen.value in ("version-alone", "version-and-length") else seen


def ext_http(bench: ProbeContext) -> Observation:
    """POST /pub_ext: ``ok``, or ``http:STATUS,CODE``."""
    return _post(bench, "ext_topic", "/pub_ext", {"ext": '{"k":"v"}'})


def ext_meta(bench: ProbeContext) -> Observation:
    """Look up an ext topic: ``ok`` if extend_support is in its meta."""
    return _meta(bench, "ext_topic", names.EXTEND_SUPPORT, True)


def trace_header(bench: ProbeContext) -> Observation:
    """Publish with ##trace_id in the header; return the answer, such as ``trace``."""
    topic = bench.topic("ext_topic")
    header = {names.TRACE_ID: str(capability.TRACE_ID)}
    with bench.broker.connect(topic=topic) as client:
        answer = client.ask(frames.pub_ext(topic, header, bench.broker.unique_body()))
        return observe(answer, trace_id=capability.TRACE_ID)


def trace_again(bench: ProbeContext) -> Observation:
    """Publish with another trace id to another topic; return the answer, such as ``trace``."""
    topic = bench.topic("fresh_ext_topic", "plain_topic")
    with bench.broker.connect(topic=topic) as client:
        return observe(client.ask(frames.pub_trace(topic, 7, b"witness")), trace_id=7)


def order_refusal(bench: ProbeContext) -> Observation:
    """Subscribe to an ordered topic with SUB: ``ok`` if the refusal is E_SUB_ORDER_IS_MUST."""
    topic = bench.topic("fresh_ordered_topic")
    seen = bench.ask(topic, frames.subscribe(topic, topic.channel()))
    return SHOWN if seen.value.startswith("error:E_SUB_ORDER_IS_MUST") else seen


def http_ext(bench: ProbeContext) -> Observation:
    """POST /pub_ext if POST /pub was not answered: ``ok``, or ``http:STATUS,CODE``."""
    return ext_http(bench)


def http_ping(bench: ProbeContext) -> Observation:
    """GET /ping: ``ok``, or ``http:STATUS,CODE``."""
    return _ok(bench.broker.http.request("GET", "/ping"))


def upgrade_meta(bench: ProbeContext) -> Observation:
    """Look up an upgraded topic: ``ok`` if extend_support is in its meta."""
    return _meta(bench, "upgradable_topic", names.EXTEND_SUPPORT, True)


def lookup_nodes(bench: ProbeContext) -> Observation:
    """GET /nodes: ``ok`` if a lookup server lists nodes."""
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    return SHOWN if bench.lookup.nodes() else observed("none")


def lookup_list(bench: ProbeContext) -> Observation:
    """GET /listlookup: ``ok``, or ``http:STATUS,CODE``."""
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    return _ok(bench.lookup.servers[0].request("GET", "/listlookup", v1=True))


def partition_subscriptions(bench: ProbeContext) -> Observation:
    """Subscribe to both partitions, and to one that does not exist: ``ok`` if only that fails."""
    topic = bench.topic("partitioned_topic")
    for place in topic.places:
        here = topic.at(place.partition)
        seen = bench.ask(here, frames.subscribe(here, here.channel()))
        if not seen.value.startswith("ok"):
            return seen
    absent = frames.subscribe(topic, topic.channel(), partition=capability.ABSENT_PARTITION)
    ignored = bench.ask(topic, absent).value.startswith("ok")
    return observed("ignored") if ignored else SHOWN


def replica_meta(bench: ProbeContext) -> Observation:
    """Look up a topic created with two replicas: ``ok`` if its meta has this number."""
    return _meta(bench, "replicated_topic", "replica", 2)


def batch_ext(bench: ProbeContext) -> Observation:
    """Publish two messages with MPUB to an ext topic: ``ok``, or such as ``error:CODE``."""
    topic = bench.topic("fresh_ext_topic", "ext_topic")
    with bench.broker.connect(topic=topic) as client:
        return observe(client.ask(frames.mpub(topic, [b"one", b"two"])))


def touch_ext(bench: ProbeContext) -> Observation:
    """TOUCH a message of an ext topic: ``open``, ``error:CODE`` or ``closed``."""
    return capability.touch_on(bench, bench.topic("ext_topic"))


def _post(bench: ProbeContext, kind: str, path: str, query: Query) -> Observation:
    topic = bench.topic(kind)
    whole = {"topic": topic.name, "partition": topic.partition, **query}
    client = bench.broker.http.at(topic.http_address)
    return _ok(client.request("POST", path, query=whole, body=bench.broker.unique_body()))


def _meta(bench: ProbeContext, kind: str, field: str, due: object) -> Observation:
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    answer = ask_lookup(bench.lookup.servers[0], bench.topic(kind).name)
    meta = answer.data.get("meta") if isinstance(answer.data, dict) else None
    found = meta.get(field) if isinstance(meta, dict) else None
    return SHOWN if found == due else observe_http(answer)


def _ok(answer: HttpAnswer) -> Observation:
    return SHOWN if answer.status == 200 else observe_http(answer)


WITNESSES: Mapping[str, Probe] = {
    "ext-subscription": ext_subscription,
    "ext-http": ext_http,
    "ext-meta": ext_meta,
    "trace-header": trace_header,
    "trace-again": trace_again,
    "order-refusal": order_refusal,
    "http-ext": http_ext,
    "http-ping": http_ping,
    "upgrade-meta": upgrade_meta,
    "lookup-nodes": lookup_nodes,
    "lookup-list": lookup_list,
    "partition-subscriptions": partition_subscriptions,
    "replica-meta": replica_meta,
    "batch-ext": batch_ext,
    "touch-ext": touch_ext,
}
