"""Lookup requests about the cluster as a whole."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic
from wireproof_reference_impl.nsq.cluster.coordinator import Writes
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.lookupd import parameters, records
from wireproof_reference_impl.nsq.lookupd.lookup import channels_of, list_registered
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_spec.nsq import error_codes

Led = Mapping[ClusterTopic, Sequence[str]]


def info(server: LookupServer, request: Request) -> object:
    """Return name and version of the lookup server, the answer to /info."""
    return {"version": server.behaviour.output.version, "ha_support": True}


def list_lookup(server: LookupServer, request: Request) -> object:
    """Return the lookup servers and their leader, the answer to /listlookup.

    Clause: smart.lookup
    """
    return {
        "lookupdleader": records.lookup_server(server.servers[0]),
        "lookupdnodes": [records.lookup_server(each) for each in server.servers],
    }


def nodes(server: LookupServer, request: Request) -> object:
    """Return the nodes, each with the partitions it leads, the answer to /nodes."""
    led = _group_led(server)
    members = [member for member in server.cluster.members if member.up]
    return {"producers": [_node(server, member, led[member]) for member in members]}


def topics(server: LookupServer, request: Request) -> object:
    """Return the topics, with their settings if `metaInfo` is set, the answer to /topics."""
    found = [topic for topic in server.cluster.topics.values() if list_registered(topic)]
    answer: dict[str, object] = {"topics": [each.name for each in found]}
    if parameters.flag(request, "metaInfo"):
        answer["meta_info"] = [_topic(each) for each in found]
    return answer


def channels(server: LookupServer, request: Request) -> object:
    """Return the channels of a topic, or of one partition, the answer to /channels."""
    topic = server.cluster.topics.get(parameters.topic(request))
    if topic is None:
        return {"channels": []}
    partition = request.text("partition")
    places = [place for place in topic.places.values() if partition in ("", str(place.number))]
    return {"channels": channels_of(topic, places)}


def stats(server: LookupServer, request: Request) -> object:
    """Return how many partitions each node leads and holds."""
    if not server.leads:
        raise HttpRefusal(400, error_codes.E_FAILED_ON_NOT_LEADER)
    return {
        "stable": server.cluster.stable,
        "node_stat_list": [
            _load(server, member) for member in server.cluster.members if member.up
        ],
        "topn_topics": [],
    }


def disable_write(server: LookupServer, request: Request) -> None:
    """Handle a request that disables writing for all topics, for ordered topics, or for none."""
    word = request.text("type")
    known = {Write.value: Write for Write in Writes}
    server.cluster.writes = known.get(word, Writes.NONE)


def _node(server: LookupServer, member: Member, led: Led) -> records.Record:
    shown = dict(records.node(server, member))
    del shown["id"], shown["distributed_id"]
    return {
        **shown,
        "tombstones": [(each.name, member) in server.cluster.tombstones for each in led],
        "topics": [each.name for each in led],
        "partitions": {each.name: numbers for each, numbers in led.items()},
    }


def _group_led(server: LookupServer) -> Mapping[Member, Led]:
    """Return the numbers of the partitions that each node leads, by topic."""
    found: dict[Member, dict[ClusterTopic, list[str]]] = {
        member: {} for member in server.cluster.members
    }
    for topic in server.cluster.topics.values():
        for place in list_registered(topic):
            leader = place.leader
            if leader is not None:
                found[leader].setdefault(topic, []).append(str(place.number))
    return found


def _topic(topic: ClusterTopic) -> records.Record:
    return {
        "topic_name": topic.name,
        "extend_support": topic.settings.extend,
        "ordered": topic.settings.ordered,
        "multi_part": topic.settings.multi_part,
        "disable_channel_auto_create": not topic.settings.channels_made,
        "registered_channels": list(topic.registered) or None,  # as a nil slice of Go is written
    }


def _load(server: LookupServer, member: Member) -> records.Record:
    places = [place for _, place in server.cluster.places()]
    return {
        "hostname": records.HOSTNAME,
        "broadcast_address": member.tcp[0],
        "tcp_port": member.tcp[1],
        "http_port": member.http[1],
        "leader_load_factor": float(sum(place.leader is member for place in places)),
        "node_load_factor": float(sum(member in place.replicas for place in places)),
    }
