"""Probes of a target's capabilities. Each docstring lists the words it can return.

Every probe returns ``unavailable`` if it cannot get what it needs (a topic, an address).
"""

from collections.abc import Mapping
from dataclasses import replace

from wireproof_kit.decoding.json_text import json_object
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup.servers import ask_lookup
from wireproof_kit.nsq.observe.disk import DataDirectory
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.probes.context import UNAVAILABLE, Probe, ProbeContext
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.http import Query
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq import names

TRACE_ID = 0x1122334455667788
ABSENT_PARTITION = 1000


def ext(bench: ProbeContext) -> Observation:
    """Publish with a header on an ext topic; return answer and state, such as ``ok,open``."""
    topic = bench.topic("ext_topic")
    return bench.ask(topic, frames.pub_ext(topic, {"k": "v"}, bench.broker.unique_body()))


def trace(bench: ProbeContext) -> Observation:
    """Publish with a trace id by PUB_TRACE; return answer and state, such as ``ok,open``."""
    topic = bench.topic("plain_topic", "ext_topic")
    with bench.broker.connect(topic=topic) as client:
        answer = client.ask(frames.pub_trace(topic, TRACE_ID, bench.broker.unique_body()))
        return observe(answer, then=client.goes_on(topic), trace_id=TRACE_ID)


def order(bench: ProbeContext) -> Observation:
    """Subscribe in order, by either command, to an ordered topic: ``ok`` or ``error:CODE``."""
    topic = bench.topic("fresh_ordered_topic")
    seen = observed(UNAVAILABLE)
    for command in (names.SUB_ORDERED, names.SUB_ORDER):
        with bench.broker.connect(topic=topic) as client:
            seen = observe(client.ask(frames.subscribe(topic, topic.channel(), command=command)))
        if seen.value == "ok":
            return seen
    return seen


def http(bench: ProbeContext) -> Observation:
    """POST /pub: ``ok``, or ``http:STATUS,CODE``."""
    topic = bench.topic("plain_topic", "ext_topic")
    query: Query = {"topic": topic.name, "partition": topic.partition}
    client = bench.broker.http.at(topic.http_address)
    seen = observe_http(
        client.request("POST", "/pub", query=query, body=bench.broker.unique_body())
    )
    return observed("ok") if seen.value == "http:200,ok" else seen


def disk(bench: ProbeContext) -> Observation:
    """Publish, and find the body in the data directory: ``ok`` or ``missing``."""
    topic = bench.topic("plain_topic", "ext_topic")
    stored = DataDirectory(bench.broker)
    body = bench.broker.unique_body()
    bench.broker.publish_accepted(topic, body)
    queue = stored.wait_for(topic, body)
    return observed("ok" if queue.find_record(body) else "missing")


def upgrade(bench: ProbeContext) -> Observation:
    """Upgrade a plain topic, then publish with a header: ``ok``, or the answer that failed."""
    topic = bench.topic("upgradable_topic")
    upgraded = bench.broker.upgrade(topic)
    if upgraded.answer.status != 200:
        return observe_http(upgraded.answer)
    answer = bench.broker.publish(upgraded.topic, bench.broker.unique_body(), {"k": "v"})
    return observe(answer)


def lookup(bench: ProbeContext) -> Observation:
    """GET /lookup for a topic of the kit: ``ok``, or ``http:STATUS,CODE``."""
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    topic = bench.topic("plain_topic", "ext_topic")
    answer = ask_lookup(bench.lookup.servers[0], topic.name)
    data = answer.data
    if answer.status == 200 and isinstance(data, dict) and "partitions" in data:
        return observed("ok")
    return observe_http(answer)


def partition(bench: ProbeContext) -> Observation:
    """Publish to both partitions of a topic: ``ok``, or the first other answer (``error:CODE``).

    ``ignored``: commands ignore the partition parameter, as on a classic broker. ``one``: the
    cluster has one node, and the lookup server refuses several partitions on it.
    """
    try:
        topic = bench.topic("partitioned_topic")
    except ArrangementFailed:
        if _is_alone(bench):
            return observed("one")
        raise
    seen = [
        observe(bench.broker.publish(topic.at(place.partition), bench.broker.unique_body())).value
        for place in topic.places
    ]
    refused = next((word for word in seen if word != "ok"), None)
    if refused is None and _partitions_are_ignored(bench, topic):
        return observed("ignored")
    return observed(refused or "ok")


