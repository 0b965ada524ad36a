"""Faults of the lookup answers about a topic.

Most are wrong only in the older style, or only for consumers: what a client needs to find its
topics stays right, so that capabilities still show.
"""

import json
from collections.abc import Callable
from typing import cast

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.lookup_changes import (
    LOOKERS,
    Change,
    Data,
    Record,
    When,
    change_some,
    channels,
    is_for_reading,
    is_for_writing,
    is_lookup,
    is_old,
    is_unmeant,
    only_partitions,
    partitions,
    refuse,
    rename,
    without,
)
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd import lookup as lookups
from wireproof_reference_impl.nsq.lookupd.api import Question
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.nsq.requests.http_request import data as answer_with
from wireproof_reference_impl.nsq.requests.lookup_rules import escaped_error
from wireproof_reference_impl.overrides import Original, Override, around

_STRANGER: Record = {
    "id": "127.0.0.1:1",
    "remote_address": "127.0.0.1:1",
    "hostname": "stranger",
    "broadcast_address": "127.0.0.1",
    "tcp_port": 4150,
    "http_port": 4151,
    "version": "0",
    "distributed_id": "127.0.0.1:0:4150:1",
}


def _bare_when(when: When) -> tuple[Override, ...]:
    """Return overrides under which some answers have the newer style without a request for it."""

    def answer(
        original: Original, question: Question, server: LookupServer, request: Request, *, v1: bool
    ) -> object:
        return original(question, server, request, v1=v1 or when(request))

    return (around(api, "answer", answer),)


def _asks_for_meta(request: Request) -> bool:
    return is_lookup(request) and not is_unmeant(request)


def _with_access(access_of: Callable[[str], str]) -> tuple[Override, ...]:
    """Return overrides under which a topic is looked up with another access."""

    def read_access(original: Original, request: Request) -> str:
        return access_of(cast(str, original(request)))

    return (around(lookups, "read_access", read_access),)


def _the_other(access: str) -> str:
    return "r" if access == "w" else "w"


def _change_envelope(change: Change) -> Settings:
    """Return settings that change the envelope of older-style answers."""

    def send(request: Request, answer: Answer) -> Answer:
        if request.v1 or not is_lookup(request):
            return answer
        right = _parse(answer)
        return Answer(answer.status, compact_json(change(right)), answer.headers)

    return {"lookup.sent": send}


def _parse(answer: Answer) -> Data:
    return cast(Data, json.loads(answer.body))


