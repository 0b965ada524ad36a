"""GET /lookup: the leaders of a topic's partitions."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, PartitionReplicas
from wireproof_reference_impl.nsq.cluster.coordinator import Writes
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.lookupd import parameters, records
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request

READ = "r"
WRITE = "w"

_NO_CHANNEL = "Topic has no channel, should init at least one for the new topic"

Led = tuple[PartitionReplicas, Member]


def lookup(server: LookupServer, request: Request) -> object:
    """Return the channels of a topic and its partitions' leaders, the answer to /lookup.

    With access w, only what can be written: registered partitions without a tombstone and, if the
    server requires it, with a channel.

    Clause: ext.lookup, smart.lookup
    """
    name = parameters.topic(request)
    access = read_access(request)
    topic = server.cluster.topics.get(name)
    places = [] if topic is None else _select_places(topic, request.text("partition"))
    if access == WRITE:
        led = _for_producers(server, topic, places, request.now_ns)
    else:
        led = _list_led(places)
    channels = [] if topic is None else channels_of(topic, places)
    answer: dict[str, object] = {"channels": channels}
    barred = access == WRITE and server.cluster.writes is not Writes.NONE
    if request.text("metainfo") or (barred and server.cluster.writes is Writes.ORDERED):
        answer["meta"] = meta(topic)
    nothing = barred and _is_barred(server.cluster.writes, topic)
    answer["partitions"] = None if nothing else _partitions(server, led)
    answer["producers"] = None if nothing else _producers(server, led)
    return answer


def read_access(request: Request) -> str:
    """Return the access of a lookup: `w`, or `r`, which is also the default.

    Clause: smart.lookup.access

    Raises:
        HttpRefusal: the access is neither.
    """
    access = request.text("access") or READ
    if access not in (READ, WRITE):
        raise HttpRefusal(400, "INVALID_ACCESS_MODE")
    return access


def meta(topic: ClusterTopic | None) -> records.Record:
    """Return the meta of a lookup answer: a topic's settings, all zero if it does not exist."""
    settings = None if topic is None else topic.settings
    return {
        "disable_channel_auto_create": settings is not None and not settings.channels_made,
        "extend_support": settings is not None and settings.extend,
        "multi_part": settings is not None and settings.multi_part,
        "ordered": settings is not None and settings.ordered,
        "partition_num": 0 if settings is None else settings.partitions,
        "replica": 0 if settings is None else settings.replicas,
    }


def channels_of(topic: ClusterTopic, places: Sequence[PartitionReplicas]) -> list[str]:
    """Return the channels on the leaders of some partitions."""
    found = (topic.get_leading(place) for place in places)
    return list(dict.fromkeys(name for each in found if each for name in each.channels))


def _select_places(topic: ClusterTopic, partition: str) -> list[PartitionReplicas]:
    return [place for place in topic.places.values() if partition in ("", "*", str(place.number))]


def _list_led(places: Sequence[PartitionReplicas]) -> list[Led]:
    return [(place, place.leader) for place in places if place.leader is not None]


def _for_producers(
    server: LookupServer,
    topic: ClusterTopic | None,
    places: Sequence[PartitionReplicas],
    now_ns: int,
) -> list[Led]:
    if topic is None:
        raise HttpRefusal(404, "Key not found")
    offered = [each for each in _list_led(places) if is_registered(topic, each[0])]
    kept = [each for each in offered if (topic.name, each[1]) not in server.cluster.tombstones]
    if now_ns < topic.paused_until_ns:
        usable: list[Led] = []
    elif server.behaviour.lookup.channel_needed:
        usable = [each for each in kept if channels_of(topic, each[:1])]
    else:
        usable = kept
    if kept and not usable:
        raise HttpRefusal(404, _NO_CHANNEL)
    return usable


def list_registered(topic: ClusterTopic) -> list[PartitionReplicas]:
    """Return those partitions of a topic that their leaders offer to producers."""
    places = topic.places.values()
    if topic.settings.channels_made:
        return [place for place in places if place.writable]
    return [place for place in places if is_registered(topic, place)]


def is_registered(topic: ClusterTopic, place: PartitionReplicas) -> bool:
    """Return True if the leader of a partition offers it to producers.

    It does not if the partition is not writable, or if the topic needs a registered channel and
    has none.
    """
    return place.writable and (topic.settings.channels_made or bool(channels_of(topic, [place])))


def _is_barred(writes: Writes, topic: ClusterTopic | None) -> bool:
    return writes is Writes.ALL or (topic is not None and topic.settings.ordered)


def _partitions(server: LookupServer, led: Sequence[Led]) -> records.Record:
    return {str(place.number): records.node(server, member) for place, member in led}


def _producers(server: LookupServer, led: Sequence[Led]) -> list[records.Record]:
    return [records.node(server, member) for member in dict.fromkeys(each[1] for each in led)]
