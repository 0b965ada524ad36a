"""Statistics of the server."""

from typing import NamedTuple

from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.streams.host import Host, Measures

_SECOND_US = 1_000_000


class Stats(NamedTuple):
    """The figures that the server reports: counts, sizes in bytes and times in seconds."""

    host: Host
    measures: Measures
    run_time_s: int
    start_time_s: int
    messages_size: int
    streams: int
    topics: int
    partitions: int
    segments: int
    messages: int
    clients: int
    groups: int


def count(server: Server, now_us: int) -> Stats:
    """Return the figures that the server reports at this time."""
    started_us = server.around.started_us
    topics = [topic for stream in server.streams.values() for topic in stream.topics.values()]
    return Stats(
        host=server.around.host,
        measures=server.around.host.measure(),
        run_time_s=max(0, now_us - started_us) // _SECOND_US,
        start_time_s=started_us // _SECOND_US,
        messages_size=sum(topic.size for topic in topics),
        streams=len(server.streams),
        topics=len(topics),
        partitions=sum(len(topic.partitions) for topic in topics),
        segments=sum(topic.partitions.segments for topic in topics),
        messages=sum(topic.count for topic in topics),
        clients=len(server.clients),
        groups=sum(len(topic.groups) for topic in topics),
    )
