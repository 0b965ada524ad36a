"""Recorded bundles of real peers, judged again by today's catalogue and judge.

A verdict that changed is a breaking change: it fails here until the changelog names it and the
bundle beside it is recorded anew.
"""

from pathlib import Path

import pytest
from fuzz_grammars import GRAMMARS

from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.fuzz.campaign.records import cases_of
from wireproof_kit.fuzz.oracle.rules import MEANINGS
from wireproof_kit.nsq.clients.fuzz.states import STATES as CLIENT_STATES
from wireproof_kit.verdicts.judge import JudgeContext, judge_record
from wireproof_spec.clauses.loading import load_catalogue

STATES = {protocol: grammar.entry for protocol, grammar in GRAMMARS.items()}
PEERS = Path(__file__).resolve().parents[3] / "docs" / "peers"
BUNDLES = sorted([*PEERS.glob("*/*.jsonl"), *PEERS.glob("*/*.jsonl.gz")])


def told(path: Path) -> str:
    return f"{path.parent.name}-{path.name.partition('.')[0]}"


@pytest.fixture(params=BUNDLES, ids=told, scope="module")
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return read_bundle(request.param)


def test_there_are_recorded_bundles() -> None:
    assert BUNDLES


def test_every_recorded_verdict_is_given_again(bundle: Bundle) -> None:
    header = bundle.header
    catalogue = load_catalogue(header.target.protocol)
    bench = JudgeContext(catalogue, header.claims, header.readings)
    changed = [
        f"{record.case}: {record.observation} was {record.verdict}, is {again.verdict}"
        for record in bundle.cases
        if (again := judge_record(record, bench)).verdict != record.verdict
    ]
    assert changed == []


def test_every_finding_kept_can_be_sent_again(bundle: Bundle) -> None:
    target = bundle.header.target
    for finding in bundle.findings:  # a protocol that is not fuzzed has none
        states = CLIENT_STATES if target.is_client() else STATES[target.protocol]
        assert finding.violated in MEANINGS
        cases = cases_of(finding, finding.names, states.__getitem__)
        sent = [sum(step.length for step in case.sent) for case in finding.cases]
        assert [sum(len(step.data) for step in case.steps) for case in cases] == sent


def test_the_readings_bound_then_are_bound_again(bundle: Bundle) -> None:
    catalogue = load_catalogue(bundle.header.target.protocol)
    for name, binding in bundle.header.readings.items():
        decision = catalogue.decision(name)
        assert decision is not None, name
        assert decision.find_shown(binding.observation) == binding.reading, name
