"""The doctor: what is there, what is missing, what to do."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest

from wireproof.main import main
from wireproof_kit.targets.embedded import start_reference
from wireproof_spec.extras import install_command

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_this_machine_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(("ok ", "missing ")) for line in lines)
    assert any("python" in line for line in lines)


def test_a_target_that_answers_is_ok(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(start_reference("nsq")) as started:
        assert main(["doctor", started.url]) == 0

    assert "answers as nsq" in capsys.readouterr().out


def test_an_open_port_is_no_target(listener: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", f"nsq://127.0.0.1:{listener}"]) == 2
    assert "accepts connections but leaves IDENTIFY without an answer" in capsys.readouterr().out


def test_a_dead_port_is_named_with_advice(
    dead_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", f"nsq://127.0.0.1:{dead_port}", "-q"]) == 2

    out = capsys.readouterr().out
    assert f"nsq://127.0.0.1:{dead_port}: connection refused" in out
    assert "is the broker running" in out


def test_keys_of_the_target_are_checked_too(
    listener: int, dead_port: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    url = f"nsq://127.0.0.1:{listener}?http=127.0.0.1:{dead_port}&data={tmp_path}"

    assert main(["doctor", url, "--json"]) == 2

    found = {item["name"]: item["ok"] for item in json.loads(capsys.readouterr().out)}
    assert (found["http"], found["data"]) == (False, True)


@pytest.mark.parametrize(
    ("url", "name"), [("nsq+client", "client"), ("oms+exec", "adapter"), ("oms+file", "documents")]
)
def test_what_has_no_address_is_opened(
    url: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", f"{url}:./nowhere", "--json"]) == 2

    found = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert not found[name]["ok"]
    assert "nowhere" in found[name]["found"]


def test_a_missing_extra_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = metadata.version

    def version(name: str) -> str:
        if name == "pyspark":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("ALLURE_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")

    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "missing  pyspark" in out
    assert f"for history over many runs: {install_command('spark')}" in " ".join(out.split())
    assert "missing  java" in out
    assert "missing  allure        no Allure was found; only for --allure-html; install" in out


def test_a_missing_need_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = metadata.version

    def version(name: str) -> str:
        if name == "h11":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", version)

    assert main(["doctor", "--quiet"]) == 2
    assert "missing  h11" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "the broker URL is empty"),
        ("   ", "the broker URL is empty"),
        ("localhost:4150", "did you mean nsq://localhost:4150?"),
        ("amqp://localhost:4150", "expected to be one of nsq://"),
        ("nsq://localhost", "found no port"),
        ("nsq://localhost:99999", "port expected to be 1 to 65535"),
        ("nsq://localhost:4150?htp=x", "target key 'htp' is unknown"),
        ("nsq://localhost:4150?data=/none", "does not exist"),
    ],
)
def test_a_wrong_url_gets_one_sentence(
    url: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", url]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
