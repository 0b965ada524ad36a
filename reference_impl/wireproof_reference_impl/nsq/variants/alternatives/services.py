"""Alternatives of HTTP: creation of topics, lookups, and how requests are refused."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.http import connection as http_connection
from wireproof_reference_impl.nsq.http import topics as standalone
from wireproof_reference_impl.nsq.lookup_changes import is_lookup
from wireproof_reference_impl.nsq.lookupd import parameters, topics
from wireproof_reference_impl.nsq.requests import lookup_rules
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.strict_json import is_object, members_of

_KNOWN = frozenset({"topic", "partition_num", "replicator", "extend", "upgradeext"})
_MOST_PARTITIONS = 2


def _flag_of(names: frozenset[str]) -> Callable[..., object]:
    def flag(original: Callable[..., bool], request: Request, name: str) -> bool:
        return name in names and original(request, name)

    return flag


def _refuse_unknown(original: Original, request: Request) -> object:
    for name in request.query:
        if name not in _KNOWN:
            raise HttpRefusal(400, f"INVALID_ARG_{name.upper()}")
    return original(request)


def _two_partitions(original: Original, request: Request) -> object:
    word = request.text("partition_num")
    if len(word) < 10 and word.isdigit() and int(word) > _MOST_PARTITIONS:
        raise HttpRefusal(400, "INVALID_ARG_TOPIC_PARTITION_NUM")
    return original(request)


def _extend_only_when_true(request: Request, data: object) -> object:
    meta = members_of(data).get("meta")
    if not (is_lookup(request) and is_object(data) and is_object(meta)) or meta.get(
        "extend_support"
    ):
        return data
    kept = {name: value for name, value in meta.items() if name != "extend_support"}
    return {**data, "meta": kept}


def _server_errors(original: Callable[..., Answer], status: int, code: str, *, v1: bool) -> Answer:
    return original(max(status, 500), code, v1=v1)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "create-ignores-other-parameters",
        "creation of topics knows the published parameters only, and ignores others",
        overrides=(
            around(parameters, "flag", _flag_of(_KNOWN | {"force", "restore"})),
            around(standalone, "_flag", _flag_of(_KNOWN | {"force"})),
        ),
        lacks="order",
    ),
    alternative(
        "create-refuses-other-parameters",
        "creation of topics knows the published parameters only, and refuses others",
        overrides=(
            around(topics, "read_settings", _refuse_unknown),
            around(standalone, "_partition_count", _refuse_unknown),
        ),
        lacks="order",
    ),
    alternative(
        "two-partitions-at-most",
        "a topic of more than two partitions is refused",
        overrides=(
            around(topics, "read_settings", _two_partitions),
            around(standalone, "_partition_count", _two_partitions),
        ),
    ),
    alternative(
        "topics-not-deleted",
        "no topic can be deleted by HTTP",
        {"http.unknown_paths": frozenset({"/topic/delete", "/channel/delete"})},
    ),
    alternative(
        "only-topic-creat",
        "topics are created at the published path only",
        {"http.unknown_paths": frozenset({"/topic/create"})},
    ),
    alternative(
        "only-topic-create",
        "topics are created at the deployed path only",
        {"http.unknown_paths": frozenset({"/topic/creat"})},
    ),
    alternative(
        "lookup-extend-only-when-true",
        "meta has extend_support on ext topics only",
        {"lookup.answer": _extend_only_when_true},
    ),
    alternative(
        "lookup-needs-channel",
        "a lookup for writing names no node of a topic without channels",
        {"lookup.channel_needed": True},
    ),
    alternative(
        "lookup-errors-unescaped",
        "errors of lookup servers are written as by the measured one",
        {"lookup.error": lookup_rules.unescaped_error},
    ),
    alternative(
        "http-server-errors",
        "HTTP requests are refused with status 500 and above",
        overrides=(around(http_connection, "error", _server_errors),),
    ),
)
