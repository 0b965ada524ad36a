"""The scripts of findings: written as a campaign writes them, and run as a stranger runs them."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from waits import until

from wireproof.fuzzing.recorder import write_files
from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.exchanges import planned_exchange
from wireproof_kit.fuzz.campaign.plan import FuzzTarget, WorkerPlan
from wireproof_kit.fuzz.campaign.progress import SilentListener
from wireproof_kit.fuzz.campaign.records import case_record
from wireproof_kit.fuzz.campaign.workers import TargetChoice, fuzz_target_at
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.runner.records import transcript_record
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.nsq.names import MAGIC
from wireproof_spec.record import FORMAT, HeaderRecord, TargetRecord

NOBODY = "127.0.0.1:1"


def header(url: str, *given: str) -> HeaderRecord:
    return HeaderRecord(
        format=FORMAT,
        kit="1",
        spec={},
        seed=1,
        target=TargetRecord(url, url.partition(":")[0], given=given),
        claims={},
        readings={},
        patience={},
        started="2026-01-01T00:00:00",
        command="fuzz",
    )


def run_script(path: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a reproducer as who has only the file does."""
    command = [sys.executable, "-I", str(path), *arguments]
    environment = {**os.environ, **more}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def address(url: str) -> str:
    """Return HOST:PORT of a URL."""
    return url.partition("://")[2].partition("?")[0]


def write_script(folder: Path, finding: FindingRecord, known: HeaderRecord) -> Path:
    assert not write_files(folder / "b.jsonl", finding, known)
    return folder / "b-findings" / f"{finding.id}.py"


def finding_of(cases: Sequence[Case], violated: str) -> FindingRecord:
    """Return a finding that has the rule as its answer, with the exchange that is planned."""
    last, plan = cases[-1], planned_exchange(cases, lambda _: (Step(MAGIC),))
    return FindingRecord(
        *("0123456789ab", violated, "", last.state, last.frame_kind, last.field, violated),
        *(1, 5, 5, 1, 0.1, tuple(map(case_record, cases))),
        transcript=transcript_record(plan),
    )


def measure_deliveries(target: FuzzTarget) -> None:
    """Open a session on a target until its deliveries are measured; later sessions know them.

    The subscriber that measures is one more client of the target, which a case may disturb
    instead of the bystanders.
    """
    opened = target.open()
    try:
        until(lambda: not opened.patience.is_assumed, "the measurement of deliveries")
    finally:
        opened.close()


def find(
    url: str,
    violated: str,
    make: Callable[[Mapping[str, str]], Case],
    keys: tuple[tuple[str, str], ...] = (),
    pid: int | None = None,
) -> FindingRecord:
    """Send the case made for a campaign's names to a target; return what it is recorded as.

    The target must violate the rule, as the campaign judges.
    """
    with fuzz_target_at(TargetChoice(url, keys, pid=pid)) as target:
        measure_deliveries(target)
        plan = WorkerPlan(Choice(1), time_s=60)
        campaign = Campaign(plan=plan, fuzz_target=target, listener=SilentListener())
        campaign.open()
        try:
            case = make(campaign.names)
            assert not campaign.disturbs([]), "the bystanders connect before the case"
            anomaly = campaign.probe([case], violated)
            assert anomaly is not None
            exchange = campaign.record_exchange([case], violated)
        finally:
            campaign.close()
    return FindingRecord(
        *("0123456789ab", violated, "", case.state, case.frame_kind, case.field, anomaly.answer),
        *(1, 5, 5, 1, 0.1, (case_record(case),)),
        names=dict(campaign.names),
        transcript=transcript_record(exchange),
    )
