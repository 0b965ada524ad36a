"""Faults after a leader moves: what the new leader has, and whom lookups name."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import cast

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.cluster import copies
from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, PartitionReplicas
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.lookup_changes import (
    LOOKERS,
    Data,
    Record,
    is_for_writing,
    partitions,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.api import Question
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.preset import (
    MOVED,
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around

_ELSEWHERE = "smart.cluster.elsewhere"
_NAMED = "smart.cluster.named"
_LOOKUP = "smart.cluster.moved-lookup"
_KEPT = "smart.cluster.moved-kept"
_ORDER = "smart.cluster.moved-order"
_IDS = "smart.cluster.moved-ids"
_GONE = "smart.cluster.gone-kept"
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


def _all_lost(waiting: deque[Message]) -> None:
    waiting.clear()


def _reverse(waiting: deque[Message]) -> None:
    waiting.reverse()


def _first_id(first: int, due: int) -> int:
    return first


def _last_id_again(first: int, due: int) -> int:
    return max(first, due - due // 3)


def _middle_id(first: int, due: int) -> int:
    return first + (due - first) // 2


def _oldest_lost(waiting: deque[Message]) -> None:
    if waiting:
        waiting.popleft()


def _newest_lost(waiting: deque[Message]) -> None:
    if waiting:
        waiting.pop()


def _oldest_last(waiting: deque[Message]) -> None:
    waiting.rotate(-1)


def _cut(waiting: deque[Message]) -> None:
    kept = [message._replace(body=message.body[:-1]) for message in waiting]
    waiting.clear()
    waiting.extend(kept)


def _newest_first(waiting: deque[Message]) -> None:
    waiting.rotate(1)


class _Lookups:
    """Changes the partitions in lookup answers; remembers which node was named first."""

    def __init__(self, change: "Callable[[_Lookups, str, Partitions], Partitions]") -> None:
        self._change = change
        self.first: dict[str, object] = {}

    def __call__(self, request: Request, data: object) -> object:
        """Return a lookup answer changed; return any other answer unchanged."""
        if not isinstance(data, dict):
            return data
        answer = cast(dict[str, object], data)
        partitions = answer.get("partitions")
        if not isinstance(partitions, dict):
            return answer
        named = cast(dict[str, object], partitions)
        return {**answer, "partitions": self._change(self, _key(request), named)}

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


def _first_for_ever_to_producers(
    lookups: _Lookups, key: str, partitions: Partitions
) -> Partitions:
    return _first_for_ever(lookups, key, partitions) if key.startswith("w") else partitions


def _nobody_after_a_move(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Omit partitions whose leader has moved from answers to producers."""
    if not key.startswith("w"):
        return partitions
    return {
        each: node
        for each, node in partitions.items()
        if _port(lookups.first_named(key, each, node)) == _port(node)
    }


