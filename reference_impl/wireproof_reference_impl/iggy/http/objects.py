"""Streams, topics, groups, clients and statistics in JSON."""

from collections.abc import Iterable, Mapping

from wireproof_reference_impl.iggy.core.stats import Stats
from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.streams.group import Group
from wireproof_reference_impl.iggy.streams.topic import Stream, Topic

Object = Mapping[str, object]


def stream(found: Stream) -> Object:
    """Return a JSON object that describes a stream and its topics."""
    return {**_stream(found), "topics": topics(found.topics.values())}


def streams(every: Iterable[Stream]) -> list[Object]:
    """Return JSON objects of streams without their topics, sorted by id."""
    return [_stream(each) for each in sorted(every, key=lambda each: each.id)]


def topic(found: Topic) -> Object:
    """Return a JSON object that describes a topic and its partitions."""
    partitions = [
        {
            "id": each.id,
            "segments_count": len(each.segments),
            "current_offset": each.current_offset,
            "size_bytes": each.size,
            "messages_count": each.count,
        }
        for each in found.partitions.list_opened()
    ]
    return {**_topic(found), "partitions": partitions}


def topics(every: Iterable[Topic]) -> list[Object]:
    """Return JSON objects of topics without their partitions, sorted by id."""
    return [_topic(each) for each in sorted(every, key=lambda each: each.id)]


def group(found: Group) -> Object:
    """Return a JSON object that describes a consumer group and its members."""
    members = [
        {
            "id": member.client,
            "partitions_count": len(member.partitions),
            "partitions": member.partitions,
        }
        for member in found.members.values()
    ]
    return {**_group(found), "members": members}


def groups(every: Iterable[Group]) -> list[Object]:
    """Return JSON objects of consumer groups without their members, sorted by id."""
    return [_group(each) for each in sorted(every, key=lambda each: each.id)]


def client(who: Client) -> Object:
    """Return a JSON object that describes a client and its consumer groups."""
    joined = [
        {"stream_id": each.stream, "topic_id": each.topic, "consumer_group_id": each.group}
        for each in who.groups
    ]
    return {**_client(who), "consumer_groups": joined}


def clients(every: Iterable[Client]) -> list[Object]:
    """Return JSON objects of clients without their groups, sorted by id."""
    return [_client(each) for each in sorted(every, key=lambda each: each.id)]


def stats(found: Stats) -> Object:
    """Return the figures that the server reports as a JSON object."""
    measures, host = found.measures, found.host
    return {
        "process_id": host.process,
        "cpu_usage": measures.cpu,
        "memory_usage": measures.memory,
        "total_memory": measures.total,
        "available_memory": measures.available,
        "run_time": found.run_time_s,
        "start_time": found.start_time_s,
        "read_bytes": measures.read,
        "written_bytes": measures.written,
        "messages_size_bytes": found.messages_size,
        "streams_count": found.streams,
        "topics_count": found.topics,
        "partitions_count": found.partitions,
        "segments_count": found.segments,
        "messages_count": found.messages,
        "clients_count": found.clients,
        "consumer_groups_count": found.groups,
        "hostname": host.hostname,
        "os_name": host.os_name,
        "os_version": host.os_version,
        "kernel_version": host.kernel_version,
    }


def _stream(found: Stream) -> Object:
    return {
        "id": found.id,
        "name": found.name,
        "size_bytes": found.size,
        "messages_count": found.count,
        "topics_count": len(found.topics),
    }


def _topic(found: Topic) -> Object:
    return {
        "id": found.id,
        "name": found.name,
        "size_bytes": found.size,
        "messages_count": found.count,
        "partitions_count": len(found.partitions),
    }


def _group(found: Group) -> Object:
    return {
        "id": found.id,
        "partitions_count": found.partitions,
        "members_count": len(found.members),
    }


def _client(who: Client) -> Object:
    return {
        "id": who.id,
        "address": who.address,
        "transport": "TCP",
        "consumer_groups_count": len(who.groups),
    }
