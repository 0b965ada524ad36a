"""Strategies for valid requests to the Iggy HTTP API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame, Role
from wireproof_kit.fuzz.generate.grammar import Kind
from wireproof_kit.fuzz.generate.http_frames import Body, Request, http_frame
from wireproof_kit.fuzz.generate.json_documents import texts
from wireproof_kit.iggy.fuzz.frames import names_of_cases
from wireproof_kit.iggy.fuzz.names import Names
from wireproof_kit.iggy.fuzz.states import HTTP
from wireproof_kit.iggy.wire.http import JSON_TYPE
from wireproof_spec.iggy.kinds import STRATEGIES

_NUMBERS = ("id", "partition_id", "value", "count", "partitions_count")
_ROLES: Mapping[str, Role] = dict.fromkeys(_NUMBERS, "number")

Made = st.SearchStrategy[Request]
Query = tuple[tuple[str, str], ...]
Path = tuple[str | tuple[str, str], ...]

_NO_QUERY: st.SearchStrategy[Query] = st.just(())


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the kinds of HTTP requests to fuzz."""
    for kind, made in {**_make_queries(there), **_make_changes(there)}.items():
        yield Kind(kind, HTTP, made.map(_RequestBuilder(kind)), (HTTP,))


@dataclass(frozen=True, slots=True)
class _RequestBuilder:
    """Builds HTTP requests of one kind."""

    kind: str

    def __call__(self, request: Request) -> Frame:
        """Build an HTTP request from a drawn value."""
        return http_frame(self.kind, request, _ROLES)


def _make_queries(there: Names) -> Mapping[str, Made]:
    stream, topic = _list_kept_paths(there)
    consumer = _query(id=st.integers(0, 9), partition_id=st.integers(1, there.partitions))
    return {
        "GET /ping": _get(st.just(("/ping",))),
        "GET /stats": _get(st.just(("/stats",))),
        "GET /clients": _get(st.just(("/clients",))),
        "GET /streams": _get(st.just(("/streams",))),
        "GET /streams/{s}": _get(stream),
        "GET /streams/{s}/topics": _get(_below(stream, "/topics")),
        "GET /streams/{s}/topics/{t}": _get(topic),
        "GET /streams/{s}/topics/{t}/messages": _get(_below(topic, "/messages"), _polls(there)),
        "GET /streams/{s}/topics/{t}/consumer-offsets": _get(
            _below(topic, "/consumer-offsets"), consumer
        ),
        "GET /streams/{s}/topics/{t}/consumer-groups": _get(_below(topic, "/consumer-groups")),
    }


def _make_changes(there: Names) -> Mapping[str, Made]:
    _, topic = _list_kept_paths(there)
    scratch = _part("/streams/", "s", [str(there.scratch_id), there.scratch])
    played = _join_path(_below(scratch, "/topics/"), _part("", "t", ["1", "2", "3"]))
    count = st.integers(0, 3)
    return {
        "POST /streams": _make_post(
            "POST", st.just(("/streams",)), _documents("create-stream", there)
        ),
        "POST /streams/{s}/topics": _make_post(
            "POST", _below(scratch, "/topics"), _documents("create-topic", there)
        ),
        "POST /streams/{s}/topics/{t}/partitions": _make_post(
            "POST", _below(played, "/partitions"), _documents("partitions-request", there)
        ),
        "POST /streams/{s}/topics/{t}/messages": _make_post(
            "POST", _below(topic, "/messages"), _documents("send-messages", there)
        ),
        "PUT /streams/{s}/topics/{t}/consumer-offsets": _make_post(
            "PUT", _below(topic, "/consumer-offsets"), _documents("store-consumer-offset", there)
        ),
        "POST /streams/{s}/topics/{t}/consumer-groups": _make_post(
            "POST", _below(topic, "/consumer-groups"), _documents("create-consumer-group", there)
        ),
        "DELETE /streams/{s}/topics/{t}/partitions": _make_request(
            "DELETE", _below(played, "/partitions"), _query(partitions_count=count)
        ),
        "DELETE /streams/{s}/topics/{t}": _make_request("DELETE", played, st.just(())),
    }


def _list_kept_paths(there: Names) -> tuple[st.SearchStrategy[Path], st.SearchStrategy[Path]]:
    stream = _part("/streams/", "s", [str(there.stream_id), there.stream])
    topic = _part("", "t", [str(there.topic_id), there.topic])
    return stream, _join_path(_below(stream, "/topics/"), topic)


def _part(before: str, name: str, values: list[str]) -> st.SearchStrategy[Path]:
    head: Path = (before,) if before else ()
    return st.sampled_from(values).map(lambda value: (*head, (name, value)))


def _below(path: st.SearchStrategy[Path], text: str) -> st.SearchStrategy[Path]:
    return path.map(lambda parts: (*parts, text))


def _join_path(
    path: st.SearchStrategy[Path], more: st.SearchStrategy[Path]
) -> st.SearchStrategy[Path]:
    return st.tuples(path, more).map(lambda both: (*both[0], *both[1]))


def _query(**values: st.SearchStrategy[object]) -> st.SearchStrategy[Query]:
    drawn = st.fixed_dictionaries({}, optional=dict(values))
    return drawn.map(lambda chosen: tuple((name, str(value)) for name, value in chosen.items()))


def _polls(there: Names) -> st.SearchStrategy[Query]:
    return _query(
        id=st.integers(0, 9),
        partition_id=st.integers(1, there.partitions),
        kind=st.sampled_from(sorted(STRATEGIES.values())),
        value=st.integers(0, 9),
        count=st.integers(1, 20),
        auto_commit=st.sampled_from(["true", "false"]),
    )


def _get(path: st.SearchStrategy[Path], query: st.SearchStrategy[Query] = _NO_QUERY) -> Made:
    return _make_request("GET", path, query)


def _make_request(
    method: str, path: st.SearchStrategy[Path], query: st.SearchStrategy[Query]
) -> Made:
    return st.builds(Request, st.just(method), path, query)


def _make_post(method: str, path: st.SearchStrategy[Path], body: st.SearchStrategy[Body]) -> Made:
    return st.builds(
        Request,
        st.just(method),
        path,
        st.just(()),
        st.just((JSON_TYPE,)),
        body,
        st.sampled_from([False, False, False, True]),
    )


def _documents(name: str, there: Names) -> st.SearchStrategy[Body]:
    rules: dict[str, st.SearchStrategy[object]] = {
        "stream_id": st.just(there.scratch_id),
        "name": st.just(there.scratch) if name == "create-stream" else names_of_cases(),
        "topic_id": st.integers(1, 3),
        "partitions_count": st.integers(0, 3),
        "partition_id": st.integers(1, there.partitions),
        "consumer_group_id": st.integers(1, 3),
        "offset": st.integers(0, 3),
        "payload": st.sampled_from(["eA==", "aGVsbG8=", "AAECAw=="]),
        "headers": st.just({"key": {"kind": "string", "value": "dmFsdWU="}}),
        "partitioning": st.just({"kind": "balanced", "value": ""}),
    }
    if name == "store-consumer-offset":
        rules["id"] = st.integers(0, 9).map(str)
        rules["consumer_id"] = rules["id"]
    return texts(f"iggy/{name}", rules).map(lambda text: Body(text, "json"))
