"""Calls that are wrong: one sentence, exit code 2, and no file left."""

import re
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof.commands import run as run_module
from wireproof.main import main
from wireproof.options.config import Settings
from wireproof_kit.errors import UsageFault

pytestmark = pytest.mark.process

DEAD = "nsq://127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "no target named: give a URL such as nsq://127.0.0.1:4150, or [target] url in"),
        ([""], "the broker URL is empty"),
        ([" ", "ext"], "the broker URL is empty"),
        (["127.0.0.1:4150"], "did you mean nsq://127.0.0.1:4150?"),
        (["nsq//127.0.0.1:4150"], "did you mean nsq://127.0.0.1:4150?"),
        (["nsq://a:1", "--reference"], "expected either a URL or --reference"),
        (["--reference", "--http", "a:1"], "--reference brings its own addresses"),
        (["--reference", "--bundle", "notes.txt"], "is there and is no bundle"),
        (["--reference", "--bundle", "."], "expected a file, found a folder"),
        (["--reference", "--bundle", "notes.txt/b.jsonl"], "notes.txt is no folder"),
        (["--reference", "--html", "."], "expected a file, found a folder"),
        (["--reference", "--junit", "notes.txt/j.xml"], "is no folder"),
        (["--reference", "--timeout", "soon"], "'soon' is neither auto nor seconds"),
        (["--reference", "--timeout", "0"], "'0' is neither auto nor seconds"),
        (["--reference", "--case-timeout", "-1"], "'--case-timeout'"),
        (["--reference", "--config", "none.toml"], "the file does not exist"),
        (["--reference", "--restart", "start 'it"], '--restart "start \'it" is no command'),
    ],
)
def test_a_wrong_call_gets_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine\n")

    assert main(["run", *arguments]) == 2

    told = capsys.readouterr()
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1
    assert told.out == ""
    assert (tmp_path / "notes.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("argument", "url"),
    [
        ("nsq:/h:1", "nsq://h:1"),
        ("nsq:h:1", "nsq://h:1"),
        ("iggy:h:8090", "iggy://h:8090"),
        ("nsq:", "nsq://127.0.0.1:4150"),
        ("iggy", "iggy://127.0.0.1:8090"),
        ("h:4150", "nsq://h:4150"),
        ("//h:8090", "iggy://h:8090"),
    ],
)
def test_a_url_that_is_none_is_mended(
    argument: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", argument]) == 2
    assert f"did you mean {url}?" in capsys.readouterr().err


def test_an_address_of_ipv6_can_be_copied_from_the_advice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "nsq://[::1]:1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("wireproof: cannot reach nsq://[::1]:1 (")
    assert "Try: wireproof doctor nsq://[::1]:1\n" in said


def test_an_empty_variable_is_no_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIREPROOF_URL", "")

    assert main(["run"]) == 2
    assert "the broker URL is empty" in capsys.readouterr().err


def test_a_place_where_nothing_can_be_written_is_named() -> None:
    with pytest.raises(UsageFault, match=r"--bundle /proc/b.jsonl: cannot be written \("):
        run_module.bundle_place(Path("/proc/b.jsonl"), Settings())


@pytest.mark.parametrize("option", ["--html", "--junit", "--pcap", "--allure"])
def test_a_report_that_cannot_be_written_is_found_out_before_the_run(
    option: str, dead_port: int, tmp_path: Path
) -> None:
    done = wireproof("run", f"nsq://127.0.0.1:{dead_port}", option, "/proc/report", cwd=tmp_path)

    assert done.refused().startswith(f"{option} /proc/report: cannot be written (")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["run", "fuzz"])
@pytest.mark.parametrize("url", ["nsq:///h:1", "nsq://127.0.0.1:1", "nsq://127.0.0.1:99999"])
def test_a_run_that_cannot_begin_leaves_no_file(command: str, url: str, tmp_path: Path) -> None:
    wireproof(command, url, cwd=tmp_path).refused()

    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", DEAD, "--claim", "magic=true"], "'magic' is unknown; expected one of ext, trace"),
        (["run", DEAD, "--topic", "magic=t"], "expected one of ext_topic, .*; found 'magic'"),
        (["run", DEAD, "--spec-rev", "99"], "this kit knows nsq up to revision 3"),
        (
            ["client", "--exec", DEAD, "--claim", "ext=true"],
            "'ext' is unknown; .*client-",
        ),
        (["fuzz", DEAD, "--frames", "PUP"], "kind begins with 'PUP'; expected one of .*, PUB,"),
        (["fuzz", DEAD, "--exclude-frames", "PUP"], "kind begins with 'PUP'; expected one of"),
        (["fuzz", DEAD, "--states", "magic"], "state is called 'magic'; expected one of .*http"),
        (["fuzz", DEAD, "--frames", "PUB", "--states", "http"], "PUB is sent in the state http"),
        (["fuzz", "iggy://127.0.0.1:1", "--frames", "PUP"], "'PUP'; expected one of .*ping"),
        (["fuzz", "--exec", DEAD, "--frames", "PUP"], "'PUP'; expected one of message,"),
        (["fuzz", "--exec", DEAD, "--states", "magic"], "'magic'; expected one of consuming,"),
        (["fuzz", f"nsq+client:{DEAD}", "--frames", "PUP"], "'PUP'; expected one of message,"),
        (["fuzz", "oms+exec:none", "--frames", "PUP"], "'PUP'; expected one of send,"),
    ],
)
def test_a_name_that_nothing_has_is_refused_before_anything_is_opened(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = wireproof(*arguments, cwd=tmp_path)

    assert re.search(sentence, done.refused())
    assert done.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([DEAD, "--restart", ""], "--restart '': the command is empty"),
        ([DEAD, "--log-command", " "], "--log-command ' ': the command is empty"),
        ([DEAD, "--log-command", "'"], '--log-command "\'" is no command line'),
        (["--exec", DEAD, "--restart", ""], "--restart cannot be used with a client"),
        (["--exec", DEAD, "--log-command", ""], "--log-command cannot be used with a client"),
        ([f"nsq+client:{DEAD}", "--pid", "1"], "--pid cannot be used with a client"),
        (["oms+exec:none", "--log-command", ""], "--log-command cannot be used with an adapter"),
        (["--reference", "nsq", "--restart", "x"], "--restart cannot be used with the embedded"),
        (["--reference", "nsq", "--log-command", ""], "--log-command cannot be used with the"),
    ],
)
def test_a_command_beside_the_fuzzer_that_cannot_be_used_is_refused_first(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = wireproof("fuzz", *arguments, cwd=tmp_path)

    assert sentence in done.refused()
    assert done.out == ""
    assert not (tmp_path / "out").exists()
