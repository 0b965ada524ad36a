"""The command line of `wireproof client`: what it refuses, lists and repeats."""

from dataclasses import replace
from pathlib import Path

import pytest

from wireproof.main import main
from wireproof.options.config import read_settings
from wireproof.options.target_choice import NamedTarget, named_client
from wireproof_kit.errors import UsageFault


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no client named"),
        (["--exec", ""], "--exec '': the command is empty"),
        (["--check-driver", ""], "--check-driver '': the command is empty"),
        (["--exec", "client {topc}"], "{topc} is unknown"),
        (["--exec", "x", "nsq/publish"], "use `wireproof run`"),
        (["--exec", "x", "nsq/client-nothing"], "selects no case"),
        (["--exec", "x", "--protocol", "oms"], "--protocol oms: clients can be judged of"),
        (["--exec", "x", "--role", "judge"], "invalid value for '--role'"),
    ],
)
def test_what_cannot_be_judged_is_told_in_one_sentence(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["client", *arguments]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


CONFIGURED = """\
[target]
url = "nsq+client:./run {topic}"
role = "consumer"
"""


def named(
    *arguments: str, command: str | None = None, protocol: str | None = None, role: str = ""
) -> NamedTarget:
    settings = replace(read_settings(None, folder=Path(), environment={}), found=None)
    return named_client(arguments, settings, command=command, protocol=protocol, role=role or None)


def test_a_configuration_names_a_client_and_its_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wireproof.toml").write_text(CONFIGURED)

    url = "nsq+client:./run {topic}"
    assert named("nsq/client-lookup") == NamedTarget(
        url, ("nsq/client-lookup",), (("role", "consumer"),)
    )
    assert named(role="producer").keys == (("role", "producer"),)
    assert named(command="./run {topic}", protocol="nsq").keys == (("role", "consumer"),)
    assert named(command="./other", protocol="nsq").keys == ()
    assert main(["client", "--config", "wireproof.toml", "--dry-run"]) == 0
    with pytest.raises(UsageFault, match="--protocol iggy: the configuration names"):
        named(protocol="iggy")


def test_a_broker_in_the_configuration_is_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wireproof.toml").write_text('[target]\nurl = "nsq://127.0.0.1:4150"\n')

    with pytest.raises(UsageFault, match="no client named: give --exec"):
        named()
    assert named(command="x", protocol="nsq").url == "nsq+client:x"


def test_only_cases_for_clients_are_listed_for_a_client(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["client", "--exec", "x", "--dry-run"]) == 0
    for_clients = capsys.readouterr().out.splitlines()
    assert main(["run", "--reference", "--dry-run", "nsq"]) == 0
    for_brokers = capsys.readouterr().out.splitlines()

    assert for_clients
    assert all(case.startswith("nsq/client-") for case in for_clients)
    assert not any(case.startswith("nsq/client-") for case in for_brokers)
