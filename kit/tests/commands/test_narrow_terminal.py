"""Output on a terminal of 40 columns: wrapped, with commands and names kept whole."""

import io
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from bundle_fixture import write_bundle
from test_cli_view import Terminal, plain

from wireproof.commands.table import COMMANDS
from wireproof.main import main
from wireproof.options.global_options import OutputStyle
from wireproof.view.choose_display import choose_display
from wireproof.view.display import LineDisplay, LiveDisplay
from wireproof.view.rows import case_line
from wireproof.view.style import CONTINUED, PLAIN, Style, cut_id, wrap_after_heading, wrap_command
from wireproof.view.summary import Result
from wireproof.view.terminal import columns
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.decoding.printable import width

WHOLE = ("  replay ", "  explain ", "  wireproof ", "Usage: ", "      --")
"""What lines begin with that hold a command, which is kept whole to be copied."""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("narrow") / "run.jsonl")


@pytest.fixture
def bundle(path: Path) -> Bundle:
    return read_bundle(path)


def too_long(lines: list[str]) -> Iterator[str]:
    """Yield the lines of over 40 columns that could have been broken at a space."""
    for line in (line.removesuffix(CONTINUED) for line in lines):
        if width(line) > 40 and not line.startswith(WHOLE) and " " in line.split("  ")[-1].strip():
            yield line


def end(display: LineDisplay | LiveDisplay, bundle: Bundle) -> None:
    assert bundle.footer is not None
    display.begin(bundle.header, selected=len(bundle.cases))
    for record in bundle.cases:
        display.case(record)
    display.wait("a part of the run with a long name, which does not fit", 20)
    display.end(Result(bundle.header, bundle.cases, bundle.footer, Path("out/run.jsonl")))


@pytest.mark.parametrize("variable", ["40", "39", "1", "0", "-5", "x", "100000"])
def test_a_line_has_between_40_and_80_columns(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", variable)

    assert 40 <= columns() <= 80


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_a_run_fits(bundle: Bundle, verbose: int) -> None:
    out = io.StringIO()

    end(LineDisplay(out, None, PLAIN, verbose=verbose, recorded=True), bundle)

    lines = out.getvalue().splitlines()
    assert not list(too_long(lines))
    assert lines[-1].endswith("exit 1")


@pytest.mark.parametrize("width", ["40", "50", "60", "70", "80"])
def test_a_name_of_a_field_is_whole_at_any_width(
    width: str, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    out = io.StringIO()

    end(LineDisplay(out, None, PLAIN, recorded=True), bundle)

    text = out.getvalue()
    assert all(name in text for name in ("frame_type = 0", "json_header", "internal_id"))
    assert "…onse" not in text


def test_lines_that_are_redrawn_never_wrap(bundle: Bundle) -> None:
    out = Terminal()

    end(LiveDisplay(out, Style(coloured=True), height=24), bundle)

    for drawing in out.getvalue().split("\x1b[J")[1:-1]:
        assert max(map(width, plain(drawing.splitlines()))) <= 40


@pytest.mark.parametrize(
    "words",
    [
        "diff BUNDLE BUNDLE",
        "explain ext.publish.header-json",
        "explain ext.publish",
        "decode -v 00000006000000004f4b",
        *(f"{name} --help" for name in COMMANDS),
    ],
)
def test_a_command_fits(words: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(path) if word == "BUNDLE" else word for word in words.split()])

    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines
    assert not list(too_long(lines))


def test_a_heading_that_leaves_too_little_room_has_a_line_of_its_own() -> None:
    head = "ext.publish.header-json  must"

    assert wrap_after_heading(head, "a b", indent=len(head)) == [head, "    a b"]


def test_a_shell_takes_the_lines_of_a_wrapped_command_as_one() -> None:
    command = "wireproof client nsq/client/a --exec './run {topic}  x' -v --bundle 'a b.jsonl'"
    lines = wrap_command("  repeat", command, indent=12)

    assert len(lines) > 2
    text = "\n".join(lines).removeprefix("  repeat    ").replace("\\\n", "")
    assert shlex.split(text) == shlex.split(command)


def test_a_long_id_is_cut_on_a_terminal_and_nowhere_else(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"nsq/publish/{'long/' * 50}last"
    record = msgspec.structs.replace(bundle.cases[0], case=name)
    assert name in case_line(record, bundle.header, PLAIN)

    monkeypatch.setattr("sys.stdout", Terminal())

    shown = cut_id(name)
    assert width(shown) <= 40
    assert shown.startswith("nsq/publish/")
    assert shown.endswith("last")
    assert shown in case_line(record, bundle.header, PLAIN)


def test_a_dumb_terminal_has_no_colours_and_nothing_is_redrawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "dumb")

    assert not OutputStyle().is_coloured(Terminal())
    assert isinstance(choose_display(OutputStyle(), bundle=None), LineDisplay)
    monkeypatch.setenv("TERM", "xterm")
    assert OutputStyle().is_coloured(Terminal())
