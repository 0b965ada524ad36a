"""The control API of a cluster: breaks the cluster on purpose, and repairs it.

An HTTP API of our own, with parameters in the query. The response is the state of the cluster,
limited to the topic if one is given, or 400 and one sentence; or 403 and one sentence for a
request that does not show the token, or that a web page has sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.control_access import ControlAccess
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, PartitionReplicas
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator, Impossible, Writes
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.delivery.timers import Timers
from wireproof_reference_impl.nsq.http.connection import HttpConnection, Route
from wireproof_reference_impl.nsq.lookupd import distortion
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request, data
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.served import Schedule

_MILLISECOND = 1_000_000
_MOST_DELAY_MS = 600_000
_REDIRECT = "redirect"


class Control:
    """The cluster as the control API acts on it; faults and variants do not affect the API."""

    def __init__(
        self,
        cluster: Coordinator,
        servers: Sequence[LookupServer],
        schedule: Schedule | None = None,
    ) -> None:
        self.access = ControlAccess()
        self.cluster = cluster
        self.servers = servers
        self.behaviour = Behaviour()
        self.limits = Limits()
        self.schedule = Schedule() if schedule is None else schedule
        self.timers = Timers(self.schedule)
        self.changed = self.schedule.changed
        self.open = True
        self.halted = False

    def run_timers(self, now_ns: int) -> None:
        """Do nothing: the control API has no timers."""


def state(control: Control, request: Request) -> None:
    """Handle a control request for the state of the cluster: change nothing."""


def leader(control: Control, request: Request) -> None:
    """Handle a control request: move a partition's leader to a given node, or to the next one."""
    topic, place = _partition(control, request)
    to = _node(control, request) if request.text("node") else None
    control.cluster.move_leader(topic, place, to, request.now_ns)


def writable(control: Control, request: Request) -> None:
    """Handle a control request: make a partition writable or read-only."""
    topic, place = _partition(control, request)
    word = _one_of(request, "writable", ("true", "false"))
    control.cluster.set_writable(topic, place, writable=word == "true")


def node(control: Control, request: Request) -> None:
    """Handle a control request: stop a node, or start it again."""
    member = _node(control, request)
    if _one_of(request, "state", ("up", "down")) == "up":
        control.cluster.bring_up(member, request.now_ns)
    else:
        control.cluster.take_down(member, request.now_ns)


def writes(control: Control, request: Request) -> None:
    """Handle a control request: disable writing for all topics, for ordered ones, or for none."""
    word = _one_of(request, "type", [Write.value for Write in Writes])
    control.cluster.writes = Writes(word)


def lookup(control: Control, request: Request) -> None:
    """Handle a control request: set how a lookup server distorts its answers."""
    server = _server(control, request)
    word = _one_of(request, "answer", (*distortion.WAYS, _REDIRECT))
    if word == _REDIRECT:
        others = [*control.servers[server.number :], *control.servers[: server.number - 1]]
        way = distortion.redirect((others or [server])[0].address)
    else:
        way = distortion.WAYS[word]
    delay = request.text("delay_ms")
    if delay:
        way = replace(way, delay_ns=_delay_ms(delay) * _MILLISECOND)
    server.answering = way


def connector(control: Control) -> Callable[[object, int], HttpConnection[Control]]:
    """Return the function that makes the protocol of an accepted HTTP connection."""
    return lambda _, now_ns: HttpConnection(control, ROUTES)


def _route(act: Callable[[Control, Request], None], method: str) -> Route[Control]:
    def handler(control: Control, request: Request) -> Answer:
        if refused := control.access.refusal(request.headers):
            raise HttpRefusal(403, refused)
        try:
            act(control, request)
        except Impossible as error:
            raise HttpRefusal(400, str(error)) from error
        return data(_state(control, _choose_topics(control, request)), v1=True)

    return Route(handler, (method,), always_v1=True)


ROUTES: Mapping[str, Route[Control]] = {
    "/control/state": _route(state, "GET"),
    "/control/leader": _route(leader, "POST"),
    "/control/writable": _route(writable, "POST"),
    "/control/node": _route(node, "POST"),
    "/control/writes": _route(writes, "POST"),
    "/control/lookup": _route(lookup, "POST"),
}


def _choose_topics(control: Control, request: Request) -> Iterable[ClusterTopic]:
    """Return the topics to show in a response: the given one, or all if none is given."""
    if request.method == "GET":
        return control.cluster.topics.values()
    named = control.cluster.topics.get(request.text("topic"))
    return () if named is None else (named,)


def _state(control: Control, topics: Iterable[ClusterTopic]) -> Mapping[str, object]:
    return {
        "nodes": [
            {
                "tcp": member.address,
                "http": member.http_address,
                "state": "up" if member.up else "down",
            }
            for member in control.cluster.members
        ],
        "lookupds": [
            {"http": server.address, "leads": server.leads, "answer": server.answering.name}
            for server in control.servers
        ],
        "writes_disabled": control.cluster.writes.value,
        "topics": {topic.name: _topic(topic) for topic in topics},
    }


def _topic(topic: ClusterTopic) -> Mapping[str, object]:
    return {
        str(place.number): {
            "leader": None if place.leader is None else place.leader.address,
            "replicas": [replica.address for replica in place.replicas],
            "in_sync": [replica.address for replica in place.replicas if replica in place.in_sync],
            "writable": place.writable,
        }
        for place in topic.places.values()
    }


def _partition(control: Control, request: Request) -> tuple[ClusterTopic, PartitionReplicas]:
    name = _read_parameter(request, "topic")
    topic = control.cluster.topics.get(name)
    if topic is None:
        raise Impossible(f"there is no topic {name!r}")
    word = request.text("partition") or "0"
    for place in topic.places.values():
        if str(place.number) == word:
            return topic, place
    count = len(topic.places)
    raise Impossible(f"topic {name!r} has {count} partition(s) from 0 on, none is {word!r}")


def _node(control: Control, request: Request) -> Member:
    word = _read_parameter(request, "node")
    found = {member.address: member for member in control.cluster.members}
    if word not in found:
        raise Impossible(f"no node listens at {word!r}; there are {', '.join(found)}")
    return found[word]


def _server(control: Control, request: Request) -> LookupServer:
    word = _read_parameter(request, "lookupd")
    found = {server.address: server for server in control.servers}
    if word not in found:
        raise Impossible(f"no lookup server listens at {word!r}; there are {', '.join(found)}")
    return found[word]


def _one_of(request: Request, name: str, words: Sequence[str]) -> str:
    word = _read_parameter(request, name)
    if word not in words:
        raise Impossible(f"{name} {word!r} is unknown; one of {', '.join(words)} is needed")
    return word


def _read_parameter(request: Request, name: str) -> str:
    word = request.text(name)
    if not word:
        raise Impossible(f"the parameter {name!r} is missing")
    return word


def _delay_ms(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) <= _MOST_DELAY_MS):
        raise Impossible(f"delay_ms {word!r} is no number of milliseconds up to {_MOST_DELAY_MS}")
    return int(word)
