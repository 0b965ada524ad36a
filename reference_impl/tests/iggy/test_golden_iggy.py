"""What a real server was recorded to do, the deployed dialect does too."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from check_each import check_each
from iggy_bench import Bench, Client, exchange

from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.options import DEPLOYED
from wireproof_reference_impl.iggy.wire.header import read_headers
from wireproof_spec.iggy import golden
from wireproof_spec.iggy.golden import Fixture, HttpScenario, HttpStep, TcpScenario, TcpStep

TIME_OF_REQUEST = "timestamp"
IN_ANY_ORDER = "headers_order"
WITHOUT_LENGTH = ("length", "clients", "stats")
"""What varies with its length."""

Times = dict[int, int]
"""Our timestamps by the recorded ones."""


def bench_for(fixture: Fixture | None, folder: Path) -> Bench:
    if fixture is None:
        return Bench(dialect=DEPLOYED)
    stream = folder / "streams" / str(fixture.stream_id)
    topic = stream / "topics" / str(fixture.topic_id)
    partition = topic / "partitions" / str(fixture.partition_id)
    partition.mkdir(parents=True)
    (stream / "stream.info").write_text("s")
    (topic / "topic.info").write_text("t")
    for name in ("log", "index", "timeindex"):
        name = f"{0:020}.{name}"
        data = bytearray((golden.folder() / fixture.segment / name).read_bytes())
        for place, patch in fixture.patches if name.endswith(".log") else ():
            data[place : place + len(patch)] = patch
        (partition / name).write_bytes(data)
    return Bench(dialect=DEPLOYED, data=folder)


def our_time(recorded: int, times: Times) -> int:
    """Return the time that stands for a recorded one, or for one beside it."""
    near = [each for each in times if abs(each - recorded) <= 1]
    return times[near[0]] + recorded - near[0] if near else recorded


def asked(step: TcpStep, times: Times) -> bytes:
    data = step.data
    for each in step.varies:
        assert each.name == TIME_OF_REQUEST
        end = each.offset + each.length
        time = our_time(int.from_bytes(data[each.offset : end], "little"), times)
        data = data[: each.offset] + time.to_bytes(8, "little") + data[end:]
    return data


def compared(found: bytes, step: TcpStep, times: Times) -> tuple[bytes, bytes]:
    """Return what came and what should have come, without what varies; keep the times."""
    ours, theirs = bytearray(found), bytearray(step.data)
    for each in step.varies:
        place = slice(each.offset, each.offset + each.length)
        if each.name in WITHOUT_LENGTH:
            return bytes(ours[: each.offset]), bytes(theirs[: each.offset])
        if each.name.endswith(TIME_OF_REQUEST):
            recorded = int.from_bytes(theirs[place], "little")
            times[recorded] = int.from_bytes(ours[place], "little")
        if each.name.endswith(IN_ANY_ORDER):
            assert read_headers(bytes(ours[place])) == read_headers(bytes(theirs[place]))
        ours[place] = theirs[place] = bytes(each.length)
    return bytes(ours), bytes(theirs)


@check_each(golden.tcp(), lambda scenario: scenario.name)
def test_tcp_scenario_is_repeated(scenario: TcpScenario, tmp_path: Path) -> None:
    bench = bench_for(scenario.fixture, tmp_path / scenario.name)
    clients: dict[str, Client] = {}
    times: Times = {}
    for step in scenario.steps:
        if step.connection not in clients:
            clients[step.connection] = bench.connect()
        client = clients[step.connection]
        if step.direction == "c2s":
            assert not client.closed
            client.send(asked(step, times))
        elif step.direction == "s2c":
            ours, theirs = compared(client.take(), step, times)
            assert ours == theirs, step.note
        else:
            assert client.take() == b""
            assert client.closed == (step.direction == "close")
    assert all(client.take() == b"" for client in clients.values())


def requested(step: HttpStep, times: Times) -> str:
    return re.sub(
        r"(?<=kind=timestamp&value=)\d+",
        lambda found: str(our_time(int(found[0]), times)),
        step.path,
    )


def settled(value: object, other: object, pointer: str, times: Times) -> None:
    """Give two bodies the same value where they vary; keep the times."""
    *way, last = pointer.strip("/").split("/")
    for name in way:
        value, other = inner(value, name), inner(other, name)
    assert isinstance(value, dict)
    assert isinstance(other, dict)
    if last == TIME_OF_REQUEST:
        times[other[last]] = value[last]
    value[last] = other[last]


def inner(value: object, name: str) -> object:
    if isinstance(value, list):
        return value[int(name)]
    assert isinstance(value, dict)
    return value[name]


def check_json(found: bytes, step: HttpStep, times: Times) -> None:
    """Compare values, and the order of names except where it varies."""
    ours, theirs = json.loads(found), json.loads(step.body)
    if step.varies_json == ("stats",):
        assert list(ours) == list(theirs)
        return
    ordered = [each for each in step.varies_json if " " in each]
    for pointer in step.varies_json:
        if pointer not in ordered:
            settled(ours, theirs, pointer, times)
    assert ours == theirs
    if not ordered:
        assert json.dumps(ours, separators=(",", ":")) == json.dumps(theirs, separators=(",", ":"))


def check_answer(status: int, headers: Mapping[str, str], body: bytes, step: HttpStep) -> None:
    """Compare all but the body of JSON."""
    named = {name: headers.get(name) for name in ("content-type", "allow")}
    assert (status, named) == (
        step.status,
        {name: step.headers.get(name) for name in ("content-type", "allow")},
    )
    if not step.headers.get("content-type", "").endswith("json"):
        assert body.decode() == step.body


@pytest.mark.parametrize("scenario", golden.http(), ids=lambda each: each.name)
def test_http_scenario_is_repeated(scenario: HttpScenario, tmp_path: Path) -> None:
    bench = bench_for(scenario.fixture, tmp_path)
    times: Times = {}
    asking: HttpStep | None = None
    for step in scenario.steps:
        if step.direction == "c2s":
            asking = step
            continue
        assert asking is not None
        path, body = requested(asking, times), asking.body.encode()
        status, headers, found = exchange(
            routes.connection(bench.server),
            asking.method,
            path,
            body,
            asking.headers,
            now_us=bench.tick(),
        )
        check_answer(status, headers, found, step)
        if headers.get("content-type", "").endswith("json"):
            check_json(found, step, times)
