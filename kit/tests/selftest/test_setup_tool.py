"""The set-up script: one sentence when it cannot do its work, nothing to do when it is done."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from tool_modules import load_tool

from wireproof_reports.pipeline import jars


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_tool("tools/setup.py")
    monkeypatch.setattr(module, "VENV", tmp_path / "venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / "venv" / "stamp")
    monkeypatch.setattr(module, "TOOLS", tmp_path / "tools")
    return module


def failing(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.CompletedProcess([], 1)


def test_a_python_without_venv_and_pip_is_one_sentence(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup.subprocess, "run", failing)
    assert setup.main(["core"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "python3-venv" in said


def test_an_unsupported_python_is_named(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup, "OLDEST", (4, 0))
    assert setup.main(["core"]) == 2
    assert sys.executable in capsys.readouterr().err


def test_jars_are_told_with_their_size_before_they_are_fetched(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []

    def run(command: Sequence[object], **options: object) -> None:
        told.extend([capsys.readouterr().err, *map(str, command[1:])])

    monkeypatch.setattr(setup, "java_version", lambda: setup.OLDEST_JAVA)
    monkeypatch.setattr(setup.subprocess, "run", run)

    assert setup.fetch_jars() == 0
    assert f"{jars.MEGABYTES} MB of jars are fetched, and an archive of 200 MB written" in told[0]
    assert told[1:] == ["-m", "wireproof_reports.pipeline.jars"]


def test_an_unknown_kind_is_refused(setup: ModuleType) -> None:
    assert setup.main(["everything"]) == 2
    assert setup.main([]) == 2


@pytest.mark.parametrize(
    ("done", "asked", "prepared"),
    [
        ("dev", "core", True),
        ("dev", "dev", True),
        ("core", "dev", False),
        ("odd", "core", False),
        ("dev", "pynsq", False),
        ("clients", "pynsq", True),
        ("all", "clients", True),
    ],
)
def test_what_is_prepared_already_is_not_prepared_again(
    setup: ModuleType, done: str, asked: str, *, prepared: bool
) -> None:
    (setup.VENV / "bin").mkdir(parents=True)
    (setup.VENV / "bin" / "python").touch()
    setup.STAMP.write_text(f"{done} {setup.fingerprint()}\n")
    assert setup.is_prepared(asked) is prepared


def test_a_changed_lock_is_prepared_anew(setup: ModuleType) -> None:
    (setup.VENV / "bin").mkdir(parents=True)
    (setup.VENV / "bin" / "python").touch()
    setup.STAMP.write_text("all 0000\n")
    assert setup.is_prepared("core") is False


def test_missing_java_is_named_and_no_failure(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    assert setup.report_java() == 0
    assert "MISSING" in capsys.readouterr().out


def test_tshark_is_installed_where_the_system_allows_or_named(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_the_path = {"apt-get": "/usr/bin/apt-get"}
    monkeypatch.setattr(setup.shutil, "which", on_the_path.get)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    assert setup.report_tshark() == 0
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0)
    monkeypatch.setattr(setup, "install", lambda name: on_the_path.update({name: f"/bin/{name}"}))
    assert setup.report_tshark() == 0
    assert capsys.readouterr().out == (
        "tshark for captures: MISSING (tshark was not found and could not be installed: "
        "apt-get needs root)\n"
        "tshark for captures: /bin/tshark\n"
    )


def saying(**versions: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Programs that say such words of themselves, by their names."""

    def run(command: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=versions[Path(command[0]).name])

    return run


@pytest.mark.parametrize(
    ("on_the_path", "root", "why"),
    [
        ((), True, "there is no apt-get here"),
        (("apt-get",), False, "apt-get needs root"),
        (("apt-get",), True, "apt-get did not bring it"),
        (("apt-get", "cargo"), True, "apt-get did not bring it"),
    ],
)
def test_missing_compilers_are_named_and_no_failure(
    setup: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    on_the_path: tuple[str, ...],
    why: str,
    *,
    root: bool,
) -> None:
    monkeypatch.setattr(setup.shutil, "which", lambda name: name if name in on_the_path else None)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(setup.subprocess, "run", failing)
    assert setup.report_compilers(setup.GO, setup.RUST) == 0
    assert capsys.readouterr().out == (
        f"Go for both go-nsq: MISSING (Go was not found and could not be installed: {why})\n"
        "Rust for crates iggy and tokio-nsq: "
        f"MISSING (Rust was not found and could not be installed: {why})\n"
    )
    assert setup.GO.find_missing().startswith("Go was not found")


def test_compilers_are_installed_where_the_system_allows(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    brought = {"golang-go": ("go",), "rustc-web": ("rustc",), "cargo-web": ("cargo",)}
    on_the_path = {"apt-get": "/usr/bin/apt-get"}

    def install(*packages: str) -> None:
        for package in packages:
            on_the_path.update({each: f"/bin/{each}" for each in brought.get(package, ())})

    monkeypatch.setattr(setup.shutil, "which", on_the_path.get)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0)
    words = saying(go="go version go1.19.8 linux/amd64", rustc="rustc 1.96.0 (x 2026-08-17)")
    monkeypatch.setattr(setup.subprocess, "run", words)
    monkeypatch.setattr(setup, "install", install)
    assert setup.report_compilers(setup.GO, setup.RUST) == 0
    assert capsys.readouterr().out == (
        "Go for both go-nsq: /bin/go (1.19)\n"
        "Rust for crates iggy and tokio-nsq: /bin/cargo (1.96)\n"
    )


def test_compilers_that_are_there_are_left_alone(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/opt/{name}")
    words = saying(go="go version go1.26.8 linux/amd64", rustc="rustc 1.95.0 (x 2026-03-21)")
    monkeypatch.setattr(setup.subprocess, "run", words)
    monkeypatch.setattr(setup, "install", lambda *names: pytest.fail(f"{names} were installed"))
    assert setup.report_compilers(setup.GO, setup.RUST) == 0
    assert capsys.readouterr().out == (
        "Go for both go-nsq: /opt/go (1.26)\n"
        "Rust for crates iggy and tokio-nsq: /opt/cargo (1.95)\n"
    )


@pytest.mark.parametrize(
    ("compiler", "found", "reason"),
    [
        ("GO", "1.15", "Go 1.15 was found where 1.19 or newer is needed"),
        ("RUST", "1.63", "Rust 1.63 was found where 1.88 or newer is needed"),
    ],
)
def test_a_compiler_that_is_too_old_is_named(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, compiler: str, found: str, reason: str
) -> None:
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: None if name == "apt-get" else f"/usr/bin/{name}"
    )
    words = saying(go=f"go version go{found}.15 linux/amd64", rustc=f"rustc {found}.0 (x)")
    monkeypatch.setattr(setup.subprocess, "run", words)
    assert getattr(setup, compiler).find_missing() == (
        f"{reason} and could not be installed: there is no apt-get here"
    )
