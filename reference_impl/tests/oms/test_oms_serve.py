"""The OpenMessaging reference as a process: over HTTP and on stdio, its options and its end."""

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, cast

import pytest
from oms_client import Object, message

from wireproof_reference_impl.oms.serve import main
from wireproof_spec.driver.lines import Hello, Result, read_line

pytestmark = pytest.mark.process

PATIENCE_S = 60.0
"""How long a server is asked to wait for a message that comes."""
SERVE = (sys.executable, "-m", "wireproof_reference_impl.oms.serve")
ANYWHERE = ("--http", "127.0.0.1:0", "--json")


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([*SERVE, *options], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    return stream.readline()


def post(url: str, **fields: object) -> Object:
    data = json.dumps({"id": 1, **fields}).encode()
    with urllib.request.urlopen(url.replace("oms+http", "http"), data) as answer:
        found: Object = json.load(answer)
    return found


@contextmanager
def served(*options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with running(*ANYWHERE, *options) as process:
        said = cast(Mapping[str, str], json.loads(line_of(process.stdout)))
        assert said["protocol"] == "oms"
        assert said["url"] == f"oms+http://{said['http']}"
        yield process, said["url"]


def test_messages_go_round_over_http_while_another_client_waits() -> None:
    with served() as (process, url):
        post(url, op="create_destination", destination="q", partitions=1)
        answers: list[Object] = []

        waiting = threading.Thread(target=lambda: answers.append(_receive(url)))
        waiting.start()
        post(url, op="send", message=message(delayTime=100, priority=7))
        waiting.join()
        (found,) = cast(list[Object], cast(Object, answers[0]["ok"])["messages"])
        assert "receipt" in found
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def _receive(url: str) -> Object:
    timeout_ms = int(PATIENCE_S * 1000)
    return post(url, op="receive", destination="q", group="g", timeout_ms=timeout_ms)


def test_a_receive_over_http_ends_when_its_time_is_over() -> None:
    with served() as (_, url):
        post(url, op="create_destination", destination="q", partitions=1)
        answer = post(url, op="receive", destination="q", group="g", timeout_ms=30)
        assert answer["ok"] == {"messages": []}


def test_a_day_passes_at_once_over_http() -> None:
    with served() as (_, url):
        post(url, op="create_destination", destination="q", partitions=1)
        post(url, op="send", message=message(delayTime=86_400_000))
        post(url, op="clock", advance_ms=86_400_000)
        found = cast(Object, _receive(url)["ok"])["messages"]
        assert len(cast(list[object], found)) == 1


def test_the_server_ends_with_its_input() -> None:
    with served("--until-input-ends") as (process, _):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def test_the_adapter_speaks_the_driver_protocol_on_stdio() -> None:
    with running("--stdio") as process:
        assert process.stdin is not None
        assert isinstance(read_line(line_of(process.stdout)), Hello)
        requests: list[Object] = [
            {"id": 1, "op": "create_destination", "destination": "q"},
            {"id": 2, "op": "receive", "destination": "q", "group": "g", "timeout_ms": 20_000},
            {"id": 3, "op": "send", "message": message(delayTime=50)},
        ]
        process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in requests))
        process.stdin.flush()
        answers = [read_line(line_of(process.stdout)) for _ in requests]
        assert [each.id for each in answers if isinstance(each, Result)] == [1, 3, 2]
        process.stdin.close()
        assert process.wait() == 0


def test_an_adapter_that_hears_nonsense_says_so_and_ends() -> None:
    with running("--stdio") as process:
        assert process.stdin is not None
        process.stdin.write(b"hello?\n")
        process.stdin.flush()
        assert process.wait() == 1
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"wireproof serve oms: expected JSON")


def test_faults_and_variants_are_switched_on() -> None:
    with served("--fault", "count-constant", "--variant", "partitions-from-1") as (_, url):
        post(url, op="create_destination", destination="q", partitions=1)
        sent = post(url, op="send", message=message(partition=1))
        assert "ok" in sent
        refused = post(url, op="send", message=message(partition=0))
        assert cast(Object, refused["error"])["code"] == "1418"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fault", "delay-ignred"], "did you mean 'delay-ignored'"),
        (["--variant", "x"], "no variant is called 'x'"),
        (["--http", "nowhere"], "'nowhere' is no address"),
        (["--tcp", "127.0.0.1:0"], "unrecognized arguments: --tcp"),
    ],
)
def test_bad_options_are_one_sentence(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 2
    said = capsys.readouterr().err
    assert said.startswith("wireproof serve oms: ")
    assert words in said
    assert said.count("\n") == 1


def test_faults_and_variants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-faults"]) == 0
    faults = capsys.readouterr().out.splitlines()
    assert main(["--list-variants"]) == 0
    variants = capsys.readouterr().out.splitlines()
    assert all(len(line.split("\t")) == 5 for line in (*faults, *variants))
    assert len(faults) > 100
    assert len(variants) >= 10
