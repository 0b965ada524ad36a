"""What a target wrote before it died, from its log or from a command."""

import shlex
import sys
from pathlib import Path

import pytest

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.campaign.last_words import (
    LONGEST_LINE,
    MOST_LINES,
    LogReader,
    check_log,
    quote_last_words,
    read_last_words,
)

PANIC = "panic: runtime error: index out of range"


def test_lines_from_the_reason_on_are_quoted() -> None:
    before = [f"INFO: client {n}" for n in range(50)]
    stack = [f"goroutine {n} [running]:" for n in range(50)]

    quoted = quote_last_words("\n".join([*before, PANIC, *stack])).splitlines()

    assert quoted == [PANIC, *stack[: MOST_LINES - 1]]


def test_what_was_logged_of_a_case_is_no_reason() -> None:
    logged = ["E1130 invalid command line: signal", *["I1130 404 POST /"] * MOST_LINES]
    assert quote_last_words("\n".join([*logged, PANIC])).splitlines() == [PANIC]


def test_without_a_reason_the_last_lines_are_quoted() -> None:
    lines = [f"line {n}" for n in range(50)]

    assert quote_last_words("\n\n".join(lines)).splitlines() == lines[-MOST_LINES:]
    assert quote_last_words("x" * 5000) == "x" * LONGEST_LINE
    assert quote_last_words("") == ""


def test_only_what_was_appended_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("panic: of long ago\n")
    reader = LogReader(log)

    assert reader.read_new() == ""
    with log.open("a") as file:
        file.write(PANIC + "\n")
    assert reader.read_new() == PANIC
    assert reader.read_new() == ""
    log.write_text("anew\n")
    assert reader.read_new() == "anew"
    log.unlink()
    assert reader.read_new() == ""


@pytest.mark.process
def test_the_output_of_a_command_is_read() -> None:
    # The command goes on, as `journalctl -f` does; whoever reads it ends it.
    script = f"import signal; print({PANIC!r}, flush=True); signal.pause()"
    with read_last_words(None, shlex.join([sys.executable, "-c", script])) as last_words:
        said = next((words for _ in range(20) if (words := last_words())), "")

    assert said == PANIC


@pytest.mark.process
def test_a_log_or_command_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="expected a file that can be read, found No such file"):
        check_log(tmp_path / "none")
    with (
        pytest.raises(UsageFault, match="expected a command that starts"),
        read_last_words(None, str(tmp_path / "none")),
    ):
        pass


def test_without_either_nothing_is_said() -> None:
    with read_last_words(None, None) as last_words:
        assert last_words() == ""
