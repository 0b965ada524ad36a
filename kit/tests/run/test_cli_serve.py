"""Serving: everything behind the protocol's name belongs to that broker."""

import pytest

from wireproof.main import main


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []

    def serve(arguments: list[str]) -> int:
        calls.append(arguments)
        return 7

    monkeypatch.setattr("wireproof_reference_impl.nsq.serve.main", serve)
    return calls


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--json", "--tcp", "127.0.0.1:0"],
        ["--help"],
        ["-h"],
        ["--fault", "x", "--", "y"],
        ["-v", "--config", "file"],
    ],
)
def test_arguments_are_handed_through(passed: list[list[str]], arguments: list[str]) -> None:
    assert main(["serve", "nsq", *arguments]) == 7
    assert passed == [arguments]


def test_help_of_serve_itself(passed: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    assert "wireproof serve nsq --tcp" in capsys.readouterr().out
    assert passed == []


def test_a_signal_before_the_broker_listens_ends_it_as_one_afterwards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said that the command did not finish, though a signal is how it ends."""

    def serve(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("wireproof_reference_impl.nsq.serve.main", serve)
    assert main(["serve", "nsq"]) == 0
    assert capsys.readouterr().err == ""
