"""Ctrl-C at a terminal while the kit judges or fuzzes its own reference accuses nobody.

`make edges` interrupts twenty times; without that each command is interrupted twice.
"""

import os
import re
import signal
from pathlib import Path

import pytest
from live_command import run_until
from waits import LONG_S, Stopwatch

from wireproof_kit.bundle.file import read_bundle

pytestmark = [pytest.mark.process, pytest.mark.long]

ASKED = os.environ.get("WIREPROOF_INTERRUPTS")
TIMES = int(ASKED or "4") // 2
SELECTION, CASES = (("nsq",), 1500) if ASKED else (("nsq/dispatch", "nsq/subscribe"), 100)
"""What is run, and fewer cases than that has. The two groups, too, have cases that wait beside
those that are shown; half of a run of all takes 20 s of processor time."""
RUN_SHOWS = re.compile(r"^(PASS|READING) ")
FUZZ_SHOWS = re.compile(r"^\d+ cases")


def interrupt(pid: int) -> None:
    """Interrupt a process and its children as a terminal does."""
    os.killpg(pid, signal.SIGINT)


@pytest.mark.parametrize("moment", range(TIMES))
def test_an_interrupted_run_accuses_nobody(moment: int, tmp_path: Path) -> None:
    bundle = tmp_path / "run.jsonl"
    count = 1 + moment * CASES // TIMES
    command = ("run", "-v", "--reference", *SELECTION, "--bundle", str(bundle))

    code, out = run_until(command, RUN_SHOWS, count, interrupt)

    ended = read_bundle(bundle)
    assert (code, "died" in out) == (130, False)
    assert ended.footer is not None
    assert ended.footer.interrupted
    assert {record.verdict for record in ended.cases} <= {"pass", "reading"}
    assert len(ended.cases) >= count
    assert list(ended.ways) == [way for way in ended.ways if way.result.verdict != "fail"]


@pytest.mark.parametrize("moment", range(TIMES))
def test_an_interrupted_campaign_accuses_nobody(moment: int, tmp_path: Path) -> None:
    bundle = tmp_path / "fuzz.jsonl"
    command = ("fuzz", "--reference", "--time", "600", "--seed", str(moment))

    code, out = run_until((*command, "--bundle", str(bundle)), FUZZ_SHOWS, 1 + moment, interrupt)

    assert (code, "died" in out) == (130, False)
    assert read_bundle(bundle).findings == ()


@pytest.mark.parametrize("command", ["client", "fuzz"])
def test_a_command_that_waits_for_a_client_ends_at_once(command: str, tmp_path: Path) -> None:
    bundle = tmp_path / "never.jsonl"
    words = (command, "--exec", "sleep 3000", "--timeout", "2000", "--bundle", str(bundle))
    since: list[Stopwatch] = []

    def interrupt_now(pid: int) -> None:
        interrupt(pid)
        since.append(Stopwatch())

    code, out = run_until(
        words, re.compile(r"waiting  \[ \d+ s for the short runs"), 1, interrupt_now
    )

    # It would wait for the connection until its time-out. A limit near the time that the end takes
    # on an idle machine failed once, beside seven other tests.
    assert since[0].seconds() < LONG_S
    assert code == 130
    assert "wireproof: interrupted before the first case; nothing was written" in out
    assert not bundle.exists()
