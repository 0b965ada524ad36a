"""Bytes recorded from real brokers, as typed rows; see `PROVENANCE.md`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, NotRequired, TypeAlias, TypedDict, TypeVar

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Direction: TypeAlias = Literal["send", "recv", "http"]


@dataclass(frozen=True, slots=True)
class Varying:
    """A range of a recorded step's bytes that differs from run to run."""

    offset: int
    length: int
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """Recorded bytes in one direction on one connection; a `recv` without data means silence.

    `decoded` has values that the recorder decoded without the grammar.
    """

    direction: Direction
    connection: str
    data: bytes
    frame_type: int | None
    text: str | None
    decoded: Mapping[str, Json] | None
    varies: tuple[Varying, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """One recorded exchange with nsqd over TCP."""

    name: str
    topic_kind: str
    server: str
    setup: tuple[Mapping[str, Json], ...]
    steps: tuple[Step, ...]
    closed: Mapping[str, bool]
    note: str

    @property
    def connections(self) -> tuple[str, ...]:
        """The names of the connections, in the order of their first step."""
        return tuple(dict.fromkeys(step.connection for step in self.steps if step.connection))

    def list_sent(self, connection: str) -> tuple[bytes, ...]:
        """Return the bytes that the client sent on a connection, one item per write."""
        return self._data("send", connection)

    def list_received(self, connection: str) -> tuple[bytes, ...]:
        """Return the bytes that the broker sent on a connection, mostly one item per frame."""
        return self._data("recv", connection)

    def _data(self, direction: str, connection: str) -> tuple[bytes, ...]:
        return tuple(
            step.data
            for step in self.steps
            if (step.direction, step.connection) == (direction, connection) and step.data
        )


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """One recorded HTTP request and its response.

    `whole` is False if part of the request was left out of the record. `raw_request` is set if the
    request was not sent as the other fields suggest. `status` is None if no response came.
    """

    name: str
    server: str
    topic_kind: str
    method: str
    path: str
    request_headers: Mapping[str, str]
    request_body: bytes
    raw_request: bytes
    whole: bool
    status: int | None
    response_headers: Mapping[str, str]
    response_body: bytes
    setup: tuple[Mapping[str, Json], ...]
    stored: tuple[Mapping[str, Json], ...]
    varies: tuple[str, ...]
    note: str


class _StepRow(TypedDict):
    dir: Direction
    conn: NotRequired[str]
    hex: NotRequired[str]
    hex_parts: NotRequired[list[dict[str, str | int]]]
    frame_type: NotRequired[int]
    text: NotRequired[str]
    decoded: NotRequired[dict[str, Json]]
    varies: NotRequired[list[tuple[int, int, str]]]
    note: NotRequired[str]


class _ScenarioRow(TypedDict):
    scenario: str
    topic_kind: str
    server: str
    setup: NotRequired[list[dict[str, Json]]]
    steps: list[_StepRow]
    closed: bool
    closed_by_conn: NotRequired[dict[str, bool]]
    note: NotRequired[str]


class _NsqdHttpRow(TypedDict):
    scenario: str
    topic_kind: str
    server: str
    setup: NotRequired[list[dict[str, Json]]]
    method: str
    path: str
    request_headers: dict[str, str]
    request_body_hex: str
    raw_request_hex: NotRequired[str]
    status: int | None
    response_headers: dict[str, str]
    response_body: str | None
    stored: NotRequired[list[dict[str, Json]]]
    varies: NotRequired[list[str]]
    note: NotRequired[str]


class _Request(TypedDict):
    method: str
    path: str
    headers: dict[str, str]
    body: str


class _Response(TypedDict):
    status: int
    headers: dict[str, str]
    body: str


class _NsqlookupdRow(TypedDict):
    scenario: str
    server: str
    request: _Request
    response: _Response


R = TypeVar("R")


@cache
def nsqd_tcp() -> tuple[Scenario, ...]:
    """Return the recorded exchanges with nsqd over TCP."""
    rows = _rows("nsqd-tcp.jsonl", _ScenarioRow)
    return tuple(map(_scenario, rows))


@cache
def nsqd_http() -> tuple[HttpExchange, ...]:
    """Return the recorded requests to nsqd's HTTP publish API, with their responses."""
    rows = _rows("nsqd-http.jsonl", _NsqdHttpRow)
    return tuple(map(_nsqd_exchange, rows))


@cache
def nsqlookupd_http() -> tuple[HttpExchange, ...]:
    """Return the recorded HTTP requests to both kinds of nsqlookupd, with their responses."""
    rows = _rows("nsqlookupd-http.jsonl", _NsqlookupdRow)
    return tuple(map(_nsqlookupd_exchange, rows))


def folder() -> Traversable:
    """Return the directory of the golden data; its `nsqd-disk` holds queue directories."""
    return resources.files(__name__)


def _rows(name: str, kind: type[R]) -> list[R]:
    """Return the rows of a file, which are of this kind."""
    text = (folder() / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _scenario(row: _ScenarioRow) -> Scenario:
    return Scenario(
        name=row["scenario"],
        topic_kind=row["topic_kind"],
        server=row["server"],
        setup=tuple(row.get("setup", ())),
        steps=tuple(map(_step, row["steps"])),
        closed=row.get("closed_by_conn", {"A": row["closed"]}),
        note=row.get("note", ""),
    )


def _step(row: _StepRow) -> Step:
    return Step(
        direction=row["dir"],
        connection=row.get("conn", ""),
        data=_data(row),
        frame_type=row.get("frame_type"),
        text=row.get("text"),
        decoded=row.get("decoded"),
        varies=tuple(Varying(*varying) for varying in row.get("varies", ())),
        note=row.get("note", ""),
    )


def _data(row: _StepRow) -> bytes:
    parts = row.get("hex_parts", [{"hex": row.get("hex", "")}])
    return b"".join(
        bytes.fromhex(str(part.get("hex", part.get("repeat")))) * int(part.get("count", 1))
        for part in parts
    )


def _nsqd_exchange(row: _NsqdHttpRow) -> HttpExchange:
    body, path = row["request_body_hex"], row["path"]
    return HttpExchange(
        name=row["scenario"],
        server=row["server"],
        topic_kind=row["topic_kind"],
        method=row["method"],
        path=path,
        request_headers=row["request_headers"],
        request_body=b"" if _is_elided(body) else bytes.fromhex(body),
        raw_request=bytes.fromhex(row.get("raw_request_hex", "")),
        whole=not (_is_elided(body) or _is_elided(path)),
        status=row["status"],
        response_headers=row["response_headers"],
        response_body=(row["response_body"] or "").encode(),
        setup=tuple(row.get("setup", ())),
        stored=tuple(row.get("stored", ())),
        varies=tuple(row.get("varies", ())),
        note=row.get("note", ""),
    )


def _nsqlookupd_exchange(row: _NsqlookupdRow) -> HttpExchange:
    request, response = row["request"], row["response"]
    return HttpExchange(
        name=row["scenario"],
        server=row["server"],
        topic_kind="",
        method=request["method"],
        path=request["path"],
        request_headers=request["headers"],
        request_body=request["body"].encode(),
        raw_request=b"",
        whole=True,
        status=response["status"],
        response_headers=response["headers"],
        response_body=response["body"].encode(),
        setup=(),
        stored=(),
        varies=(),
        note="",
    )


def _is_elided(text: str) -> bool:
    return re.search(r"\.\.\.\(\d+ (bytes|chars)\)$", text) is not None
