"""Faults of creating and deleting topics through a lookup server."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.lookupd import topics
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.overrides import Original, Override, around

When = Callable[[Request], bool]


def _count_as(creation: Callable[[Request], Request]) -> tuple[Override, ...]:
    """Return overrides that replace the request to create a topic by another one."""

    def read_settings(original: Original, request: Request) -> object:
        return original(creation(request))

    return (around(topics, "read_settings", read_settings),)


def _create_as(when: When, **parameters: bytes) -> tuple[Override, ...]:
    """Return overrides that replace the parameters of some requests to create a topic."""

    def creation(request: Request) -> Request:
        if not when(request):
            return request
        return replace(request, query={**request.query, **parameters})

    return _count_as(creation)


def _is_single(request: Request) -> bool:
    """Return True if a topic of one partition with one replica is requested."""
    asked = (request.text("partition_num"), request.text("replicator"))
    return asked == ("1", "1")


def _is_extended(request: Request) -> bool:
    return request.text("extend") == "true"


class _RetentionOnce:
    """Ignores the retention time when a topic is created again."""

    def __init__(self) -> None:
        self._made: set[str] = set()

    def __call__(self, request: Request) -> Request:
        """Return the request to run instead."""
        topic = request.text("topic")
        known = topic in self._made
        self._made.add(topic)
        return replace(request, query={**request.query, "retention": b""}) if known else request


def _keep_when(kept: Callable[[ClusterTopic], bool]) -> tuple[Override, ...]:
    """Return overrides under which the deletion of some topics is answered and not done."""

    def delete(
        original: Original, coordinator: Coordinator, topic: ClusterTopic, now_ns: int
    ) -> None:
        if not kept(topic):
            original(coordinator, topic, now_ns)

    return (around(Coordinator, "delete", delete),)


class _SecondDeletion:
    """Passes the topics that are deleted for the first time."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def __call__(self, topic: ClusterTopic) -> bool:
        """Return True unless the deletion of this topic was requested before."""
        known = topic.name in self._named
        self._named.add(topic.name)
        return not known


_EXTEND = "create.extend"
_DELETE = "create.delete"
_PARAMETERS = "create.parameters"
_SINGLE = (
    "create.extend create.parameters create.odd create.again create.refused create.delete "
    "create.delete-odd create.update lookup.extend-support"
)
"""Clauses of which some case creates a topic of one partition."""
_DELETED = "create.delete-odd smart.lookup.unknown-topic"
"""Clauses of which some case deletes a topic."""

FAULTS: tuple[Preset, ...] = (
    boundary(
        "create-extend-of-one-partition",
        "creating a topic of one partition ignores extend=true",
        breaks=_EXTEND,
        may_break=_SINGLE,
        overrides=_create_as(lambda r: _is_single(r) and not r.text("multipart"), extend=b"false"),
    ),
    condition(
        "create-extend-of-parts",
        "creating a topic with multipart=true ignores extend=true",
        breaks=_EXTEND,
        overrides=_create_as(lambda r: r.text("multipart") == "true", extend=b"false"),
    ),
    condition(
        "create-extend-of-ordered-topics",
        "creating a topic of one partition with orderedmulti=true ignores extend=true",
        breaks=_EXTEND,
        overrides=_create_as(
            lambda r: _is_single(r) and r.text("orderedmulti") == "true", extend=b"false"
        ),
    ),
    wrong_value(
        "create-two-partitions",
        "creating a topic of one partition creates two partitions",
        breaks=_PARAMETERS,
        may_break=_SINGLE,
        overrides=_create_as(_is_single, partition_num=b"2"),
    ),
    condition(
        "create-again-without-retention",
        "creating a topic again ignores retention",
        breaks="create.again",
        overrides=_count_as(_RetentionOnce()),
    ),
    condition(
        "create-one-copy",
        "creating an ext topic of one partition ignores replicator",
        breaks=_PARAMETERS,
        may_break="smart.cluster.not-leader",
        overrides=_create_as(
            lambda r: r.text("partition_num") == "1" and _is_extended(r), replicator=b"1"
        ),
    ),
    boundary(
        "create-extend-by-its-name",
        "creating a topic of one partition reads any value of extend as true",
        breaks=_PARAMETERS,
        may_break="create.odd",
        overrides=_create_as(lambda r: _is_single(r) and "extend" in r.query, extend=b"true"),
    ),
    extra(
        "create-extend-unasked",
        "creating a topic of one partition makes it an ext topic even if extend is not given",
        breaks=_PARAMETERS,
        may_break="create.odd create.again",
        overrides=_create_as(lambda r: _is_single(r) and "extend" not in r.query, extend=b"true"),
    ),
    missing(
        "delete-never",
        "the deletion of a topic is answered with success and does nothing",
        breaks=_DELETE,
        may_break=_DELETED,
        overrides=_keep_when(lambda topic: True),
    ),
    condition(
        "delete-not-plain",
        "the deletion of a topic without ext support is answered with success and does nothing",
        breaks=_DELETE,
        may_break=_DELETED,
        overrides=_keep_when(lambda topic: not topic.settings.extend),
    ),
    boundary(
        "delete-at-the-second-request",
        "a topic is deleted only when its deletion is requested for the second time",
        breaks=_DELETE,
        may_break=_DELETED,
        overrides=_keep_when(_SecondDeletion()),
    ),
)
