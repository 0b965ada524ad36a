"""What lies in the current folder is no code of ours: nothing there is imported or run unasked."""

import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from finding_scripts import finding_of, header

from wireproof.main import main
from wireproof.options import confirmation
from wireproof_kit.fuzz.case import Case, Step
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
    assert "'touch owned'" in capsys.readouterr().err
    assert Path("owned").exists() is answer


@pytest.mark.process
@pytest.mark.parametrize("url", ["nsq+client:touch owned", "oms+exec:touch owned"])
@pytest.mark.parametrize("command", [("run",), ("probe",), ("doctor",), ("fuzz", "--cases", "1")])
def test_a_command_in_the_url_of_a_found_file_is_not_run_unasked(
    url: str,
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wireproof.toml").write_text(f'[target]\nurl = "{url}"\n')

    assert main(command) == 2

    assert "would run the command 'touch owned' ([target] url)" in capsys.readouterr().err
    assert not Path("owned").exists()


@pytest.mark.parametrize("url", ["nsq+client:touch owned", "oms+exec:touch owned"])
def test_a_command_in_a_bundle_is_not_run_unasked(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_finding(url)

    assert main(["replay", "0123456789ab", "--bundle", "b.jsonl"]) == 2

    told = capsys.readouterr().err
    assert "'touch owned'; commands from files are not run unasked" in told
    assert f"give --to '{url}'" in told
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("key", "instead"),
    [("auth_env=HOME", "--auth-env HOME"), ("cert=b.pem", "--cert b.pem"), ("k%65y=b", "--key b")],
)
def test_a_secret_that_a_bundle_names_is_not_sent_unasked(
    key: str,
    instead: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_finding(f"nsq://127.0.0.1:1?tls=true&{key}")

    assert main(["replay", "0123456789ab", "--bundle", "b.jsonl"]) == 2
    assert f"give {instead} to send it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    [
        "nsq://192.0.2.1:4150",
        "nsq://127.0.0.1:1?http=192.0.2.1:80",
        "nsq://127.example:1",
        "nsq://127.0.0.1:2375",
    ],
)
def test_an_address_that_a_bundle_names_is_not_contacted_unasked(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(confirmation, "_AGREED", set[str]())
    _write_finding(url)

    assert main(["replay", "0123456789ab", "--bundle", "b.jsonl"]) == 2

    told = capsys.readouterr().err
    assert "which you have not named here" in told
    assert f"give --to {shlex.quote(url)} to send it there" in told


def test_an_address_that_a_bundle_names_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def confirm(text: str, *, err: bool) -> bool:
        asked.append(text)
        return err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.confirm", confirm)
    _write_finding("nsq://192.0.2.1:4150")

    for _ in range(2):
        monkeypatch.setattr(confirmation, "_AGREED", set[str]())
        assert main(["replay", "0123456789ab", "--bundle", "b.jsonl"]) == 2
        told = capsys.readouterr().err
        assert "give --hazardous" in told

    assert asked == ["Contact this address?"]


def test_an_address_that_the_user_has_named_needs_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a run sent to a broker, a replay may send there; nobody listens at this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(confirmation, "_AGREED", set[str]())
    url = "nsq://127.0.0.1:1"
    _write_finding(url)

    assert main(["run", url]) == 2
    monkeypatch.setattr(confirmation, "_AGREED", set[str]())
    assert main(["replay", "0123456789ab", "--bundle", "b.jsonl"]) == 2

    assert "give --to" not in capsys.readouterr().err


def _write_finding(url: str) -> None:
    nothing = Case(0, "fresh", "", "", "", (Step(b"x"),), delimited=True)
    lines = map(msgspec.json.encode, (header(url), finding_of([nothing], "answer")))
    Path("b.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
