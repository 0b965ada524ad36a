"""What lies in the current folder is no code of ours: nothing there is imported or run unasked."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from wireproof.main import main
from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.selftest.plan import list_trials
from wireproof_kit.targets.embedded import start_reference

OWNED = "import pathlib\npathlib.Path(__file__).with_name('owned').touch()\nraise SystemExit(9)\n"


def _reference() -> None:
    start_reference("nsq").close()


def _fork_server() -> None:
    with BrokerForkServer("nsq") as server, server.reference() as url:
        assert url.startswith("nsq://")


def _trials() -> None:
    assert list_trials("nsq", "fault")


@pytest.mark.process
@pytest.mark.parametrize("start", [_reference, _fork_server, _trials])
def test_no_child_imports_from_the_current_folder(
    start: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "argparse", "asyncio", "random", "wireproof"):
        (tmp_path / f"{name}.py").write_text(OWNED)
    monkeypatch.chdir(tmp_path)

    start()

    assert not (tmp_path / "owned").exists()


def test_a_reset_that_a_found_file_names_is_not_run_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    target = '[target]\nurl = "nsq://127.0.0.1:1"\nreset = "touch owned"\n'
    Path("wireproof.toml").write_text(target)

    assert main(["run"]) == 2

    told = capsys.readouterr().err
    assert "'touch owned'" in told
    assert "give --config wireproof.toml" in told
    assert not Path("owned").exists()


@pytest.mark.process
@pytest.mark.parametrize("answer", [True, False])
def test_a_reset_that_a_found_file_names_is_asked_for_once(
    answer: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []

    def confirm(text: str, *, err: bool) -> bool:
        asked.append(text)
        return answer

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.confirm", confirm)
    target = '[target]\nurl = "nsq://127.0.0.1:1"\nreset = "touch owned"\n'
    Path("wireproof.toml").write_text(target)

    assert main(["run"]) == 2

    assert len(asked) == 1
    assert "'touch owned'" in capsys.readouterr().out
    assert Path("owned").exists() is answer