def _partitions_are_ignored(bench: ProbeContext, topic: Topic) -> bool:
    """Return True if publishing and subscribing to partitions that cannot exist succeeds."""
    body, absent = bench.broker.unique_body(), replace(topic, partition=ABSENT_PARTITION)
    asked = (
        frames.pub(topic, body, partition=b"none"),
        frames.pub(absent, body),
        frames.subscribe(absent, topic.channel()),
    )
    for frame in asked:
        with bench.broker.connect(topic=topic) as client:
            if observe(client.ask(frame)).value != "ok":
                return False
    return True


def batch(bench: ProbeContext) -> Observation:
    """Publish two messages with MPUB; return the answer, such as ``ok`` or ``error:CODE``."""
    topic = bench.topic("plain_topic", "ext_topic")
    bodies = [bench.broker.unique_body(), bench.broker.unique_body()]
    with bench.broker.connect(topic=topic) as client:
        return observe(client.ask(frames.mpub(topic, bodies)))


def touch(bench: ProbeContext) -> Observation:
    """TOUCH a message in flight: ``open``, ``error:CODE`` or ``closed``."""
    # On a topic of its own: a broker that delivers an earlier message twice answers the second FIN
    # with an error, which would be read as the answer to what follows.
    return touch_on(bench, bench.topic("fresh_plain_topic", "plain_topic", "ext_topic"))


def touch_on(bench: ProbeContext, topic: Topic) -> Observation:
    """TOUCH a message in flight of this topic: ``open``, ``error:CODE`` or ``closed``."""
    body = bench.broker.unique_body()
    with bench.broker.subscribe(topic) as consumer:
        bench.broker.publish_accepted(topic, body)
        delivery = consumer.take(body)
        if delivery is None or delivery.message_id is None:
            return observed("missing", overdue=True)
        consumer.connection.send(frames.touch(delivery.message_id))
        return observed(consumer.connection.goes_on(topic))


def cluster(bench: ProbeContext) -> Observation:
    """Ask a lookup server for the nodes: ``ok`` when there are two or more, else ``one``."""
    if bench.lookup is None:
        raise ArrangementFailed("no lookup server was given")
    count = bench.lookup.listed_nodes()
    if count is None:
        raise ArrangementFailed("no lookup server lists a node")
    return observed("ok" if count > 1 else "one")


def replica(bench: ProbeContext) -> Observation:
    """Publish to a topic with two replicas; return the answer, such as ``ok`` or ``error:CODE``.

    ``one``: the cluster has only one node.
    """
    if _is_alone(bench):
        return observed("one")
    topic = bench.topic("replicated_topic")
    return observe(bench.broker.publish(topic, bench.broker.unique_body()))


def _is_alone(bench: ProbeContext) -> bool:
    """Return True if the lookup servers list only one node."""
    return bench.lookup is not None and bench.lookup.listed_nodes() == 1


def tls(bench: ProbeContext) -> Observation:
    """Offer TLS with IDENTIFY: ``ok`` when the target takes it up, else ``absent``."""
    fields = {"feature_negotiation": True, "tls_v1": True}
    with bench.broker.connect(identify=fields) as client:
        answer = client.identified
    data = answer.data if isinstance(answer, Response) else b""
    return observed("ok" if json_object(data).get("tls_v1") is True else "absent")


CAPABILITY_PROBES: Mapping[str, Probe] = {
    "ext": ext,
    "trace": trace,
    "order": order,
    "http": http,
    "disk": disk,
    "upgrade": upgrade,
    "lookup": lookup,
    "partition": partition,
    "batch": batch,
    "touch": touch,
    "cluster": cluster,
    "replica": replica,
    "tls": tls,
}
