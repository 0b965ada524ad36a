"""How a terminal is addressed: the display, colour, escaped bytes and wrapped lines."""

import io

import pytest
from test_cli_view import Terminal

from wireproof.options.global_options import OutputStyle
from wireproof.view.choose_display import choose_display
from wireproof.view.display import EventDisplay, LineDisplay, LiveDisplay
from wireproof.view.exchange import whole_exchange
from wireproof.view.style import flow_pieces, wrap_after_heading
from wireproof_spec.step_record import StepRecord, TranscriptRecord


def test_the_display_fits_where_stdout_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert isinstance(choose_display(OutputStyle(), bundle=None), LineDisplay)
    assert isinstance(choose_display(OutputStyle(json=True), bundle=None), EventDisplay)

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("os.get_terminal_size", lambda _number=1: Size())
    monkeypatch.setattr(Terminal, "fileno", lambda _self: 1, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(choose_display(OutputStyle(), bundle=None), LiveDisplay)
    assert isinstance(choose_display(OutputStyle(quiet=True), bundle=None), LineDisplay)
    assert isinstance(choose_display(OutputStyle(), bundle=None, recorded=True), LineDisplay)
    shown = choose_display(OutputStyle(), bundle=None, failures_only=True)
    assert isinstance(shown, LineDisplay)
    assert shown.failures_only
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose_display(OutputStyle(), bundle=None), LineDisplay)


class Size:
    lines = 24
    columns = 80


@pytest.mark.parametrize(
    ("color", "variable", "stream", "coloured"),
    [
        ("auto", "", Terminal(), True),
        ("auto", "", io.StringIO(), False),
        ("auto", "1", Terminal(), False),
        ("always", "1", io.StringIO(), True),
        ("never", "", Terminal(), False),
    ],
)
def test_colour_is_chosen(
    color: str, variable: str, stream: io.StringIO, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)

    assert OutputStyle(color=color).is_coloured(stream) is coloured  # type: ignore[arg-type]


def test_bytes_of_a_target_never_reach_the_terminal_raw() -> None:
    data = b"\x1b]0;owned\x07\x1b[2J\xff"
    steps = (
        StepRecord(1, "A", "open", note="\x1b[31mred"),
        StepRecord(2, "A", "receive", hex=data.hex(), length=len(data), note="\x1b[0m"),
        StepRecord(3, "A", "response", hex=data.hex(), length=len(data)),
    )

    lines = list(whole_exchange(TranscriptRecord(steps), "nsq", all_bytes=True))

    assert lines
    assert not any("\x1b" in line or "\x07" in line for line in lines)


def test_pieces_flow_and_are_never_cut() -> None:
    lines = list(flow_pieces("head", ["a" * 60, "b" * 60, "c" * 100, "d"]))

    assert lines == [f"head     {'a' * 60}", f"{'b' * 60:>69}", " " * 9 + "c" * 100, " " * 9 + "d"]


def test_wrapped_text_keeps_its_head() -> None:
    assert wrap_after_heading("head", "") == ["head"]
    assert wrap_after_heading("head", "word " * 20)[1].startswith(" " * 9 + "word")
