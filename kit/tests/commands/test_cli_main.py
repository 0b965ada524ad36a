"""The entry: help that costs nothing, one sentence for every mistake, no traceback."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_process import clean_environment, python, wireproof

from wireproof import main as entry
from wireproof.commands.table import COMMANDS, CommandEntry
from wireproof.options.lazy_group import Command, Context, LazyGroup

pytestmark = pytest.mark.process

HEAVY = {
    "pytest",
    "hypothesis",
    "jsonschema",
    "scapy",
    "pyspark",
    "allure",
    "construct",
    "rich",
    "msgspec",
    "jinja2",
    "wireproof_kit",
    "wireproof_spec",
    "wireproof_reports",
}

BELOW_BASELINE = ("update", "prune", "check")
EVERY = [*COMMANDS, *(f"baseline {name}" for name in BELOW_BASELINE)]


def loaded_by(*arguments: str) -> set[str]:
    """Return the packages that a command has imported when it is done."""
    code = (
        "import sys\n"
        "from wireproof.main import main\n"
        f"assert main({list(arguments)!r}) == 0\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )

    done = python(code)

    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_imports_nothing_heavy() -> None:
    loaded = loaded_by("--help")

    assert "click" in loaded
    assert not loaded & HEAVY


def test_help_of_the_fuzzer_imports_what_it_judges_with_and_no_library_of_tests() -> None:
    loaded = loaded_by("fuzz", "--help")

    assert "wireproof_kit" in loaded
    assert not loaded & {"pytest", "hypothesis", "scapy", "pyspark", "allure", "rich"}


def test_help_is_quick() -> None:
    """Counted in processor time, since other tests share the machine; waiting is no part of it."""
    times: list[float] = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert wireproof("--help").code == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    assert min(times) < 0.15


def test_help_lists_every_command() -> None:
    out = wireproof("--help").out

    for name, entry_ in COMMANDS.items():
        assert name in out
        assert entry_.promise in out


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("name", EVERY)
def test_every_help_begins_with_examples(
    name: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = entry.main([*name.split(), flag])

    out = capsys.readouterr().out
    assert code == 0
    assert out.index("Examples:") < out.index("Usage: wireproof")
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_command_that_was_looked_at_first_is_still_asked_for_help_by_the_short_option() -> None:
    """Click keeps the help option that a command's first context names."""
    command = Command("looked-at", help="Do nothing.")
    command.get_params(Context(command, click.Context(click.Command("wireproof"))))

    with pytest.raises(click.exceptions.Exit) as ended:
        command.make_context("looked-at", ["-h"])

    assert ended.value.exit_code == 0


@pytest.mark.parametrize("name", EVERY)
def test_every_option_says_what_it_is_for_and_what_it_takes(name: str) -> None:
    first, *below = name.split()
    command = LazyGroup("wireproof", COMMANDS, examples=()).get_command(
        click.Context(click.Command("wireproof")), first
    )
    if below:
        assert isinstance(command, click.Group)
        command = command.commands[below[0]]

    assert command is not None
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, param.opts
            takes = not (param.is_flag or param.count or isinstance(param.type, click.Choice))
            assert param.metavar or not takes, param.opts


@pytest.mark.parametrize("name", ["", "run", "baseline", "baseline update", "serve nsq"])
def test_help_of_a_command_is_that_of_its_option(name: str) -> None:
    asked, by_option = wireproof("help", *name.split()), wireproof(*name.split(), "--help")

    assert (asked.code, asked.out) == (0, by_option.out)


def test_help_of_no_command_is_one_sentence() -> None:
    assert "did you mean 'run'?" in wireproof("help", "rnu").refused()


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    command = tmp_path / "wireproof"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wireproof "$@"\n')
    command.chmod(0o755)
    script = """
    eval "$(wireproof completion bash)"
    ask() { COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wireproof_completion "$@"
            echo "${COMPREPLY[*]}"; }
    ask wireproof ex
    ask wireproof run --profi
    ask wireproof --js
    ask wireproof completion f
    """
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**clean_environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=False,
    )
    assert done.stdout.split() == ["explain", "--profile", "--json", "fish"], done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_that_asks_the_command(shell: str) -> None:
    done = wireproof("completion", shell)

    assert done.code == 0
    assert f"_WIREPROOF_COMPLETE={shell}_complete" in done.out


def test_without_a_command_help_is_shown_and_nothing_was_done() -> None:
    done = wireproof()

    assert done.code == 2
    assert "Examples:" in done.err


