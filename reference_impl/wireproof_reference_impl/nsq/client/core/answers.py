"""What a producer checks before it publishes, and what it reads from the answer."""

from wireproof_reference_impl.nsq.client.core.commands import Publish, header_of
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_spec.decoding import decode
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.wire_error import WireError


def find_fault(message: Publish) -> str:
    """Return why a message cannot be published, as a sentence; empty if it can."""
    if message.key is not None and not message.key:
        return "an ordered publish needs a sharding id"
    for name in message.header or {}:
        if name.startswith(names.INTERNAL_PREFIX):
            return f"header names that begin with {names.INTERNAL_PREFIX} are reserved: {name}"
        if not names.is_header_name(name):
            return f"a header name has letters, digits, '_', '-' and '#' only: {name!r}"
    if message.has_header and len(header_of(message)) > limits.MAX_JSON_HEADER_SIZE:
        return f"the header is longer than {limits.MAX_JSON_HEADER_SIZE} bytes"
    return ""


def read_answer(message: Publish, partition: int | None, data: bytes) -> Receipt | Failure:
    """Return what a node's answer to a publish means: success with a receipt, or a failure.

    The receipt of a traced message says where it is in the queue.
    """
    if message.trace_id is None:
        return Receipt(partition) if data == names.OK else _unexpected(data)
    try:
        response = decode(TRACE_RESPONSE, data)
    except WireError:
        return _unexpected(data)
    return Receipt(
        partition,
        internal_id=response.internal_id,
        trace_id=response.trace_id,
        disk_queue_offset=response.disk_queue_offset,
        disk_queue_data_size=response.disk_queue_data_size,
    )


def _unexpected(data: bytes) -> Failure:
    return Failure(f"the node answered the publish with {data[:40]!r}")