def _stranger_for_unknown(when: When) -> Settings:
    def strange(data: Data) -> object:
        if partitions(data) or channels(data):
            return data
        return {**data, "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}

    return change_some(strange, when)


def _stranger_for_producers(refusal: HttpRefusal, v1: bool) -> Answer:
    if refusal.code != "Key not found" or refusal.status != 404:
        return escaped_error(refusal, v1)
    found = {"channels": [], "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}
    return answer_with(found, v1=v1)


class _StaleAnswers:
    """Repeats earlier lookup answers about where a topic was."""

    def __init__(self) -> None:
        self._told: dict[str, Data] = {}

    def __call__(self, request: Request, data: object) -> object:
        """Return an answer for consumers as it was when it last listed a partition."""
        if not is_lookup(request):
            return data
        found, topic = cast(Data, data), request.text("topic")
        if partitions(found):
            self._told[topic] = found
        return self._told.get(topic, found) if is_for_reading(request) else found


def _without_a_text(request: Request, refusal: HttpRefusal) -> HttpRefusal:
    """Remove the text of refusals of a lookup with unknown access, or of changes to a topic."""
    says_why = is_lookup(request) and not request.text("access")
    return refusal if says_why else HttpRefusal(refusal.status, "")


def _forms_exchanged(refusal: HttpRefusal, v1: bool) -> Answer:
    return escaped_error(refusal, not v1)


_ANSWER = "smart.lookup.answer"
_ENVELOPE = "smart.lookup.envelope"
_CONSUMER = "smart.lookup.consumer"
_CHANNELS = "smart.lookup.channels"
_UNKNOWN = "smart.lookup.unknown-topic"
_ACCESS = "smart.lookup.access"
_EXTEND = "lookup.extend-support"

FAULTS: tuple[Preset, ...] = (
    missing(
        "lookup-without-channels",
        "lookup answers in the older style have no channels",
        breaks=_ANSWER,
        may_break=LOOKERS,
        settings=change_some(without("channels"), is_old),
    ),
    wrong_value(
        "lookup-producers-renamed",
        "lookup answers in the older style call producers nodes",
        breaks=_ANSWER,
        may_break=LOOKERS,
        settings=change_some(rename("producers", "nodes"), is_old),
    ),
    wrong_value(
        "lookup-partitions-in-a-list",
        "partitions is a list of nodes in lookup answers in the older style",
        breaks=_ANSWER,
        may_break=LOOKERS,
        settings=change_some(
            lambda data: {**data, "partitions": list(partitions(data).values())}, is_old
        ),
    ),
    condition(
        "lookup-without-producers-to-producers",
        "lookup answers in the older style have no producers if a producer asks",
        breaks=_ANSWER,
        may_break=LOOKERS,
        settings=change_some(without("producers"), lambda r: is_old(r) and is_for_writing(r)),
    ),
    missing(
        "lookup-always-bare",
        "lookup answers never have the envelope of the older style",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1 smart.lookup.error-form smart.lookup.services "
        "smart.lookup.services-form smart.lookup.listlookup-form smart.lookup.disabled",
        overrides=_bare_when(lambda request: True),
    ),
    missing(
        "lookup-refuses-without-a-text",
        "lookup servers refuse requests without an error text",
        breaks="smart.lookup.error-form",
        settings={"lookup.refusal": _without_a_text},
    ),
    wrong_value(
        "lookup-error-forms-exchanged",
        "lookup errors have an envelope where none is due, and none where one is due",
        breaks="smart.lookup.error-form",
        settings={"lookup.error": _forms_exchanged},
    ),
    wrong_value(
        "lookup-envelope-text",
        "status_txt in the envelope of lookup answers is ok in lower case",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1",
        settings=_change_envelope(lambda whole: {**whole, "status_txt": "ok"}),
    ),
    wrong_value(
        "lookup-envelope-code-as-text",
        "status_code in the envelope of lookup answers is a string",
        breaks=_ENVELOPE,
        may_break="smart.lookup.v1",
        settings=_change_envelope(lambda whole: {**whole, "status_code": "200"}),
    ),
    condition(
        "lookup-meta-is-bare",
        "lookup answers to requests with metainfo have no envelope",
        breaks=_ENVELOPE,
        may_break=f"{LOOKERS} {_EXTEND}",
        overrides=_bare_when(_asks_for_meta),
    ),
    condition(
        "lookup-consumer-needs-metainfo",
        "a lookup in the older style by a consumer without metainfo is refused",
        breaks=_CONSUMER,
        may_break=LOOKERS,
        settings=change_some(
            refuse, lambda r: is_old(r) and is_for_reading(r) and not r.text("metainfo")
        ),
    ),
    condition(
        "lookup-consumer-must-not-ask",
        "a lookup in the older style by a consumer with metainfo is refused",
        breaks=_CONSUMER,
        may_break=LOOKERS,
        settings=change_some(
            refuse, lambda r: is_old(r) and is_for_reading(r) and not is_unmeant(r)
        ),
    ),
    missing(
        "lookup-consumer-gets-nothing",
        "producers is null in lookup answers to consumers without metainfo",
        breaks=_CONSUMER,
        may_break=LOOKERS,
        settings=change_some(
            lambda data: {**data, "producers": None},
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
    ),
    wrong_value(
        "lookup-consumer-gets-a-number",
        "lookup answers to consumers without metainfo contain only the number of partitions",
        breaks=_CONSUMER,
        may_break=LOOKERS,
        settings=change_some(
            lambda data: {**data, "partitions": len(partitions(data))},
            lambda r: is_for_reading(r) and is_unmeant(r),
        ),
    ),
    missing(
        "lookup-channels-for-producers-only",
        "lookup answers to consumers list no channels",
        breaks=_CHANNELS,
        settings=change_some(lambda data: {**data, "channels": []}, is_for_reading),
    ),
    extra(
        "lookup-channel-nobody-made",
        "every lookup answer lists a channel that nobody made",
        breaks=_CHANNELS,
        settings=change_some(
            lambda data: {**data, "channels": [*channels(data), "nobody"]}, is_lookup
        ),
    ),
    boundary(
        "lookup-channels-cut",
        "lookup answers truncate channel names to 16 letters",
        breaks=_CHANNELS,
        settings=change_some(
            lambda data: {**data, "channels": [name[:16] for name in channels(data)]}, is_lookup
        ),
    ),
    wrong_value(
        "lookup-channels-upper-case",
        "lookup answers give channel names in upper case",
        breaks=_CHANNELS,
        settings=change_some(
            lambda data: {**data, "channels": [name.upper() for name in channels(data)]},
            is_lookup,
        ),
    ),
    extra(
        "lookup-unknown-topic-read",
        "a lookup by a consumer of a topic that does not exist returns a node",
        breaks=_UNKNOWN,
        may_break=LOOKERS + " create.refused",
        settings=_stranger_for_unknown(is_for_reading),
    ),
    extra(
        "lookup-unknown-topic-written",
        "a lookup by a producer of a topic that does not exist returns a node",
        breaks=_UNKNOWN,
        may_break=LOOKERS,
        settings={"lookup.error": _stranger_for_producers},
    ),
    missing(
        "lookup-remembers-deleted",
        "lookup answers still list a deleted topic",
        breaks=_UNKNOWN,
        may_break="create.delete create.delete-odd",
        settings={"lookup.answer": _StaleAnswers()},
    ),
    condition(
        "lookup-bad-name-known",
        "a lookup of an invalid topic name returns a node",
        breaks=_UNKNOWN,
        settings=_stranger_for_unknown(lambda r: is_lookup(r) and " " in r.text("topic")),
    ),
    missing(
        "lookup-access-overlooked",
        "a lookup with access=r is answered as with access=w",
        breaks=_ACCESS,
        may_break=LOOKERS + f" {_UNKNOWN} smart.lookup.disabled smart.cluster.disabled-lookup "
        "create.odd create.delete create.delete-odd",
        overrides=_with_access(lambda access: "w"),
    ),
    missing(
        "lookup-access-always-read",
        "a lookup with access=w is answered as with access=r",
        breaks=_ACCESS,
        may_break=LOOKERS + " smart.cluster.disabled-lookup",
        overrides=_with_access(lambda access: "r"),
    ),
    wrong_value(
        "lookup-access-exchanged",
        "lookups with access=r and access=w are answered as each other",
        breaks=_ACCESS,
        may_break=LOOKERS + f" {_UNKNOWN} smart.lookup.disabled smart.cluster.disabled-lookup "
        "create.odd create.delete create.delete-odd",
        overrides=_with_access(_the_other),
    ),
    boundary(
        "lookup-access-one-node",
        "lookup answers to producers without metainfo list only one partition",
        breaks=_ACCESS,
        may_break=LOOKERS,
        settings=change_some(
            only_partitions(lambda led: dict(list(led.items())[:1])),
            lambda r: is_unmeant(r) and r.text("access") == "w",
        ),
    ),
)
