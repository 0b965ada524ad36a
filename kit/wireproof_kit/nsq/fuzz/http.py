"""Strategies for valid requests to the NSQ HTTP API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame, Role
from wireproof_kit.fuzz.generate.field_map import shift_fields
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.fuzz.generate.http_frames import Body, Request, http_frame
from wireproof_kit.nsq.fuzz.frames import framed_values, headers
from wireproof_kit.nsq.fuzz.names import SCRATCH, Names
from wireproof_kit.nsq.fuzz.states import HTTP
from wireproof_spec.nsq import names
from wireproof_spec.nsq.publish import MPUB_BODY, PUB_BODY

_ROLES: Mapping[str, Role] = {"partition": "number", "trace_id": "number", "ext": "json"}
_ACTIONS = ("delete", "empty", "pause", "unpause")
_SIZE = 4  # bytes of the outer size, which HTTP leaves to its own length

Made = st.SearchStrategy[Request]
Query = tuple[tuple[str, str], ...]


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the kinds of HTTP requests to fuzz: publishes, queries, changes of topics."""
    made: Mapping[str, Made] = {
        "POST /pub": _make_publish("/pub", _bodies(), _topic(there)),
        "POST /pub_ext": _make_extended(there),
        "POST /pubtrace": _make_publish("/pubtrace", _bodies(), _draw_trace_query(there)),
        "POST /mpub": _make_publish("/mpub", _lines(), _topic(there)),
        "POST /mpub?binary": _make_publish("/mpub", _batches(), _binary(there)),
        "GET /ping": st.just(Request("GET", ("/ping",))),
        "GET /info": st.just(Request("GET", ("/info",))),
        "GET /stats": _stats(there),
        "POST /topic/create": _administer(("/topic/create",), partition=there.partition),
        "POST /topic/{action}": _administer(tuple(f"/topic/{each}" for each in _ACTIONS)),
        "POST /channel/{action}": _administer(
            tuple(f"/channel/{each}" for each in ("create", *_ACTIONS)), channel=there.channel
        ),
    }
    for kind, requests in made.items():
        yield Kind(kind, HTTP, requests.map(_RequestBuilder(kind)), (HTTP,))


@dataclass(frozen=True, slots=True)
class _RequestBuilder:
    """Builds HTTP requests of one kind."""

    kind: str

    def __call__(self, request: Request) -> Frame:
        """Build an HTTP request from a drawn value."""
        return http_frame(self.kind, request, _ROLES)


def _make_publish(
    path: str, bodies: st.SearchStrategy[Body], query: st.SearchStrategy[Query]
) -> Made:
    accept = st.sampled_from([(), (("Accept", names.V1_ACCEPT),)])
    return st.builds(
        Request,
        st.just("POST"),
        st.just((path,)),
        query,
        accept,
        bodies,
        st.sampled_from([False, False, False, True]),
    )


def _make_extended(there: Names) -> Made:
    query = st.tuples(_topic(there), headers().map(bytes.decode)).map(
        lambda both: (*both[0], ("ext", both[1]))
    )
    name = st.text("abc-_#", min_size=1, max_size=6)
    value = st.text("abc xyz", max_size=8).map(str.strip)
    header = st.tuples(name.map(names.X_NSQEXT.__add__), value)
    further = st.lists(header, max_size=2)
    made = _make_publish("/pub_ext", _bodies(), query)
    return st.tuples(made, further).map(
        lambda both: replace(both[0], headers=(*both[0].headers, *both[1]))
    )


def _topic(there: Names) -> st.SearchStrategy[Query]:
    partition = st.sampled_from([(), (("partition", str(there.partition)),)])
    return st.tuples(st.sampled_from(there.topics), partition).map(
        lambda both: (("topic", both[0]), *both[1])
    )


def _draw_trace_query(there: Names) -> st.SearchStrategy[Query]:
    trace_id = st.integers(0, 2**64 - 1).map(str)
    return st.tuples(_topic(there), trace_id).map(lambda both: (*both[0], ("trace_id", both[1])))


def _binary(there: Names) -> st.SearchStrategy[Query]:
    return _topic(there).map(lambda query: (*query, ("binary", "true")))


def _stats(there: Names) -> Made:
    formats = st.sampled_from([(("format", "json"),), ()])
    query = st.tuples(formats, _topic(there)).map(lambda both: (*both[0], *both[1]))
    return query.map(lambda asked: Request("GET", ("/stats",), asked))


def _administer(paths: tuple[str, ...], **more: object) -> Made:
    """Return a strategy for changes of a topic that no other case uses, or of its channels."""
    query = (("topic", SCRATCH), *((name, str(value)) for name, value in more.items()))
    return st.sampled_from(paths).map(lambda path: Request("POST", (path,), query))


def _bodies() -> st.SearchStrategy[Body]:
    return framed_values("POST /pub", PUB_BODY).map(lambda frame: Body(frame.data[_SIZE:]))


def _lines() -> st.SearchStrategy[Body]:
    line = st.text("abcdefgh 0123", min_size=1, max_size=20)
    return st.lists(line, min_size=1, max_size=4).map(
        lambda lines: Body("\n".join(lines).encode())
    )


def _batches() -> st.SearchStrategy[Body]:
    return framed_values("POST /mpub", MPUB_BODY).map(_without_size)


def _without_size(frame: Frame) -> Body:
    fields = (
        replace(field, measured_by=tuple(by for by in field.measured_by if by != "size"))
        for field in frame.fields
        if field.path != "size"
    )
    return Body(frame.data[_SIZE:], fields=tuple(shift_fields(tuple(fields), -_SIZE)))
