"""Faults of creating and deleting topics through a lookup server."""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.cluster.cluster_topic import ClusterTopic, Settings
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.lookupd import parameters, topics
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.limits import MAX_NAME_SIZE

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


def _keep_when(kept: Callable[[ClusterTopic], bool]) -> tuple[Override, ...]:
    """Return overrides under which the deletion of some topics is answered and not done."""

    def delete(
        original: Original, coordinator: Coordinator, topic: ClusterTopic, now_ns: int
    ) -> None:
        if not kept(topic):
            original(coordinator, topic, now_ns)

    return (around(Coordinator, "delete", delete),)


@boundary("create.extend", partial(_create_as, extend=b"false"))
def create_extend_of_one_partition(r: Request) -> bool:
    """Creating a topic of one partition ignores extend=true."""
    return _is_single(r) and not r.text("multipart")


@missing("create.extend", around(Coordinator, "create"))
def create_extend_unfulfilled(
    original: Original, coordinator: Coordinator, name: str, settings: Settings
) -> None:
    """Creating an ext topic of one partition is answered with success and does nothing."""
    if not settings.extend or settings.partitions > 1:
        original(coordinator, name, settings)


@condition("create.odd", partial(_create_as, extend=b"false"))
def create_extend_of_parts(r: Request) -> bool:
    """Creating a topic with multipart=true ignores extend=true."""
    return r.text("multipart") == "true"


@condition("create.odd", partial(_create_as, extend=b"false"))
def create_extend_of_ordered_topics(r: Request) -> bool:
    """Creating a topic of one partition with orderedmulti=true ignores extend=true."""
    return _is_single(r) and r.text("orderedmulti") == "true"


@boundary("create.names", around(parameters, "topic_name"))
def create_long_names_refused(original: Callable[..., str], request: Request, *more: str) -> str:
    """A topic whose name has 64 letters is not created."""
    name = original(request, *more)
    if len(name) == MAX_NAME_SIZE:
        raise HttpRefusal(400, "INVALID_ARG_TOPIC")
    return name


@condition("create.names", around(parameters, "topic_name"))
def create_names_with_a_point_refused(
    original: Callable[..., str], request: Request, *more: str
) -> str:
    """A topic whose name has a point is not created."""
    name = original(request, *more)
    if "." in name:
        raise HttpRefusal(400, "INVALID_ARG_TOPIC")
    return name


@wrong_value("create.names", around(parameters, "topic_name"))
def create_names_in_small_letters(
    original: Callable[..., str], request: Request, *more: str
) -> str:
    """A topic is created with its name in small letters."""
    return original(request, *more).lower()


@wrong_value("create.parameters")
def create_two_partitions() -> Change:
    """Creating a topic of one partition creates two partitions."""
    return _create_as(_is_single, partition_num=b"2")


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


@condition("create.again")
def create_again_without_retention() -> Change:
    """Creating a topic again ignores retention."""
    return _count_as(_RetentionOnce())


def _is_extended(request: Request) -> bool:
    return request.text("extend") == "true"


@condition("create.parameters", partial(_create_as, replicator=b"1"))
def create_one_copy(r: Request) -> bool:
    """Creating an ext topic of one partition ignores replicator."""
    return r.text("partition_num") == "1" and _is_extended(r)


@boundary("create.parameters", partial(_create_as, extend=b"true"))
def create_extend_by_its_name(r: Request) -> bool:
    """Creating a topic of one partition reads any value of extend as true."""
    return _is_single(r) and "extend" in r.query


@extra("create.parameters", partial(_create_as, extend=b"true"))
def create_extend_unasked(r: Request) -> bool:
    """Creating a topic of one partition makes it an ext topic even if extend is not given."""
    return _is_single(r) and "extend" not in r.query


@missing("create.delete", _keep_when)
def delete_never(topic: ClusterTopic) -> bool:
    """The deletion of a topic is answered with success and does nothing."""
    return True


@condition("create.delete", _keep_when)
def delete_not_plain(topic: ClusterTopic) -> bool:
    """The deletion of a topic without ext support is answered with success and does nothing."""
    return not topic.settings.extend


class _SecondDeletion:
    """Passes the topics that are deleted for the first time."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def __call__(self, topic: ClusterTopic) -> bool:
        """Return True unless the deletion of this topic was requested before."""
        known = topic.name in self._named
        self._named.add(topic.name)
        return not known


@boundary("create.delete")
def delete_at_the_second_request() -> Change:
    """A topic is deleted only when its deletion is requested for the second time."""
    return _keep_when(_SecondDeletion())


FAULTS = list_faults(__name__)
