"""The exchange that a failure shows is the one that failed: what is marked differs as it says.

References with a fault are judged over TCP and HTTP, and each failure is read as reports show it.
"""

from contextlib import closing
from typing import NamedTuple

import pytest

from wireproof.view.exchange import DIFFERS, key_exchange
from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.request import RunOptions, RunRequest
from wireproof_kit.runner.run import RunPlan
from wireproof_kit.runner.run_cases import OpenRun
from wireproof_reports.exchange.evidence import case_exchange, first_difference
from wireproof_reports.exchange.failing import failing_pairs, leaf
from wireproof_spec.record import CaseRecord

pytestmark = [pytest.mark.process, pytest.mark.long]


class Shown(NamedTuple):
    """Cases that fail with a fault, the field that differs, and the kind of step that has it."""

    fault: str
    cases: str
    field: str
    kind: str = "receive"


SHOWN = [
    Shown("body-cut-when-sent", "nsq/consume/body/every-byte", "body"),
    Shown("trace-little-endian", "nsq/publish/trace/one/third-partition", "trace_id"),
    Shown("http-trace-id-of-63-bits", "nsq/http/trace/2-to-the-63", "trace_id", "response"),
    Shown("checksum-with-headers", "iggy/checksum/headers-not-covered", "checksum"),
    Shown("checksum-with-headers", "iggy/json/published-example", "checksum", "response"),
]


def run_with(shown: Shown) -> list[CaseRecord]:
    """Return the failures of a reference with the fault."""
    protocol = shown.cases.partition("/")[0]
    cases = [item for item in collect(protocol) if item.id.startswith(shown.cases)]
    with BrokerForkServer(protocol) as server, server.reference(["--fault", shown.fault]) as url:
        request = RunRequest(RunPlan(url=url, protocol=protocol, seed=3), RunOptions(repeats=1))
        with closing(OpenRun.open(request, cases)) as opened:
            opened.start()
            records = [opened.run_case(each) for each in opened.cases]
    return [record for record in records if record.verdict == "fail"]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.cases)
def test_the_step_that_failed_is_shown_and_marked(shown: Shown) -> None:
    protocol = shown.cases.partition("/")[0]
    failed = run_with(shown)

    assert failed
    for case in failed:
        steps = case.transcript.steps
        pair = failing_pairs(case, protocol)[0]
        assert case.evidence, case.case
        assert pair.asked is not None
        assert pair.answered is not None
        assert steps[pair.answered].kind == shown.kind
        text = "\n".join(key_exchange(case, protocol))
        assert "differs" in text
        difference = first_difference(case, protocol)
        assert difference is not None
        if shown.kind == "response":
            found = difference.found.strip("'").encode()
            assert found in steps[pair.answered].data()
            assert leaf(difference.field) == shown.field
        else:
            _check_mark(case, protocol, shown.field)
            assert DIFFERS in text


def _check_mark(case: CaseRecord, protocol: str, field: str) -> None:
    """Check that one line is marked, in a step that failed, and that its value is not that due."""
    views = case_exchange(case, protocol).steps
    difference = first_difference(case, protocol)
    marked = [(view, line) for view in views for line in view.lines if line.differs]
    assert len(marked) == 1
    ((view, line),) = marked
    assert difference is not None
    assert view.failing
    assert leaf(line.label) == leaf(difference.field) == field
    assert line.value != difference.expected
