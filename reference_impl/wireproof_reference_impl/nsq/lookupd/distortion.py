"""Wrong, late and missing answers of a lookup server, as set through the control API.

Only questions are distorted: requests that change topics or the cluster are always answered
correctly.
"""

import json
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from wireproof_reference_impl.json_text import compact_json
from wireproof_reference_impl.nsq.requests.http_request import JSON, Answer, Request, error

Change = Callable[[Request, Answer], Answer]

_LISTS = frozenset({"channels", "partitions", "producers", "topics", "lookupdnodes"})
_PORTS = frozenset({"tcp_port", "http_port"})
_UNESCAPED = b'{"message":"strconv.Atoi: parsing "abc": invalid syntax"}'
_TYPE = (("Content-Type", JSON),)


class Distortion(Struct, frozen=True):
    """A way in which a lookup server distorts its answers, and a delay; None means no answer."""

    name: str
    change: Change
    delay_ns: int | None = 0


def distort(way: Distortion, request: Request, answer: Answer) -> Answer:
    """Return the answer to a request as a distortion changes it."""
    return replace(way.change(request, answer), delay_ns=way.delay_ns)


def _same(request: Request, answer: Answer) -> Answer:
    return answer


def _not_json(request: Request, answer: Answer) -> Answer:
    return replace(answer, body=b"<html><body>This is not JSON.</body></html>")


def _unescape(request: Request, answer: Answer) -> Answer:
    return replace(answer, status=400, body=_UNESCAPED)


def _empty(request: Request, answer: Answer) -> Answer:
    return replace(answer, body=b"")


def _error_500(request: Request, answer: Answer) -> Answer:
    return error(500, "INTERNAL_ERROR", v1=request.v1)


def _null_lists(request: Request, answer: Answer) -> Answer:
    return _rewritten(answer, lambda name, value: None if name in _LISTS else value)


def _string_ports(request: Request, answer: Answer) -> Answer:
    return _rewritten(answer, lambda name, value: str(value) if name in _PORTS else value)


def _wrong_envelope(request: Request, answer: Answer) -> Answer:
    """Return the body of the other style with the headers of the requested one."""
    found = json.loads(answer.body)
    if not request.v1:
        bare = found["data"] if answer.status == 200 else {"message": found["status_txt"]}
        return replace(answer, body=compact_json(bare))
    ok = answer.status == 200
    envelope = {
        "status_code": answer.status,
        "status_txt": "OK" if ok else found["message"],
        "data": found if ok else None,
    }
    return replace(answer, body=compact_json(envelope))


def _rewritten(answer: Answer, value_of: Callable[[str, object], object]) -> Answer:
    def member(pairs: list[tuple[str, object]]) -> Mapping[str, object]:
        return {name: value_of(name, value) for name, value in pairs}

    return replace(answer, body=compact_json(json.loads(answer.body, object_pairs_hook=member)))


RIGHT = Distortion("right", _same)

WAYS: Mapping[str, Distortion] = {
    way.name: way
    for way in (
        RIGHT,
        Distortion("silent", _same, None),
        Distortion("slow", _same, 5_000_000_000),
        Distortion("not-json", _not_json),
        Distortion("unescaped", _unescape),
        Distortion("null-lists", _null_lists),
        Distortion("string-ports", _string_ports),
        Distortion("wrong-envelope", _wrong_envelope),
        Distortion("empty", _empty),
        Distortion("error-500", _error_500),
    )
}
"""The ways that need nothing but the answer; a redirect needs to know where to."""


def redirect(to: str) -> Distortion:
    """Return the distortion under which clients are redirected to `HOST:PORT`."""

    def change(request: Request, answer: Answer) -> Answer:
        query = f"?{urlencode(request.query)}" if request.query != {"": b""} else ""
        location = f"http://{to}{request.path}{query}"
        return Answer(307, b"", (*_TYPE, ("Location", location)))

    return Distortion("redirect", change)
