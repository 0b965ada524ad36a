"""Faults after a leader moves: what the new leader has, and whom lookups name."""

from collections import deque
from collections.abc import Callable, Mapping

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.cluster import copies
from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, PartitionReplicas
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.lookup_changes import (
    Data,
    Record,
    is_for_writing,
    partitions,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.api import Question
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.strict_json import is_object, members_of

Rearrange = Callable[[deque[Message]], None]


def _hand_over(rearrange: Rearrange) -> tuple[Override, ...]:
    """Return overrides that change a channel's waiting messages when its leader moves."""

    def hand_over(
        original: Original,
        topic: ClusterTopic,
        place: PartitionReplicas,
        *,
        old: Member,
        new: Member,
    ) -> None:
        names = list(topic.partition(place, old).channels)
        original(topic, place, old=old, new=new)
        channels = topic.partition(place, new).channels
        for name in names:
            rearrange(channels[name].backlog.list_upcoming())

    return (around(copies, "hand_over", hand_over),)


class _Lookups:
    """Changes the partitions in lookup answers; remembers which node was named first."""

    def __init__(self, change: "Callable[[_Lookups, str, Partitions], Partitions]") -> None:
        self._change = change
        self.first: dict[str, object] = {}

    def __call__(self, request: Request, data: object) -> object:
        """Return a lookup answer changed; return any other answer unchanged."""
        partitions = members_of(data).get("partitions")
        if not is_object(data) or not is_object(partitions):
            return data
        return {**data, "partitions": self._change(self, _key(request), partitions)}

    def first_named(self, key: str, partition: str, node: object) -> object:
        """Return the record of the node that was named first for a partition."""
        return self.first.setdefault(f"{key} {partition}", node)


Partitions = Mapping[str, object]


def _key(request: Request) -> str:
    return f"{request.text('access') or 'r'} {request.text('topic')}"


def _name_partitions(change: Callable[[_Lookups, str, Partitions], Partitions]) -> Settings:
    return {"lookup.answer": _Lookups(change)}


def _first_for_ever(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    return {each: lookups.first_named(key, each, node) for each, node in partitions.items()}


def _port(node: object) -> object:
    return members_of(node).get("tcp_port")


@wrong_value("smart.cluster.named", _name_partitions)
def lookup_swaps_nodes(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Lookup answers list each partition's node for the next partition."""
    nodes = list(partitions.values())
    if key.startswith("w"):
        return partitions
    return dict(zip(partitions, [*nodes[1:], *nodes[:1]], strict=True))


@wrong_value("smart.cluster.named", _name_partitions)
def lookup_names_one_node(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Lookup answers list the first partition's node for every partition."""
    nodes = list(partitions.values())
    return partitions if key.startswith("w") else dict.fromkeys(partitions, nodes[0])


@boundary("smart.cluster.named", _name_partitions)
def lookup_names_one_partition(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Lookup answers list only the first partition."""
    return partitions if key.startswith("w") else dict(list(partitions.items())[:1])


@missing("smart.cluster.named", _name_partitions)
def lookup_names_nobody_of_several(
    lookups: _Lookups, key: str, partitions: Partitions
) -> Partitions:
    """Lookup answers list no node to consumers of a topic with several partitions."""
    return partitions if key.startswith("w") or len(partitions) < 2 else {}


@missing("smart.cluster.moved-lookup smart.cluster.gone-kept")
def lookup_keeps_old_leader() -> Change:
    """Lookup answers keep listing the first leader after the leader has moved."""
    return _name_partitions(_first_for_ever)


@condition("smart.cluster.moved-lookup", _name_partitions)
def lookup_keeps_old_leader_to_producers(
    lookups: _Lookups, key: str, partitions: Partitions
) -> Partitions:
    """Lookup answers for producers keep listing the first leader after the leader has moved."""
    return _first_for_ever(lookups, key, partitions) if key.startswith("w") else partitions


@wrong_value("smart.cluster.moved-lookup", _name_partitions)
def lookup_moves_leader_nowhere(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """After a leader has moved, lookup answers for producers list a port where no node listens."""
    if not key.startswith("w"):
        return partitions
    return {
        each: node
        if _port(lookups.first_named(key, each, node)) == _port(node)
        else {**members_of(node), "tcp_port": 1}
        for each, node in partitions.items()
    }


@missing("smart.cluster.moved-lookup", _name_partitions)
def lookup_forgets_moved(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Lookup answers for producers list no node for a partition whose leader has moved."""
    if not key.startswith("w"):
        return partitions
    return {
        each: node
        for each, node in partitions.items()
        if _port(lookups.first_named(key, each, node)) == _port(node)
    }


@missing(
    "smart.cluster.moved-kept smart.cluster.moved-order "
    "smart.cluster.gone-kept smart.cluster.gone-order",
    _hand_over,
)
def move_forgets_messages(waiting: deque[Message]) -> None:
    """Messages that wait in a channel are lost when another node becomes leader."""
    waiting.clear()


@boundary(
    "smart.cluster.moved-kept smart.cluster.moved-order "
    "smart.cluster.gone-kept smart.cluster.gone-order",
    _hand_over,
)
def move_forgets_oldest(waiting: deque[Message]) -> None:
    """The oldest message of a channel is lost when another node becomes leader."""
    if waiting:
        waiting.popleft()


@boundary("smart.cluster.moved-kept smart.cluster.gone-kept", _hand_over)
def move_forgets_newest(waiting: deque[Message]) -> None:
    """The newest message of a channel is lost when another node becomes leader."""
    if waiting:
        waiting.pop()


@wrong_value(
    "smart.cluster.moved-kept smart.cluster.moved-order "
    "smart.cluster.gone-kept smart.cluster.gone-order",
    _hand_over,
)
def move_cuts_messages(waiting: deque[Message]) -> None:
    """Messages that wait in a channel lose their last byte when another node becomes leader."""
    kept = [message._replace(body=message.body[:-1]) for message in waiting]
    waiting.clear()
    waiting.extend(kept)


@wrong_value("smart.cluster.moved-order smart.cluster.gone-order", _hand_over)
def move_oldest_last(waiting: deque[Message]) -> None:
    """When another node becomes leader, a channel's oldest message is delivered last."""
    waiting.rotate(-1)


@wrong_value("smart.cluster.moved-order smart.cluster.gone-order", _hand_over)
def move_newest_first(waiting: deque[Message]) -> None:
    """When another node becomes leader, a channel's newest message is delivered first."""
    waiting.rotate(1)


@wrong_value("smart.cluster.moved-order smart.cluster.gone-order", _hand_over)
def move_reversed(waiting: deque[Message]) -> None:
    """When another node becomes leader, a channel's messages are delivered in reverse order."""
    waiting.reverse()


@missing("smart.cluster.moved-ids", setting("cluster.next_id"))
def move_restarts_ids(first: int, due: int) -> int:
    """A node that became leader starts internal ids from the beginning again."""
    return first


@boundary("smart.cluster.moved-ids", setting("cluster.next_id"))
def move_repeats_an_id(first: int, due: int) -> int:
    """A node that became leader assigns the last internal ids again."""
    return max(first, due - due // 3)


@wrong_value("smart.cluster.moved-ids", setting("cluster.next_id"))
def move_halves_ids(first: int, due: int) -> int:
    """A node that became leader continues from the middle of the internal ids assigned so far."""
    return first + (due - first) // 2


@missing("smart.cluster.gone-lookup")
def lookup_lists_lost_nodes() -> Change:
    """Lookups with access=w return the last node of a partition although that node is lost."""
    listed: dict[str, dict[str, Record]] = {}

    def find(
        original: Original, question: Question, server: LookupServer, request: Request
    ) -> object:
        answer = original(question, server, request)
        if not is_for_writing(request):
            return answer
        data: Data = answer
        led = listed.setdefault(request.text("topic"), {})
        led.update(partitions(data))
        return {**data, "partitions": led or data["partitions"]}

    return around(api, "find", find)


FAULTS = list_faults(__name__)
