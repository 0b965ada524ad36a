"""Moves and adds partitions through a lookup server."""

from wireproof_reference_impl.nsq.cluster.cluster_topic import PartitionReplicas
from wireproof_reference_impl.nsq.cluster.coordinator import Impossible, NoRoom
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.lookupd import parameters, records, topics
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.limits import MAX_PARTITIONS_CREATED

_UNSTABLE = "the cluster is unstable"
_NOT_FOUND = "the move destination is not found in cluster"


def expand(server: LookupServer, request: Request) -> None:
    """Handle a request that adds partitions to a topic; their number never decreases."""
    name = parameters.topic(request)
    count = parameters.number(
        request,
        "partition_num",
        range(1, 256),
        missing=error_codes.MISSING_ARG_TOPIC_PARTITION_NUM,
        invalid=error_codes.INVALID_ARG_TOPIC_PARTITION_NUM,
    )
    _refuse_unless_stable(server, 500)
    if count > MAX_PARTITIONS_CREATED:
        raise HttpRefusal(500, "max partition allowed exceed")
    topic = server.cluster.topics.get(name)
    if topic is None:
        raise HttpRefusal(500, "topic is not created")
    if count < topic.settings.partitions:
        raise HttpRefusal(500, "the partition number can not be reduced")
    try:
        server.cluster.expand(topic, count)
    except NoRoom as error:
        raise HttpRefusal(500, topics.NO_ROOM) from error


def move(server: LookupServer, request: Request) -> None:
    """Handle a request that moves a partition between two nodes, given by distributed ids.

    With `move_leader` the leader moves, else a follower's copy.
    """
    name = parameters.topic(request)
    number = parameters.number(
        request,
        "partition",
        range(1024),
        missing="MISSING_ARG_TOPIC_PARTITION",
        invalid=error_codes.INVALID_ARG_TOPIC_PARTITION_NUM,
    )
    _refuse_unless_stable(server, 400)
    topic = server.cluster.topics.get(name)
    if topic is None or number not in topic.places:
        raise HttpRefusal(400, "Key not found")
    place = topic.places[number]
    leads = parameters.flag(request, "move_leader")
    old, new = _node(server, request, "move_from"), _node(server, request, "move_to")
    fault = _fault(place, leads=leads, old=old, new=new)
    if fault is not None or old is None or new is None:
        raise HttpRefusal(400, fault or _NOT_FOUND)
    try:
        if leads:
            server.cluster.move_leader(topic, place, new, request.now_ns)
        else:
            server.cluster.move_copy(topic, place, old=old, new=new, now_ns=request.now_ns)
    except Impossible as error:
        raise HttpRefusal(400, str(error)) from error


def _refuse_unless_stable(server: LookupServer, status: int) -> None:
    if not server.leads:
        raise HttpRefusal(status, topics.NOT_LEADER)
    if not server.cluster.stable:
        raise HttpRefusal(status, _UNSTABLE)


def _fault(
    place: PartitionReplicas, *, leads: bool, old: Member | None, new: Member | None
) -> str | None:
    """Return why a partition cannot be moved in this way, in the order of the checks."""
    if old is new:
        return "move to and from node can not be the same"
    if leads and old is not place.leader:
        return "move from not the topic leader"
    if not leads and old is place.leader:
        return "can not move leader without moveleader param"
    if not leads and old not in place.replicas:
        return "the move source node has no replica for the topic"
    if not leads and new in place.replicas:
        return "the move destination has the topic data already"
    return None


def _node(server: LookupServer, request: Request, name: str) -> Member | None:
    word = request.text(name)
    for member in server.cluster.members:
        if records.node(server, member)["distributed_id"] == word:
            return member
    return None