def test_version_names_kit_and_spec() -> None:
    done = wireproof("--version")

    assert done.code == 0
    assert done.out.startswith("wireproof 0.")
    assert "ext r3" in done.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rnu"], "did you mean 'run'?"),
        (["explian", "x"], "did you mean 'explain'?"),
        (["xyzzy"], "known: run, client, proxy, adapter, judge"),
        (["nsq://127.0.0.1:4150"], "did you mean `wireproof run nsq://127.0.0.1:4150`?"),
        (["run", "--profle", "must"], "did you mean '--profile'?"),
        (["--jsn"], "did you mean '--json'?"),
        (
            ["run", "--md", "x"],
            "option of `wireproof report`, `wireproof diff` (see",
        ),
        (["run", "--report"], "did you mean `wireproof report`?"),
        (["baseline", "update", "--reson"], "did you mean '--reason'? (see `wireproof baseline"),
        (["judge", "."], "it is a folder; expected a bundle"),
        (["run", "--profile", "x"], "'must', 'should', 'may', 'observed'"),
        (["run", "--color", "red", "--reference"], "'auto', 'always', 'never'"),
        (["explain"], "missing argument 'ID'"),
        (["explain", "a", "b"], "unexpected extra argument"),
        (["run", "--seed", "x", "--reference"], "'--seed'"),
        (["run", "-n", "0", "--reference"], "'-n'"),
        (["baseline", "udpate"], "'update'"),
        (["serve", "nqs"], "did you mean 'nsq'?"),
        (["serve"], "missing argument 'nsq|"),
    ],
)
def test_a_mistake_gets_one_sentence(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = entry.main(arguments)

    told = capsys.readouterr()
    assert code == 2
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert hint in told.err


@click.command("broken")
def broken() -> None:
    raise RuntimeError("two\nlines")


@click.command("interrupted")
def interrupted() -> None:
    raise KeyboardInterrupt


@click.command("numbered")
def numbered() -> int:
    return 3


@pytest.fixture
def odd_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("broken", "interrupted", "numbered"):
        monkeypatch.setitem(COMMANDS, name, CommandEntry(f"{__name__}:{name}", "for this test"))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_an_error_of_ours_is_told_and_written_down(
    odd_commands: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = entry.main(["broken"])

    told = capsys.readouterr().err
    (file,) = odd_commands.iterdir()
    assert code == 2
    assert told == (f"wireproof: kit error: RuntimeError: two; please report, details in {file}\n")
    assert "Traceback" in file.read_text()


@pytest.mark.usefixtures("odd_commands")
def test_without_a_temporary_folder_an_error_of_ours_is_still_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))

    assert entry.main(["broken"]) == 2

    assert capsys.readouterr().err == (
        "wireproof: kit error: RuntimeError: two; please report, details cannot be written "
        "(No such file or directory); TMPDIR can name another folder\n"
    )


def test_a_full_disk_is_no_error_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(entry, "root_command", full)

    assert entry.main([]) == 2

    assert capsys.readouterr().err == (
        "wireproof: a disk is full; for temporary files TMPDIR can name another, for those of "
        "Spark SPARK_LOCAL_DIRS can\n"
    )


@pytest.mark.usefixtures("odd_commands")
def test_interruption_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["interrupted"]) == 130
    assert capsys.readouterr().err == "wireproof: interrupted; the command did not finish\n"


@pytest.mark.usefixtures("odd_commands")
def test_the_commands_own_code_is_the_exit_code() -> None:
    assert entry.main(["numbered"]) == 3


def test_a_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, "-m", "wireproof", "explain", "ext.publish"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        check=False,
    )

    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_every_entry_of_the_table_is_a_command() -> None:
    group = LazyGroup("wireproof", COMMANDS, examples=())
    context = click.Context(group)

    for name in COMMANDS:
        assert isinstance(group.get_command(context, name), click.Command), name


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["client", "--exec", ""], "--exec '': the command is empty"),
        (["fuzz", "--exec", " "], "--exec ' ': the command is empty"),
        (["adapter", "check", ""], "CMD '': the command is empty"),
        (["run", "nsq://127.0.0.1:1", "--restart", ""], "--restart '': the command is empty"),
        (["completion"], "missing argument 'bash|zsh|fish'; choose from bash, zsh, fish (see"),
    ],
)
def test_an_empty_value_is_refused_in_words(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    assert sentence in wireproof(*arguments, cwd=tmp_path).refused()
