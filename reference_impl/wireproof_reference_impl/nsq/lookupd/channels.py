"""Registers channels through a lookup server, for topics where subscribing creates none."""

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic
from wireproof_reference_impl.nsq.lookupd import parameters
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request


def create(server: LookupServer, request: Request) -> None:
    """Handle a request that registers a channel: create it on every partition of its topic."""
    topic, channel = _topic_and_channel(server, request)
    if topic.settings.channels_made:
        text = f"channel auto create NOT disabled in topic {topic.name}"
        raise HttpRefusal(400, text)
    if channel in topic.registered:
        raise HttpRefusal(400, f"channel {channel} already registered")
    server.cluster.register(topic, channel)


def delete(server: LookupServer, request: Request) -> None:
    """Handle a request that removes a channel; do nothing if subscribing creates channels."""
    topic, channel = _topic_and_channel(server, request)
    if topic.settings.channels_made:
        return
    if channel not in topic.registered:
        raise HttpRefusal(400, f"channel {channel} not registered")
    server.cluster.unregister(topic, channel, request.now_ns)


def _topic_and_channel(server: LookupServer, request: Request) -> tuple[ClusterTopic, str]:
    name = parameters.topic_name(request)
    channel = parameters.channel_name(request)
    topic = server.cluster.topics.get(name)
    if topic is None:
        raise HttpRefusal(400, "Key not found")
    return topic, channel
