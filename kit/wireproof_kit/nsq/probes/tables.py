"""The tables of probes: what a target can do, and which readings of the texts it follows."""

from collections.abc import Mapping

from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.probes import (
    capability,
    delivery,
    lookup,
    publish,
    witnesses,
)
from wireproof_kit.nsq.probes.context import Probe, ProbeContext
from wireproof_kit.observation import Observation, observed


def leader_move(bench: ProbeContext) -> Observation:
    """Ask whether the cluster can move leaders: ``ok``, or ``http:STATUS,CODE``."""
    answer = bench.cluster.move_offer()
    return observed("ok") if answer is None else observe_http(answer)


def unwritable(bench: ProbeContext) -> Observation:
    """Ask the control API to make a writable partition writable: ``ok``."""
    bench.cluster.make_writable(bench.topic("plain_topic", "ext_topic"))
    return observed("ok")


def node_down(bench: ProbeContext) -> Observation:
    """GET /control/state, which lists the nodes: ``ok``, or ``http:STATUS,CODE``."""
    answer = bench.cluster.control.request("GET", "/control/state")
    return observed("ok") if answer.status == 200 else observe_http(answer)


CLUSTER_PROBES: Mapping[str, Probe] = {
    "leader-move": leader_move,
    "unwritable": unwritable,
    "node-down": node_down,
}


CAPABILITY_PROBES: Mapping[str, Probe] = {
    **capability.CAPABILITY_PROBES,
    **lookup.LOOKUP_CAPABILITY_PROBES,
    **CLUSTER_PROBES,
    **witnesses.WITNESSES,
}

READING_PROBES: Mapping[str, Probe] = {
    "order-command": publish.order_command,
    "order-is-must": publish.order_is_must,
    "order-rdy": delivery.order_rdy,
    "order-ext-place": delivery.order_ext_place,
    "trace-empty": publish.trace_empty,
    "pub-bad-topic": publish.pub_bad_topic,
    "pub-bad-size": publish.pub_bad_size,
    "ext-error-codes": publish.ext_error_codes,
    "sub-error-codes": publish.sub_error_codes,
    "pub-partition": publish.pub_partition,
    "header-value": publish.header_value,
    "http-quotes": publish.http_quotes,
    "http-ok": publish.http_ok,
    "http-trace-envelope": publish.http_trace_envelope,
    "no-ext-layout": delivery.no_ext_layout,
    "ext-version": delivery.ext_version,
    "disk-nibble": delivery.disk_nibble,
    "dispatch-fallback": delivery.dispatch_fallback,
    "dispatch-tagged-gets-other": delivery.dispatch_tagged_gets_other,
    "create-path": lookup.create_path,
    "lookup-extend-meta": lookup.lookup_extend_meta,
    "lookup-consumer-meta": lookup.lookup_consumer_meta,
}
