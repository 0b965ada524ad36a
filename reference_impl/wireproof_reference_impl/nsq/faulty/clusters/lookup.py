"""Faults of the lookup answers about a topic.

Most are wrong only in the older style, or only for consumers: what a client needs to find its
topics stays right, so that capabilities still show.
"""

import json
from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.lookup_changes import (
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
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.nsq.requests.http_request import data as answer_with
from wireproof_reference_impl.nsq.requests.lookup_rules import escaped_error
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.strict_json import members_of

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


def _with_access(access_of: Callable[[str], str]) -> tuple[Override, ...]:
    """Return overrides under which a topic is looked up with another access."""

    def read_access(original: Original, request: Request) -> str:
        return access_of(original(request))

    return (around(lookups, "read_access", read_access),)


def _change_envelope(change: Callable[[Data], object]) -> Settings:
    """Return settings that change the envelope of older-style answers."""

    def send(request: Request, answer: Answer) -> Answer:
        if request.v1 or not is_lookup(request):
            return answer
        right = _parse(answer)
        return Answer(answer.status, compact_json(change(right)), answer.headers)

    return {"lookup.sent": send}


def _parse(answer: Answer) -> Data:
    return members_of(json.loads(answer.body))


def _stranger_for_unknown(when: When) -> Settings:
    def strange(data: Data) -> object:
        if partitions(data) or channels(data):
            return data
        return {**data, "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}

    return change_some(strange, when)


@missing("smart.lookup.answer")
def lookup_without_channels() -> Change:
    """Lookup answers in the older style have no channels."""
    return change_some(without("channels"), is_old)


@wrong_value("smart.lookup.answer")
def lookup_producers_renamed() -> Change:
    """Lookup answers in the older style call producers nodes."""
    return change_some(rename("producers", "nodes"), is_old)


@wrong_value("smart.lookup.answer", partial(change_some, when=is_old))
def lookup_partitions_in_a_list(data: Data) -> object:
    """Partitions is a list of nodes in lookup answers in the older style."""
    return {**data, "partitions": list(partitions(data).values())}


@condition("smart.lookup.answer", partial(change_some, without("producers")))
def lookup_without_producers_to_producers(r: Request) -> bool:
    """Lookup answers in the older style have no producers if a producer asks."""
    return is_old(r) and is_for_writing(r)


@missing("smart.lookup.envelope", _bare_when)
def lookup_always_bare(request: Request) -> bool:
    """Lookup answers never have the envelope of the older style."""
    return True


@missing("smart.lookup.error-form", setting("lookup.refusal"))
def lookup_refuses_without_a_text(request: Request, refusal: HttpRefusal) -> HttpRefusal:
    """Lookup servers refuse requests without an error text."""
    says_why = is_lookup(request) and not request.text("access")
    return refusal if says_why else HttpRefusal(refusal.status, "")


@wrong_value("smart.lookup.error-form", setting("lookup.error"))
def lookup_error_forms_exchanged(refusal: HttpRefusal, v1: bool) -> Answer:
    """Lookup errors have an envelope where none is due, and none where one is due."""
    return escaped_error(refusal, not v1)


@wrong_value("smart.lookup.envelope", _change_envelope)
def lookup_envelope_text(whole: Data) -> object:
    """status_txt in the envelope of lookup answers is ok in lower case."""
    return {**whole, "status_txt": "ok"}


@wrong_value("smart.lookup.envelope", _change_envelope)
def lookup_envelope_code_as_text(whole: Data) -> object:
    """status_code in the envelope of lookup answers is a string."""
    return {**whole, "status_code": "200"}


@condition("smart.lookup.envelope", _bare_when)
def lookup_meta_is_bare(request: Request) -> bool:
    """Lookup answers to requests with metainfo have no envelope."""
    return is_lookup(request) and not is_unmeant(request)


@condition("smart.lookup.consumer", partial(change_some, refuse))
def lookup_consumer_needs_metainfo(r: Request) -> bool:
    """A lookup in the older style by a consumer without metainfo is refused."""
    return is_old(r) and is_for_reading(r) and not r.text("metainfo")


@condition("smart.lookup.consumer", partial(change_some, refuse))
def lookup_consumer_must_not_ask(r: Request) -> bool:
    """A lookup in the older style by a consumer with metainfo is refused."""
    return is_old(r) and is_for_reading(r) and not is_unmeant(r)


@missing("smart.lookup.consumer")
def lookup_consumer_gets_nothing() -> Change:
    """Producers is null in lookup answers to consumers without metainfo."""
    return change_some(
        lambda data: {**data, "producers": None},
        lambda r: is_for_reading(r) and is_unmeant(r),
    )


@wrong_value("smart.lookup.consumer")
def lookup_consumer_gets_a_number() -> Change:
    """Lookup answers to consumers without metainfo contain only the number of partitions."""
    return change_some(
        lambda data: {**data, "partitions": len(partitions(data))},
        lambda r: is_for_reading(r) and is_unmeant(r),
    )


@missing("smart.lookup.channels", partial(change_some, when=is_for_reading))
def lookup_channels_for_producers_only(data: Data) -> object:
    """Lookup answers to consumers list no channels."""
    return {**data, "channels": []}


@extra("smart.lookup.channels", partial(change_some, when=is_lookup))
def lookup_channel_nobody_made(data: Data) -> object:
    """Every lookup answer lists a channel that nobody made."""
    return {**data, "channels": [*channels(data), "nobody"]}


@boundary("smart.lookup.channels", partial(change_some, when=is_lookup))
def lookup_channels_cut(data: Data) -> object:
    """Lookup answers truncate channel names to 16 letters."""
    return {**data, "channels": [name[:16] for name in channels(data)]}


@wrong_value("smart.lookup.channels", partial(change_some, when=is_lookup))
def lookup_channels_upper_case(data: Data) -> object:
    """Lookup answers give channel names in upper case."""
    return {**data, "channels": [name.upper() for name in channels(data)]}


@extra("smart.lookup.unknown-topic")
def lookup_unknown_topic_read() -> Change:
    """A lookup by a consumer of a topic that does not exist returns a node."""
    return _stranger_for_unknown(is_for_reading)


@extra("smart.lookup.unknown-topic", setting("lookup.error"))
def lookup_unknown_topic_written(refusal: HttpRefusal, v1: bool) -> Answer:
    """A lookup by a producer of a topic that does not exist returns a node."""
    if refusal.code != "Key not found" or refusal.status != 404:
        return escaped_error(refusal, v1)
    answer = {"channels": [], "partitions": {"0": _STRANGER}, "producers": [_STRANGER]}
    return answer_with(answer, v1=v1)


class _StaleAnswers:
    """Repeats earlier lookup answers about where a topic was."""

    def __init__(self) -> None:
        self._told: dict[str, Data] = {}

    def __call__(self, request: Request, data: object) -> object:
        """Return an answer for consumers as it was when it last listed a partition."""
        if not is_lookup(request):
            return data
        found, topic = members_of(data), request.text("topic")
        if partitions(found):
            self._told[topic] = found
        return self._told.get(topic, found) if is_for_reading(request) else found


@missing("smart.lookup.unknown-topic")
def lookup_remembers_deleted() -> Change:
    """Lookup answers still list a deleted topic."""
    return {"lookup.answer": _StaleAnswers()}


@condition("smart.lookup.unknown-topic", _stranger_for_unknown)
def lookup_bad_name_known(r: Request) -> bool:
    """A lookup of an invalid topic name returns a node."""
    return is_lookup(r) and " " in r.text("topic")


@missing("smart.lookup.access", _with_access)
def lookup_access_overlooked(access: str) -> str:
    """A lookup with access=r is answered as with access=w."""
    return "w"


@missing("smart.lookup.access", _with_access)
def lookup_access_always_read(access: str) -> str:
    """A lookup with access=w is answered as with access=r."""
    return "r"


@wrong_value("smart.lookup.access", _with_access)
def lookup_access_exchanged(access: str) -> str:
    """Lookups with access=r and access=w are answered as each other."""
    return "r" if access == "w" else "w"


@boundary(
    "smart.lookup.access",
    partial(change_some, only_partitions(lambda led: dict(list(led.items())[:1]))),
)
def lookup_access_one_node(r: Request) -> bool:
    """Lookup answers to producers without metainfo list only one partition."""
    return is_unmeant(r) and r.text("access") == "w"


FAULTS = list_faults(__name__)
