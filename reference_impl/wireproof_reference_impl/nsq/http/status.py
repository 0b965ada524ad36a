"""The HTTP status pages of a node: /ping, /info and /stats."""

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.requests.http_request import Answer, Request, data, plain

_SECOND_NS = 1_000_000_000


def ping(node: Node, request: Request) -> Answer:
    """Handle /ping: answer that the node is alive."""
    return plain(b"OK", v1=False)


def info(node: Node, request: Request) -> Answer:
    """Handle /info: answer with name and version of the broker."""
    fields = {
        "version": node.behaviour.output.version,
        "start_time": node.started_ns // _SECOND_NS,
    }
    return data(fields, v1=request.v1)


def stats(node: Node, request: Request) -> Answer:
    """Handle /stats: answer with the message counts of topics and channels.

    The parameters `topic` and `channel` select them.
    """
    topic, channel = request.text("topic"), request.text("channel")
    partitions = [
        _partition(partition, channel)
        for name, found in node.topics.items()
        if topic in ("", name)
        for partition in found.partitions.values()
    ]
    fields: dict[str, object] = {
        "version": node.behaviour.output.version,
        "health": "OK",
        "topics": partitions,
    }
    return data(fields, v1=request.v1)


def _partition(partition: Partition, channel: str) -> dict[str, object]:
    return {
        "topic_name": partition.topic.name,
        "topic_partition": str(partition.number),
        "is_ext": partition.topic.extend,
        "is_multi_ordered": partition.topic.ordered,
        "message_count": partition.log.count,
        "backend_depth": partition.log.end,
        "channels": [
            _channel(each) for name, each in partition.channels.items() if channel in ("", name)
        ],
    }


def _channel(channel: Channel) -> dict[str, object]:
    return {
        "channel_name": channel.name,
        "depth": channel.depth,
        "in_flight_count": len(channel.in_flight),
        "deferred_count": channel.deferred_count,
        "client_num": len(channel.subscribers),
    }
