"""What a user is told while a run goes on: cases done, time left, and what it waits for."""

import io
import os

import pytest
from bundle_fixture import write_bundle

from wireproof.view.display import LineDisplay, Progress
from wireproof.view.style import PLAIN
from wireproof.view.summary import Result
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.runner.patience import BUSY_LIMIT, machine_load, note_lengthening


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("view") / "run.jsonl"))


def test_long_runs_tell_their_progress_to_another_stream(bundle: Bundle) -> None:
    clock, progress = Clock(), io.StringIO()
    display = LineDisplay(io.StringIO(), progress, PLAIN, clock=clock)
    display.begin(bundle.header, selected=40)

    for record in bundle.cases[:20]:
        clock.now += 1.0
        display.case(record)

    lines = progress.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[0] == "progress [ 5/40, 5.0 s, 20 repeats, about 35 s left ]"


def test_the_time_left_is_estimated_from_all_cases_that_have_ended() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.begin(297)
    progress.done = 2
    clock.now += 120.0

    assert progress.line() == "[ 2/297, 120.0 s ]", "two of 297 say nothing of the rest"
    progress.ended = 60
    assert progress.line() == "[ 2/297, 120.0 s, about 474 s left ]"


def test_limits_that_a_busy_machine_lengthens_are_said() -> None:
    progress = Progress(Clock(), load=lambda: 3.2)
    progress.begin(297)

    told = "; the machine is busy, limits are 3.2 times as long"
    assert progress.line() == f"[ 0/297, 0.0 s{told} ]"


def test_the_first_lengthened_wait_is_told_and_the_summary_has_the_longest(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's case took almost five minutes, and nothing said why."""
    out, loads = io.StringIO(), iter([2.0, 3.0, 5.2, 9.9])
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (next(loads), 0.0, 0.0))
    display = LineDisplay(out, None, PLAIN)
    display.begin(bundle.header, selected=1)
    out.truncate(out.seek(0))
    with note_lengthening(display.lengthened) as noted:
        assert [machine_load(), machine_load()] == [1.0, 1.5]
        first = " ".join(out.getvalue().split())
        assert first.startswith("busy this machine is busy (load 5.2 on 2 processors): waits")
        assert first.endswith("are up to 1.5 times as long")
        assert machine_load() == BUSY_LIMIT
        assert " ".join(out.getvalue().split()) == first
    assert bundle.footer is not None
    display.end(Result(bundle.header, (), bundle.footer, lengthened=noted.most))

    assert "busy     waits, and limits of cases, were up to 4.0 times" in out.getvalue()


def test_a_wait_that_is_lengthened_at_once_is_told_below_the_first_lines(bundle: Bundle) -> None:
    out = io.StringIO()
    display = LineDisplay(out, None, PLAIN)
    display.lengthened(2.5)
    assert out.getvalue() == ""
    display.begin(bundle.header, selected=1)

    lines = out.getvalue().splitlines()
    assert lines[0].startswith("wireproof ")
    assert [line[:5] for line in lines].count("busy ") == 1


def test_short_runs_tell_no_progress(bundle: Bundle) -> None:
    progress = io.StringIO()
    display = LineDisplay(io.StringIO(), progress, PLAIN, clock=Clock())
    display.begin(bundle.header, selected=40)

    for record in bundle.cases[:40]:
        display.case(record)

    assert progress.getvalue() == ""


def test_progress_at_the_end_is_a_speed() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.begin(4)
    progress.done = 4
    clock.now += 2.0

    assert progress.line() == "[ 4/4, 2.0 s, 2 cases/s ]"


def test_a_log_shows_what_a_long_wait_is_for() -> None:
    progress = io.StringIO()
    LineDisplay(io.StringIO(), progress, PLAIN).wait("the topics that the cases need", 20.4)
    assert progress.getvalue() == "waiting  [ 20 s for the topics that the cases need ]\n"
