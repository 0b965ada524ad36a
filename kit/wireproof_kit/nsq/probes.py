"""The tables of probes: what a target can do, and which readings of the texts it follows."""

from collections.abc import Mapping

from wireproof_kit.nsq import (
    capability_probes,
    cluster_probes,
    delivery_probes,
    lookup_probes,
    publish_probes,
)
from wireproof_kit.nsq.probe_bench import Probe

CAPABILITY_PROBES: Mapping[str, Probe] = {
    **capability_probes.CAPABILITY_PROBES,
    **lookup_probes.LOOKUP_CAPABILITY_PROBES,
    **cluster_probes.CLUSTER_PROBES,
}

READING_PROBES: Mapping[str, Probe] = {
    "order-command": publish_probes.order_command,
    "order-is-must": publish_probes.order_is_must,
    "order-rdy": delivery_probes.order_rdy,
    "order-ext-place": delivery_probes.order_ext_place,
    "trace-empty": publish_probes.trace_empty,
    "pub-bad-topic": publish_probes.pub_bad_topic,
    "pub-bad-size": publish_probes.pub_bad_size,
    "ext-error-codes": publish_probes.ext_error_codes,
    "sub-error-codes": publish_probes.sub_error_codes,
    "pub-partition": publish_probes.pub_partition,
    "header-value": publish_probes.header_value,
    "http-quotes": publish_probes.http_quotes,
    "http-ok": publish_probes.http_ok,
    "http-trace-envelope": publish_probes.http_trace_envelope,
    "no-ext-layout": delivery_probes.no_ext_layout,
    "ext-version": delivery_probes.ext_version,
    "disk-nibble": delivery_probes.disk_nibble,
    "dispatch-fallback": delivery_probes.dispatch_fallback,
    "dispatch-tagged-gets-other": delivery_probes.dispatch_tagged_gets_other,
    "create-path": lookup_probes.create_path,
    "lookup-extend-meta": lookup_probes.lookup_extend_meta,
    "lookup-consumer-meta": lookup_probes.lookup_consumer_meta,
}
