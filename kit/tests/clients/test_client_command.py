"""The command line of `wireproof client`: what it refuses, lists and repeats."""

from pathlib import Path

import pytest

from wireproof.main import main


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
