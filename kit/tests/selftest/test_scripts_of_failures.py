"""The script of a failure shows it on the broker that was wrong, and not on a correct one.

A fault of NSQ is judged, and the script of each failure is run against both as a stranger does it.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from finding_scripts import address, header, run_script

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.engine import RunOptions
from wireproof_kit.runner.request import RunRequest
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.runner.run_cases import OpenRun
from wireproof_reports.exchange.reproducer import script
from wireproof_spec.record import CaseRecord

pytestmark = [pytest.mark.process, pytest.mark.long]
SHOWN, NOT_SHOWN = 0, 1
FAULTS = {
    "trace-ids-swapped@partition=third": (
        "nsq/publish/trace/one/third-partition",
        "nsq/publish/trace/published-example/third-partition",
    ),
    "header-cut-at-4096": ("nsq/consume/header/long-value", "nsq/consume/header-length/4097"),
    "layout-length-little-endian": ("nsq/consume/body/every-byte",),
    "attempts-from-zero": ("nsq/consume/attempts-first", "nsq/consume/attempts-put-back"),
}
MOST = 4


def failures(url: str, wanted: Sequence[str]) -> list[CaseRecord]:
    cases = [item for item in collect("nsq") if item.id.startswith(tuple(wanted))]
    request = RunRequest(RunPlan(url=url, protocol="nsq", seed=3), RunOptions(repeats=1))
    with closing(OpenRun.open(request, cases)) as opened:
        opened.start()
        records = [opened.run_case(each) for each in opened.cases]
    return [record for record in records if record.verdict == "fail"][:MOST]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_script_is_right_on_the_wrong_broker_and_on_a_correct_one(
    fault: str, tmp_path: Path
) -> None:
    with (
        closing(start_alone("nsq", ["--fault", fault])) as running,
        closing(start_alone("nsq")) as correct,
    ):
        wrong, right = running.url, correct.url
        failed = failures(wrong, FAULTS[fault])
        assert failed
        for case in failed:
            path = tmp_path / "again.py"
            path.write_text(script(case, header(wrong)))
            for url, code in ((wrong, SHOWN), (wrong, SHOWN), (right, NOT_SHOWN)):
                done = run_script(path, address(url))
                assert done.returncode == code, f"{case.case}\n{done.stdout}{done.stderr}"
