"""Legal variants of lookup servers: order, spelling and delay of their answers."""

import json

from msgspec.structs import replace

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.lookup_changes import (
    Record,
    is_lookup,
    partitions,
    producers,
)
from wireproof_reference_impl.nsq.requests.http_request import Answer, HttpRefusal, Request
from wireproof_reference_impl.preset import Preset, variant
from wireproof_spec.strict_json import is_array, is_object, items_of, members_of

_DELAY_NS = 150_000_000
_BESIDE = ("topics", "tombstones")


def _backwards(value: object) -> object:
    """Return JSON with the names of every object in reverse order."""
    if is_object(value):
        return {name: _backwards(value[name]) for name in reversed(list(value))}
    if is_array(value):
        return [_backwards(item) for item in value]
    return value


def _more(value: object) -> object:
    """Return JSON with an unknown name added to every object that has names."""
    if is_object(value):
        more = {name: _more(below) for name, below in value.items()}
        return more if all(name.isdigit() for name in value) else {**more, "zz_more": [1]}
    if is_array(value):
        return [_more(item) for item in value]
    return value


def _spelled_backwards(request: Request, answer: Answer) -> Answer:
    return replace(answer, body=compact_json(_backwards(json.loads(answer.body))))


def _add_spaces(request: Request, answer: Answer) -> Answer:
    return replace(answer, body=json.dumps(json.loads(answer.body), indent=2).encode())


def _answer_late(request: Request, answer: Answer) -> Answer:
    return replace(answer, delay_ns=_DELAY_NS)


def _with_more(request: Request, data: object) -> object:
    return _more(data) if is_lookup(request) else data


def _topics_backwards(node: Record) -> Record:
    """Return a node with its topics, and their tombstones, in reverse order."""
    both = {name: list(reversed(items_of(node[name]))) for name in _BESIDE}
    return {**node, **both}


def _nodes_backwards(request: Request, data: object) -> object:
    answer = members_of(data)
    if request.path == "/nodes":
        return {**answer, "producers": [_topics_backwards(node) for node in producers(answer)]}
    if not is_lookup(request) or answer["partitions"] is None:
        return data
    led = dict(reversed(list(partitions(answer).items())))
    turned = list(reversed(producers(answer)))
    return {**answer, "partitions": led, "producers": turned}


def _other_text(request: Request, refusal: HttpRefusal) -> HttpRefusal:
    return HttpRefusal(refusal.status, f"the answer is no ({refusal.status})")


def _unknown_is_not_found(request: Request, data: object) -> object:
    """Refuse a lookup whose answer would list neither nodes nor channels.

    Raises:
        HttpRefusal: the answer would list neither.
    """
    answer = members_of(data)
    if is_lookup(request) and not any(answer[n] for n in ("channels", "partitions", "producers")):
        barred = answer["partitions"] is None
        if not barred and not request.text("partition"):
            raise HttpRefusal(404, "TOPIC_NOT_FOUND")
    return data


VARIANTS: tuple[Preset, ...] = (
    variant(
        "lookup-names-backwards",
        "JSON objects of lookup servers have their names in reverse order",
        {"lookup.sent": _spelled_backwards},
    ),
    variant(
        "lookup-spaced",
        "JSON of lookup servers is indented",
        {"lookup.sent": _add_spaces},
    ),
    variant(
        "lookup-late",
        "lookup servers answer 150 ms late",
        {"lookup.sent": _answer_late},
    ),
    variant(
        "lookup-more-names",
        "lookup answers have additional unknown names",
        {"lookup.answer": _with_more},
    ),
    variant(
        "lookup-nodes-backwards",
        "lookup answers list partitions and producers in reverse order",
        {"lookup.answer": _nodes_backwards},
    ),
    variant(
        "lookup-other-texts",
        "lookup servers refuse requests with other texts",
        {"lookup.refusal": _other_text},
    ),
    variant(
        "lookup-unknown-not-found",
        "a lookup of an unknown topic is answered with 404, also with access=r",
        {"lookup.answer": _unknown_is_not_found},
    ),
)
