"""The script of a failure shows it on the broker that was wrong, and not on a correct one.

A fault is judged, and the script of each failure is run against both as a stranger does it.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from finding_scripts import address, header, run_script

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.request import RunOptions, RunRequest
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.runner.run_cases import OpenRun
from wireproof_reports.exchange.reproducer import script
from wireproof_spec.record import CaseRecord

pytestmark = [pytest.mark.process, pytest.mark.long]
SHOWN, NOT_SHOWN = 0, 1
FAULTS = {
    "nsq:trace-ids-swapped@partition=third": (
        "nsq/publish/trace/one/third-partition",
        "nsq/publish/trace/published-example/third-partition",
    ),
    "nsq:header-cut-at-4096": ("nsq/consume/header/long-value", "nsq/consume/header-length/4097"),
    "nsq:layout-length-little-endian": ("nsq/consume/body/every-byte",),
    "nsq:attempts-from-zero": ("nsq/consume/attempts-first", "nsq/consume/attempts-put-back"),
    "iggy:checksum-not-xored": (
        "iggy/message/layout/text-no-headers",
        "iggy/message/layout/zeros-fifteen-headers",
    ),
    "iggy:id-reversed": ("iggy/http/send-polled-over-tcp/one-header", "iggy/message/id/"),
    "iggy:timestamp-of-poll": ("iggy/json/same-as-binary/one-header", "iggy/poll/again/"),
    "iggy:timestamp-backwards": ("iggy/http/poll-strategies/timestamp", "iggy/poll/timestamp/"),
    "iggy:old-layout": ("iggy/checksum/payload/4097-bytes",),
    "iggy:poll-counts-none": ("iggy/poll/count/5",),
    "iggy:stored-offsets-even": ("iggy/poll/stored-offset/3",),
    "iggy:json-id-signed": ("iggy/http/send/one-header-greatest-id",),
    "iggy:header-value-reversed": ("iggy/message/layout/text-one-header",),
    # Not `iggy/frame/split`: its pieces follow each other at once, and a server that gets no
    # processor meanwhile reads them as one, from the case as from its script.
    "iggy:request-in-pieces-closes": ("iggy/frame/late",),
}
MOST = 4


def http(url: str) -> tuple[str, ...]:
    given = parse_qs(urlsplit(url).query).get("http")
    return ("--http", given[0]) if given else ()


def failures(protocol: str, url: str, wanted: Sequence[str]) -> list[CaseRecord]:
    cases = [item for item in collect(protocol) if item.id.startswith(tuple(wanted))]
    request = RunRequest(RunPlan(url=url, protocol=protocol, seed=3), RunOptions(repeats=1))
    with closing(OpenRun.open(request, cases)) as opened:
        opened.start()
        records = [opened.run_case(each) for each in opened.cases]
    return [record for record in records if record.verdict == "fail"][:MOST]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_script_is_right_on_the_wrong_broker_and_on_a_correct_one(
    fault: str, tmp_path: Path
) -> None:
    protocol, _, name = fault.partition(":")
    with (
        closing(start_alone(protocol, ["--fault", name])) as running,
        closing(start_alone(protocol)) as correct,
    ):
        wrong, right = running.url, correct.url
        failed = failures(protocol, wrong, FAULTS[fault])
        assert failed
        for case in failed:
            path = tmp_path / "again.py"
            path.write_text(script(case, header(wrong)))
            for url, code in ((wrong, SHOWN), (wrong, SHOWN), (right, NOT_SHOWN)):
                done = run_script(path, address(url), *http(url))
                assert done.returncode == code, f"{case.case}\n{done.stdout}{done.stderr}"
