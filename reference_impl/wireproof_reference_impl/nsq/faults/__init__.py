"""Faults of the nsq reference, by what they are about."""

from itertools import chain

from wireproof_reference_impl.nsq.faults import (
    cluster,
    cluster_move,
    codes,
    consume,
    content,
    create,
    disk,
    dispatch,
    history,
    http,
    http_trace,
    lookup,
    lookup_meta,
    lookup_nodes,
    message_id,
    order,
    order_layout,
    parser,
    partition,
    partition_error,
    pub_trace,
    publish,
    stream,
    subscribe,
    trace,
    upgrade,
)
from wireproof_reference_impl.preset import Preset

_FAMILIES = (
    trace,
    publish,
    codes,
    consume,
    content,
    dispatch,
    http,
    http_trace,
    parser,
    stream,
    subscribe,
    disk,
    upgrade,
    history,
    cluster,
    cluster_move,
    lookup,
    lookup_nodes,
    lookup_meta,
    create,
    order,
    order_layout,
    pub_trace,
    message_id,
    partition,
    partition_error,
)

FAULTS: tuple[Preset, ...] = tuple(chain.from_iterable(family.FAULTS for family in _FAMILIES))
