"""A broker killed in the middle of a run makes one death with one cause; the rest is undecided.

`make edges` kills ten brokers; without that two are killed.
"""

import os
import re
import signal
from contextlib import closing
from pathlib import Path

import pytest
from live_command import run_until

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.targets.embedded import start_reference
from wireproof_reports.causes import fold

pytestmark = [pytest.mark.process, pytest.mark.long]

ASKED = os.environ.get("WIREPROOF_DEATHS")
KILLS = int(ASKED or "2")
SELECTION, CASES = ((), 1200) if ASKED else (("nsq/dispatch", "nsq/subscribe"), 100)
"""What is run, and fewer cases than that has against one node."""
SHOWN = re.compile(r"^(PASS|READING|N/A|UNDECIDED) ")


@pytest.mark.parametrize("moment", range(KILLS))
def test_a_killed_broker_makes_one_death(moment: int, tmp_path: Path) -> None:
    bundle = tmp_path / "run.jsonl"
    count = 1 + moment * CASES // KILLS
    with closing(start_reference("nsq")) as broker:
        options = ("--profile", "observed", "--bundle", str(bundle))
        command = ("run", "-v", broker.url, *SELECTION, *options)

        def kill(_: int) -> None:
            os.kill(broker.process.pid, signal.SIGKILL)

        code, _ = run_until(command, SHOWN, count, kill)

    cases = read_bundle(bundle).cases
    failed = [record for record in cases if record.verdict == "fail"]
    spoilt = [record for record in cases if record.verdict in ("error", "unstable")]
    undecided = [record for record in cases if record.verdict == "inconclusive"]
    assert (code, len(fold(cases)), spoilt) == (1, 1, [])
    assert [record.observation for record in failed] == ["died"]
    assert any(failed[0].case in record.reason for record in undecided)
