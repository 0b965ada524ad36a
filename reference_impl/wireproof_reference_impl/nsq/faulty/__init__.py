"""Faults of the NSQ reference, by subject."""

from itertools import chain

from wireproof_reference_impl.nsq.faulty.clusters import (
    cluster,
    cluster_move,
    create,
    lookup,
    lookup_meta,
    lookup_nodes,
)
from wireproof_reference_impl.nsq.faulty.consuming import (
    company,
    consume,
    disk,
    dispatch,
    dispatch_tags,
    order,
    order_layout,
    order_subscribe,
    sequences,
    subscribe,
    upgrade,
)
from wireproof_reference_impl.nsq.faulty.frames import (
    connection,
    parser,
    parser_documents,
    parser_history,
    parser_http,
    parser_sizes,
    parser_stream,
    parser_words,
    stream,
)
from wireproof_reference_impl.nsq.faulty.publishing import (
    batch,
    codes,
    content,
    http,
    http_trace,
    message_id,
    partition,
    partition_error,
    pub_trace,
    publish,
    trace,
)
from wireproof_reference_impl.preset import Preset

_FAMILIES = (
    trace,
    publish,
    codes,
    company,
    consume,
    content,
    dispatch,
    dispatch_tags,
    http,
    http_trace,
    parser,
    stream,
    connection,
    batch,
    subscribe,
    disk,
    upgrade,
    sequences,
    cluster,
    cluster_move,
    lookup,
    lookup_nodes,
    lookup_meta,
    create,
    order,
    order_layout,
    order_subscribe,
    pub_trace,
    message_id,
    partition,
    partition_error,
    parser_sizes,
    parser_words,
    parser_documents,
    parser_stream,
    parser_history,
    parser_http,
)

FAULTS: tuple[Preset, ...] = tuple(chain.from_iterable(family.FAULTS for family in _FAMILIES))
