"""Creates, changes and removes topics through a lookup server."""

from typing import NamedTuple

from msgspec.structs import replace

from wireproof_reference_impl.nsq.cluster.cluster_topic import Settings
from wireproof_reference_impl.nsq.cluster.coordinator import NoRoom
from wireproof_reference_impl.nsq.lookupd import parameters
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.limits import MAX_PARTITIONS_CREATED

NOT_LEADER = "Not nsqlookup leader"
NO_ROOM = "ErrType:9 ErrCode:1 : No node is available for topic"

_ANY = range(-(1 << 63), 1 << 63)
_MOST_SYNC_EVERY = 4000
_MOST_RETENTION_DAYS = 60
_ALL = "**"


class _Changes(NamedTuple):
    """Changes to a topic's settings; 0 copies, negative numbers and None change nothing."""

    replicas: int
    sync_every: int
    retention_days: int
    channels_made: bool | None


def create(server: LookupServer, request: Request) -> None:
    """Handle a request that creates a topic; repeating it succeeds, other settings are refused.

    Clause: ext.create
    """
    name = parameters.topic_name(request)
    settings = read_settings(request)
    if not server.leads:
        raise HttpRefusal(400, error_codes.E_FAILED_ON_NOT_LEADER)
    if settings.partitions > MAX_PARTITIONS_CREATED:
        raise HttpRefusal(400, "max partition allowed exceed")
    known = server.cluster.topics.get(name)
    if known is not None:
        if known.settings != settings:
            raise HttpRefusal(400, "already exist")
        return
    try:
        server.cluster.create(name, settings)
    except NoRoom as error:
        raise HttpRefusal(400, NO_ROOM) from error


def update(server: LookupServer, request: Request) -> None:
    """Handle a request that upgrades a topic, or changes its settings.

    Clause: ext.upgrade.accept
    """
    name = parameters.topic_name(request, parameters.INVALID_TOPIC_NAME)
    wanted = _changes(request)
    if not server.leads:
        raise HttpRefusal(400, NOT_LEADER)
    if wanted.sync_every > _MOST_SYNC_EVERY:
        raise HttpRefusal(400, "max sync every allowed exceed")
    if wanted.retention_days > _MOST_RETENTION_DAYS:
        raise HttpRefusal(400, "max retention days allowed exceed")
    topic = server.cluster.topics.get(name)
    if topic is None:
        raise HttpRefusal(400, "topic is not created")
    settings = _change_settings(topic.settings, wanted)
    if settings != topic.settings:
        server.cluster.change(topic, settings, request.now_ns)
    if parameters.flag(request, "upgradeext"):
        server.cluster.upgrade(topic, request.now_ns)


def delete(server: LookupServer, request: Request) -> None:
    """Handle a request that removes a topic with all its partitions."""
    name = parameters.topic_name(request)
    partition = request.text("partition")
    if not partition:
        raise HttpRefusal(400, "MISSING_ARG_TOPIC_PARTITION")
    if partition != _ALL:
        raise HttpRefusal(400, "REMOVE_SINGLE_PARTITION_NOT_ALLOWED")
    if not server.leads:
        raise HttpRefusal(500, NOT_LEADER)
    topic = server.cluster.topics.get(name)
    if topic is not None:
        server.cluster.delete(topic, request.now_ns)
    elif not parameters.flag(request, "force"):
        raise HttpRefusal(500, "Key not found")


def tombstone(server: LookupServer, request: Request) -> None:
    """Handle a request that hides a node from a topic's producers, or shows it with `restore`."""
    topic = server.cluster.topics.get(parameters.topic(request))
    word = request.text("node")
    if not word:
        raise HttpRefusal(400, "MISSING_ARG_NODE")
    for member in server.cluster.members:
        if word == f"{member.http[0]}:{member.http[1]}" and topic is not None:
            mark = (topic.name, member)
            if parameters.flag(request, "restore"):
                server.cluster.tombstones.discard(mark)
            else:
                server.cluster.tombstones.add(mark)


def _changes(request: Request) -> _Changes:
    word = request.text("disable_channel_auto_create")
    return _Changes(
        _replicator(request, needed=False),
        _sync_every(request) if request.text("syncdisk") else -1,
        _retention_days(request) if request.text("retention") else -1,
        word == "false" if word in ("true", "false") else None,
    )


def _change_settings(settings: Settings, wanted: _Changes) -> Settings:
    made = wanted.channels_made
    return replace(
        settings,
        replicas=wanted.replicas or settings.replicas,
        sync_every=settings.sync_every if wanted.sync_every < 0 else wanted.sync_every,
        retention_days=(
            settings.retention_days if wanted.retention_days < 0 else wanted.retention_days
        ),
        channels_made=settings.channels_made if made is None else made,
    )


def read_settings(request: Request) -> Settings:
    """Return the topic settings in a request, checked in the order of nsqlookupd."""
    return Settings(
        partitions=parameters.number(
            request,
            "partition_num",
            range(1, 256),
            missing=error_codes.MISSING_ARG_TOPIC_PARTITION_NUM,
            invalid=error_codes.INVALID_ARG_TOPIC_PARTITION_NUM,
        ),
        replicas=_replicator(request, needed=True),
        load=parameters.number(
            request,
            "suggestload",
            range(10001),
            missing=None,
            invalid="INVALID_ARG_TOPIC_LOAD_FACTOR",
        ),
        sync_every=min(_sync_every(request), _MOST_SYNC_EVERY),
        retention_days=_retention_days(request),
        extend=parameters.flag(request, "extend"),
        ordered=parameters.flag(request, "orderedmulti"),
        multi_part=parameters.flag(request, "multipart"),
        channels_made=not parameters.flag(request, "disable_channel_auto_create"),
    )


def _replicator(request: Request, *, needed: bool) -> int:
    return parameters.number(
        request,
        "replicator",
        range(1, 6),
        missing=error_codes.MISSING_ARG_TOPIC_REPLICATOR if needed else None,
        invalid=error_codes.INVALID_ARG_TOPIC_REPLICATOR,
    )


def _sync_every(request: Request) -> int:
    invalid = "INVALID_ARG_TOPIC_SYNC_DISK"
    return parameters.number(request, "syncdisk", _ANY, missing=None, invalid=invalid)


def _retention_days(request: Request) -> int:
    return parameters.number(request, "retention", _ANY, missing=None, invalid=None)