def _swap(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    nodes = list(partitions.values())
    if key.startswith("w"):
        return partitions
    return dict(zip(partitions, [*nodes[1:], *nodes[:1]], strict=True))


def _all_on_the_first(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    nodes = list(partitions.values())
    return partitions if key.startswith("w") else dict.fromkeys(partitions, nodes[0])


def _only_the_first(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    return partitions if key.startswith("w") else dict(list(partitions.items())[:1])


def _nobody_for_several(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    return partitions if key.startswith("w") or len(partitions) < 2 else {}


def _nowhere_after_a_move(lookups: _Lookups, key: str, partitions: Partitions) -> Partitions:
    """Give producers TCP port 1 for partitions whose leader has moved."""
    if not key.startswith("w"):
        return partitions
    return {
        each: node
        if _port(lookups.first_named(key, each, node)) == _port(node)
        else {**cast(dict[str, object], node), "tcp_port": 1}
        for each, node in partitions.items()
    }


def _port(node: object) -> object:
    return cast(dict[str, object], node).get("tcp_port") if isinstance(node, dict) else None


def _lost_nodes_listed() -> Override:
    """Return the override under which producers are told the last node of each partition."""
    listed: dict[str, dict[str, Record]] = {}

    def find(
        original: Original, question: Question, server: LookupServer, request: Request
    ) -> object:
        found = original(question, server, request)
        if not is_for_writing(request):
            return found
        data = cast(Data, found)
        led = listed.setdefault(request.text("topic"), {})
        led.update(partitions(data))
        return {**data, "partitions": led or data["partitions"]}

    return around(api, "find", find)


FAULTS: tuple[Preset, ...] = (
    wrong_value(
        "lookup-swaps-nodes",
        "lookup answers list each partition's node for the next partition",
        breaks=_NAMED,
        may_break=f"smart.lookup.partitions {MOVED} {_ELSEWHERE}",
        settings=_name_partitions(_swap),
    ),
    wrong_value(
        "lookup-names-one-node",
        "lookup answers list the first partition's node for every partition",
        breaks=_NAMED,
        may_break="smart.lookup.partitions",
        settings=_name_partitions(_all_on_the_first),
    ),
    boundary(
        "lookup-names-one-partition",
        "lookup answers list only the first partition",
        breaks=_NAMED,
        may_break="smart.lookup.partitions",
        settings=_name_partitions(_only_the_first),
    ),
    missing(
        "lookup-names-nobody-of-several",
        "lookup answers list no node to consumers of a topic with several partitions",
        breaks=_NAMED,
        settings=_name_partitions(_nobody_for_several),
    ),
    missing(
        "lookup-keeps-old-leader",
        "lookup answers keep listing the first leader after the leader has moved",
        breaks=f"{_LOOKUP} {_GONE}",
        may_break=MOVED,
        settings=_name_partitions(_first_for_ever),
    ),
    condition(
        "lookup-keeps-old-leader-to-producers",
        "lookup answers for producers keep listing the first leader after the leader has moved",
        breaks=_LOOKUP,
        may_break=MOVED,
        settings=_name_partitions(_first_for_ever_to_producers),
    ),
    wrong_value(
        "lookup-moves-leader-nowhere",
        "after a leader has moved, lookup answers for producers list a port where no node listens",
        breaks=_LOOKUP,
        settings=_name_partitions(_nowhere_after_a_move),
    ),
    missing(
        "lookup-forgets-moved",
        "lookup answers for producers list no node for a partition whose leader has moved",
        breaks=_LOOKUP,
        settings=_name_partitions(_nobody_after_a_move),
    ),
    missing(
        "move-forgets-messages",
        "messages that wait in a channel are lost when another node becomes leader",
        breaks=f"{_KEPT} {_ORDER} {_GONE}",
        may_break=MOVED,
        overrides=_hand_over(_all_lost),
    ),
    boundary(
        "move-forgets-oldest",
        "the oldest message of a channel is lost when another node becomes leader",
        breaks=f"{_KEPT} {_ORDER} {_GONE}",
        may_break=MOVED,
        overrides=_hand_over(_oldest_lost),
    ),
    boundary(
        "move-forgets-newest",
        "the newest message of a channel is lost when another node becomes leader",
        breaks=f"{_KEPT} {_GONE}",
        may_break=MOVED,
        overrides=_hand_over(_newest_lost),
    ),
    wrong_value(
        "move-cuts-messages",
        "messages that wait in a channel lose their last byte when another node becomes leader",
        breaks=f"{_KEPT} {_ORDER} {_GONE}",
        may_break=MOVED,
        overrides=_hand_over(_cut),
    ),
    wrong_value(
        "move-oldest-last",
        "when another node becomes leader, a channel's oldest message is delivered last",
        breaks=_ORDER,
        may_break=MOVED,
        overrides=_hand_over(_oldest_last),
    ),
    wrong_value(
        "move-newest-first",
        "when another node becomes leader, a channel's newest message is delivered first",
        breaks=_ORDER,
        may_break=MOVED,
        overrides=_hand_over(_newest_first),
    ),
    wrong_value(
        "move-reversed",
        "when another node becomes leader, a channel's messages are delivered in reverse order",
        breaks=_ORDER,
        may_break=MOVED,
        overrides=_hand_over(_reverse),
    ),
    missing(
        "move-restarts-ids",
        "a node that became leader starts internal ids from the beginning again",
        breaks=_IDS,
        may_break=MOVED,
        settings={"cluster.next_id": _first_id},
    ),
    boundary(
        "move-repeats-an-id",
        "a node that became leader assigns the last internal ids again",
        breaks=_IDS,
        may_break=MOVED,
        settings={"cluster.next_id": _last_id_again},
    ),
    wrong_value(
        "move-halves-ids",
        "a node that became leader continues from the middle of the internal ids assigned so far",
        breaks=_IDS,
        may_break=MOVED,
        settings={"cluster.next_id": _middle_id},
    ),
    missing(
        "lookup-lists-lost-nodes",
        "lookups with access=w return the last node of a partition although that node is lost",
        breaks="smart.cluster.gone-lookup",
        may_break=f"{LOOKERS} smart.cluster.disabled-lookup smart.lookup.unknown-topic",
        overrides=(_lost_nodes_listed(),),
    ),
)
