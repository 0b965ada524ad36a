"""Ctrl-C at a terminal while the kit judges or fuzzes its own reference accuses nobody.

`make edges` interrupts twenty times; without that each command is interrupted twice.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cli_process import clean_environment

from wireproof_kit.bundle.file import read_bundle

pytestmark = pytest.mark.process

TIMES = int(os.environ.get("WIREPROOF_INTERRUPTS", "4")) // 2
DEADLINE_S = 120.0
CASES = 1500
"""Fewer than a run against the reference has."""
RUN_SHOWS = re.compile(r"^(PASS|READING) ")
FUZZ_SHOWS = re.compile(r"^\d+ cases")


def interrupted(*command: str, after: re.Pattern[str], count: int) -> int:
    """Interrupt a command as a terminal does, when it has shown so many lines of a kind."""
    with subprocess.Popen(
        [sys.executable, "-m", "wireproof", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
        start_new_session=True,
    ) as process:
        late = threading.Timer(DEADLINE_S, process.kill)
        late.start()
        assert process.stdout is not None
        seen = 0
        for line in process.stdout:
            seen += bool(after.match(line))
            if seen == count:
                break
        assert seen == count, f"only {seen} lines were shown"
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate()
        late.cancel()
        assert "Traceback" not in out
        assert "died" not in out
        return process.returncode


@pytest.mark.parametrize("moment", range(TIMES))
def test_an_interrupted_run_accuses_nobody(moment: int, tmp_path: Path) -> None:
    bundle = tmp_path / "run.jsonl"
    command = ("run", "--reference", "nsq", "--bundle", str(bundle))
    count = 1 + moment * CASES // TIMES

    assert interrupted(*command, after=RUN_SHOWS, count=count) == 130

    ended = read_bundle(bundle)
    assert ended.footer is not None
    assert ended.footer.interrupted
    assert {record.verdict for record in ended.cases} <= {"pass", "reading"}
    assert len(ended.cases) >= count


@pytest.mark.parametrize("moment", range(TIMES))
def test_an_interrupted_campaign_accuses_nobody(moment: int, tmp_path: Path) -> None:
    bundle = tmp_path / "fuzz.jsonl"
    command = ("fuzz", "--reference", "--time", "60", "--seed", str(moment))
    bundle_option = ("--bundle", str(bundle))

    code = interrupted(*command, *bundle_option, after=FUZZ_SHOWS, count=1 + moment)

    assert code == 130
    assert read_bundle(bundle).findings == ()
