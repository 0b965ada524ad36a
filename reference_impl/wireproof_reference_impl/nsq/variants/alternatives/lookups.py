"""Alternatives of lookup servers: what no text says of their parameters, forms and refusals."""

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, Settings
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.http import connection as http_connection
from wireproof_reference_impl.nsq.http.connection import HttpConnection
from wireproof_reference_impl.nsq.lookup_changes import lookup_nodes, producers
from wireproof_reference_impl.nsq.lookupd import api, lookup, parameters, topics
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.strict_json import members_of

_SERVICES = frozenset({"/nodes", "/topics", "/channels", "/info"})
_QUESTIONS = _SERVICES | {"/lookup", "/listlookup"}
_CREATING = frozenset({"/topic/create", "/topic/creat"})
_LOADS = count(1)


def _parameter(path: str, name: str, value: str) -> tuple[Override, ...]:
    """Return overrides under which a request to a path always has this parameter."""

    def text(original: Callable[..., str], request: Request, asked: str) -> str:
        is_it = request.path == path and asked == name
        return value if is_it else original(request, asked)

    return (around(Request, "text", text),)


def _needs_access(original: Callable[..., str], request: Request) -> str:
    if not request.text("access"):
        raise HttpRefusal(400, "MISSING_ARG_ACCESS")
    return original(request)


def _any_access(original: Callable[..., str], request: Request) -> str:
    return lookup.WRITE if request.text("access") == lookup.WRITE else lookup.READ


def _in_envelope(original: Callable[..., Answer], *args: object, v1: bool) -> Answer:
    request = args[2]
    asked = isinstance(request, Request) and request.path in _QUESTIONS
    return original(*args, v1=v1 and not asked)


def _as_addresses(request: Request, data: object) -> object:
    """Return the lookup servers as a list of addresses, not in the form of deployed servers."""
    if request.path != "/listlookup":
        return data
    nodes = lookup_nodes(members_of(data))
    return {"nsqlookupds": [f"{node['NodeIP']}:{node['HttpPort']}" for node in nodes]}


def _as_original(request: Request, data: object) -> object:
    """Return the services in the form of the original nsqlookupd, which knows no partitions."""
    if request.path == "/info":
        return {"version": "1.0.0"}
    if request.path != "/nodes":
        return data
    kept = ("remote_address", "hostname", "broadcast_address", "tcp_port", "http_port", "version")
    return {
        "producers": [
            {**{name: node[name] for name in kept}, "topics": node["topics"]}
            for node in producers(members_of(data))
        ]
    }


def _number_or_one(original: Callable[..., int], *args: object, **named: object) -> int:
    try:
        return original(*args, **named)
    except HttpRefusal:
        return 1


def _on_any_node(original: Callable[..., Settings], request: Request) -> Settings:
    return replace(original(request), multi_part=True)


def _never_the_same(original: Callable[..., Settings], request: Request) -> Settings:
    return replace(original(request), load=next(_LOADS))


def _by_any_method(
    original: Callable[..., HttpRefusal | None],
    connection: HttpConnection[http_connection.Site],
    request: Request,
    *more: object,
) -> HttpRefusal | None:
    """Create topics by GET, too, and by POST and nothing else where PUT is asked for."""
    if request.path in _CREATING and request.method in ("GET", "PUT"):
        if request.method == "PUT":
            return HttpRefusal(405, "METHOD_NOT_ALLOWED", allow="POST")
        return original(connection, replace(request, method="POST"), *more)
    return original(connection, request, *more)


def _upgrade_once(
    original: Original, cluster: Coordinator, topic: ClusterTopic, now_ns: int
) -> None:
    if topic.settings.extend:
        raise HttpRefusal(400, "the topic is extend already")
    original(cluster, topic, now_ns)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "lookup-meta-always",
        "a lookup answer has meta also where metainfo is not asked for",
        overrides=_parameter("/lookup", "metainfo", "true"),
    ),
    alternative(
        "lookup-ignores-partition",
        "a lookup lists all partitions, whichever one it asks for",
        overrides=_parameter("/lookup", "partition", ""),
    ),
    alternative(
        "lookup-needs-access",
        "a lookup without access is refused",
        overrides=(around(lookup, "read_access", _needs_access),),
    ),
    alternative(
        "lookup-takes-any-access",
        "a lookup with an access that does not exist is answered as one for reading",
        overrides=(around(lookup, "read_access", _any_access),),
        not_with="lookup-needs-access",
    ),
    alternative(
        "lookup-always-in-envelope",
        "answers of lookup servers have the envelope, whatever is asked for",
        overrides=(around(api, "answer", _in_envelope),),
    ),
    alternative(
        "listlookup-as-addresses",
        "the answer to listlookup is a list of addresses",
        {"lookup.answer": _as_addresses},
        lacks="lookups",
    ),
    alternative(
        "services-as-original",
        "the services of lookup servers have the form of the original",
        {"lookup.answer": _as_original},
    ),
    alternative(
        "no-tombstones",
        "lookup servers know no tombstones",
        {"http.unknown_paths": frozenset({"/topic/tombstone"})},
        lacks="tombstone",
    ),
    alternative(
        "create-takes-any-number",
        "a number of a creation that is missing or out of range counts as 1",
        overrides=(around(parameters, "number", _number_or_one),),
    ),
    alternative(
        "create-shares-nodes",
        "a topic may have several partitions on one node",
        overrides=(around(topics, "read_settings", _on_any_node),),
    ),
    alternative(
        "create-again-refused",
        "the creation of a topic that exists is refused",
        overrides=(around(topics, "read_settings", _never_the_same),),
        not_with="create-shares-nodes",
    ),
    alternative(
        "create-by-get",
        "topics are created by GET, too, and not by PUT",
        overrides=(around(HttpConnection, "_refusal", _by_any_method),),
    ),
    alternative(
        "upgrade-again-refused",
        "the upgrade of an ext topic is refused",
        overrides=(around(Coordinator, "upgrade", _upgrade_once),),
    ),
    alternative(
        "delete-needs-no-partition",
        "a deletion deletes the whole topic, whatever partition it names",
        overrides=_parameter("/topic/delete", "partition", "**"),
    ),
)
