"""Bytes recorded from a real server, as typed rows; see `PROVENANCE.md`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, NotRequired, TypeAlias, TypedDict

Direction: TypeAlias = Literal["c2s", "s2c", "close", "silence"]


@dataclass(frozen=True, slots=True)
class Varying:
    """A range of a recorded step's bytes that differs from run to run.

    If the name ends in `headers_order`, the entries of the block may come in any order.
    """

    offset: int
    length: int
    name: str


@dataclass(frozen=True, slots=True)
class Fixture:
    """The segment on disk with which a recorded server was started, after some bytes were changed.

    `patches` are offsets in the log file and the bytes written there.
    """

    segment: str
    stream_id: int
    topic_id: int
    partition_id: int
    patches: tuple[tuple[int, bytes], ...]
    messages_buffer: int


@dataclass(frozen=True, slots=True)
class TcpStep:
    """One step of a recorded exchange over TCP, on one connection.

    `direction` says which it is: bytes of the client (`c2s`), bytes of the server (`s2c`), the
    server's close, or silence.
    """

    direction: Direction
    connection: str
    data: bytes
    varies: tuple[Varying, ...]
    note: str
    length: int = 0
    """How many bytes were sent where they are too many to record."""


@dataclass(frozen=True, slots=True)
class HttpStep:
    """A recorded HTTP request (`c2s`) or the response to it; fields of the other kind are empty.

    `varies` are ranges in the path of a request or in the body of a response; `varies_json` are
    JSON pointers into that body.
    """

    direction: Direction
    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: str
    varies: tuple[Varying, ...]
    varies_json: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class TcpScenario:
    """A recorded exchange over TCP; without a fixture it begins and ends with an empty server."""

    name: str
    about: str
    fixture: Fixture | None
    steps: tuple[TcpStep, ...]


@dataclass(frozen=True, slots=True)
class HttpScenario:
    """A recorded exchange over HTTP; without a fixture it begins and ends with an empty server."""

    name: str
    about: str
    fixture: Fixture | None
    steps: tuple[HttpStep, ...]


@dataclass(frozen=True, slots=True)
class CodecRow:
    """A body or a batch made by the crate; of a batch also what the crate's decoder says of it.

    `verify` is its verdict with checksums compared, `layout` without: `Ok(COUNT)` or `Err(…)`.
    """

    name: str
    data: bytes
    verify: str
    layout: str


class _FixtureRow(TypedDict):
    segment: str
    stream_id: int
    topic_id: int
    partition_id: int
    patch_log: list[tuple[int, str]]
    messages_buffer: int


class _HttpRow(TypedDict, total=False):
    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: str


class _StepRow(TypedDict):
    dir: Direction
    conn: NotRequired[str]
    hex: NotRequired[str]
    length: NotRequired[int]
    http: NotRequired[_HttpRow]
    varies: NotRequired[list[tuple[int, int, str]]]
    varies_json: NotRequired[list[str]]
    note: str


class _ScenarioRow(TypedDict):
    scenario: str
    about: NotRequired[str]
    fixture: NotRequired[_FixtureRow]
    steps: list[_StepRow]


@cache
def tcp() -> tuple[TcpScenario, ...]:
    """Return the recorded exchanges over TCP."""
    return _tcp("iggy-tcp.jsonl")


@cache
def http() -> tuple[HttpScenario, ...]:
    """Return the recorded exchanges over HTTP."""
    return _http("iggy-http.jsonl")


@cache
def apache_tcp() -> tuple[TcpScenario, ...]:
    """Return the recorded exchanges of generation `apache` over TCP."""
    return _tcp("iggy-apache-tcp.jsonl")


@cache
def apache_http() -> tuple[HttpScenario, ...]:
    """Return the recorded exchanges of generation `apache` over HTTP."""
    return _http("iggy-apache-http.jsonl")


@cache
def apache_clients() -> tuple[TcpScenario, ...]:
    """Return what SDKs of generation `apache` exchanged with a fake server over TCP.

    The bytes of the server (`s2c`) were made by hand, and some are wrong on purpose.
    """
    rows = _rows("iggy-apache-client.jsonl")
    return tuple(_tcp_scenario(row) for row in rows if not row["scenario"].startswith("http-"))


@cache
def apache_codec() -> tuple[CodecRow, ...]:
    """Return bodies and batches made by the crate of generation `apache`."""
    text = (folder() / "iggy-apache-codec.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return tuple(
        CodecRow(
            row["scenario"],
            bytes.fromhex(row["hex"]),
            row.get("verify", ""),
            row.get("layout", ""),
        )
        for row in rows
    )


def folder() -> Traversable:
    """Return the directory of the golden data; its `iggy-disk` holds the files of a segment."""
    return resources.files(__name__)


def _tcp(name: str) -> tuple[TcpScenario, ...]:
    return tuple(map(_tcp_scenario, _rows(name)))


def _tcp_scenario(row: _ScenarioRow) -> TcpScenario:
    steps = tuple(map(_tcp_step, row["steps"]))
    return TcpScenario(row["scenario"], row.get("about", ""), _fixture(row), steps)


def _http(name: str) -> tuple[HttpScenario, ...]:
    return tuple(
        HttpScenario(
            row["scenario"],
            row.get("about", ""),
            _fixture(row),
            tuple(map(_http_step, row["steps"])),
        )
        for row in _rows(name)
    )


def _rows(name: str) -> list[_ScenarioRow]:
    text = (folder() / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _fixture(row: _ScenarioRow) -> Fixture | None:
    fixture = row.get("fixture")
    if fixture is None:
        return None
    return Fixture(
        fixture["segment"],
        fixture["stream_id"],
        fixture["topic_id"],
        fixture["partition_id"],
        tuple((place, bytes.fromhex(patch)) for place, patch in fixture["patch_log"]),
        fixture["messages_buffer"],
    )


def _tcp_step(row: _StepRow) -> TcpStep:
    return TcpStep(
        row["dir"],
        row.get("conn", "A"),
        bytes.fromhex(row.get("hex", "")),
        _varies(row),
        row["note"],
        row.get("length", 0),
    )


def _http_step(row: _StepRow) -> HttpStep:
    http = row.get("http", _HttpRow())
    return HttpStep(
        row["dir"],
        http.get("method", ""),
        http.get("path", ""),
        http.get("status", 0),
        http.get("headers", {}),
        http.get("body", ""),
        _varies(row),
        tuple(row.get("varies_json", ())),
        row["note"],
    )


def _varies(row: _StepRow) -> tuple[Varying, ...]:
    return tuple(Varying(*varying) for varying in row.get("varies", ()))
