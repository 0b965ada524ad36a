"""The order of a run, and what ends it, against the embedded reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.probes.context import ProbeContext
from wireproof_kit.nsq.probes.tables import CAPABILITY_PROBES
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.request import RunOptions, RunRequest
from wireproof_kit.runner.run import REFERENCE, RunPlan
from wireproof_kit.runner.run_cases import RunRecords, run_cases, turn
from wireproof_spec.record import CaseRecord, HeaderRecord

PASSING = "nsq/publish/ok"


@dataclass
class Told:
    """A listener; ``stops_after`` so many cases the user wants no more."""

    stops_after: int = 1_000_000
    selected: int = 0
    cases: list[str] = field(default_factory=list[str])
    ended: list[int] = field(default_factory=list[int])

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        self.selected = selected

    def case(self, record: CaseRecord) -> None:
        self.cases.append(record.case)

    def is_stopped(self) -> bool:
        return len(self.cases) >= self.stops_after


def ran(request: RunRequest, told: Told, instances: Sequence[Instance]) -> RunRecords:
    return run_cases(
        request, instances, [told], is_stopped=told.is_stopped, tell_ended=told.ended.append
    )


def asked(*selection: str, **claims: bool) -> RunPlan:
    return RunPlan(REFERENCE, protocol="nsq", selection=selection, claims=claims, seed=1)


@pytest.mark.process
def test_listeners_and_the_bundle_are_told_every_case_in_order(tmp_path: Path) -> None:
    told, bundle = Told(), tmp_path / "b.jsonl"

    records = ran(RunRequest(asked(PASSING), bundle=bundle), told, collect("nsq"))

    written = read_bundle(bundle)
    assert told.cases == [record.case for record in records.cases]
    assert (written.header, written.cases) == (records.header, records.cases)
    assert told.selected == len(told.cases) == told.ended[-1] > 3
    assert all(count > before for before, count in enumerate(told.ended))
    assert (records.footer.exit, records.footer.interrupted) == (0, False)


@pytest.mark.process
def test_a_stopped_run_says_so() -> None:
    told = Told(stops_after=2)

    records = ran(RunRequest(asked(PASSING)), told, collect("nsq"))

    assert len(records.cases) == 2
    assert (records.footer.exit, records.footer.interrupted) == (130, True)


@pytest.mark.process
@pytest.mark.parametrize("maxfail", [1, 3])
def test_enough_failures_end_a_run(maxfail: int) -> None:
    told = Told()
    plan = RunPlan(
        REFERENCE,
        protocol="nsq",
        selection=("ext.publish.trace-response",),
        seed=1,
        reference_options=("--fault", "trace-little-endian"),
    )

    options = RunOptions(repeats=1)
    records = ran(RunRequest(plan, options, maxfail), told, collect("nsq"))

    failed = [record for record in records.cases if record.verdict == "fail"]
    assert len(failed) == maxfail
    assert records.cases[-1] == failed[-1]
    assert (records.footer.exit, records.footer.interrupted) == (1, False)


def test_hazards_come_last_and_cases_of_one_turn_in_the_order_of_the_files() -> None:
    instances = collect("nsq")
    ordered = sorted(instances, key=turn)

    assert turn(ordered[-1])[0] == 3
    assert all(item.mark.hazard for item in ordered if turn(item)[0] == 3)
    assert not any(item.mark.alone or item.mark.hazard for item in ordered if turn(item)[0] < 2)


def test_no_case_is_no_run() -> None:
    with pytest.raises(UsageFault, match="no case was collected"):
        run_cases(RunRequest(asked()), (), (), is_stopped=lambda: False)


@pytest.mark.process
@pytest.mark.parametrize(
    ("lying", "judged"),
    [
        (("trace",), "smart.trace (part) 2/2 must"),
        (("trace", "trace-header", "trace-again"), "none of 2 must judged (2 unsupported)"),
    ],
)
def test_a_wrong_answer_to_one_probe_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, lying: Sequence[str], judged: str
) -> None:
    def show_nothing(bench: ProbeContext) -> Observation:
        return observed("ok")

    wrong = dict.fromkeys(lying, show_nothing)
    monkeypatch.setattr(
        "wireproof_kit.nsq.session.CAPABILITY_PROBES", {**CAPABILITY_PROBES, **wrong}
    )

    request = RunRequest(asked("nsq/trace/response-subscribed"))
    records = ran(request, Told(), collect("nsq"))

    assert judged in records.footer.statement
    assert records.footer.exit == (2 if "none of" in judged else 0)
