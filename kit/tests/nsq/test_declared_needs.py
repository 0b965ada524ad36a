"""Cases declare the capability that a command which they send requires.

What each case sends is read from recorded runs against a broker that has every capability.
"""

from pathlib import Path

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.runner.collect import collect
from wireproof_spec.nsq import names
from wireproof_spec.record import CaseRecord

PEER = Path(__file__).resolve().parents[3] / "docs" / "peers" / "youzan-nsqd"


def sends_trace(case: CaseRecord) -> bool:
    """Return True if PUB_TRACE or MPUB_TRACE was sent, whole or in pieces."""
    sent: dict[str, bytes] = {}
    for step in case.transcript.steps:
        if step.kind == "send":
            sent[step.conn] = sent.get(step.conn, b"") + bytes.fromhex(step.hex or "")
    return any(names.PUB_TRACE + b" " in data for data in sent.values())


def test_cases_that_send_a_tracing_command_need_traces() -> None:
    needs = {item.id: item.needs for item in collect("nsq") if not item.is_for_clients}
    recorded = [
        case
        for name in ("standalone", "cluster")
        for case in read_bundle(PEER / f"{name}.jsonl.gz").cases
        if case.transcript.steps and case.case in needs
    ]
    tracing = {case.case for case in recorded if sends_trace(case)}

    # The rows of combined ways were drawn anew after the recording.
    asked = {id for id in needs if not id.startswith("nsq/ways/")}
    assert len({case.case for case in recorded}) > len(asked) * 0.9
    assert tracing
    assert {id for id in tracing if "trace" not in needs[id]} == set()
