"""The lines that a client logs of traced messages: what the text lists, by its names."""

from wireproof_reference_impl.nsq.client.core.effects import Address, Receipt
from wireproof_reference_impl.nsq.client.core.message import Message


def tell_published(topic: str, receipt: Receipt) -> str:
    """Return the log line of a producer for a traced message."""
    return (
        f"trace published topic={topic} partition={receipt.partition} "
        f"internal_id={receipt.internal_id} trace_id={receipt.trace_id} "
        f"disk_queue_offset={receipt.disk_queue_offset}"
    )


def tell_consumed(topic: str, message: Message, *, local: str, node: Address) -> str:
    """Return the log line of a consumer for a traced message; offset and size if ordered."""
    place = ""
    if message.disk_queue_offset is not None:
        place = (
            f" disk_queue_offset={message.disk_queue_offset}"
            f" disk_queue_data_size={message.disk_queue_data_size}"
        )
    return (
        f"trace consumed topic={topic} internal_id={message.internal_id} "
        f"trace_id={message.trace_id} timestamp={message.timestamp_ns} "
        f"consumer_ip={local} nsqd_ip={node[0]}{place}"
    )
