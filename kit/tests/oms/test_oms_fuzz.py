"""Systems behind adapters are fuzzed: cases, the oracle, campaigns, and what is left of them."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cli_process import clean_environment, wireproof

from wireproof.main import main
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice, ClientRunResult, FuzzSessionOptions
from wireproof_kit.fuzz.generate.case_sources import make_generation
from wireproof_kit.oms.adapter.messages import Attributes, Delivery
from wireproof_kit.oms.fuzz.cases import AdapterCases
from wireproof_kit.oms.fuzz.frames import grammar
from wireproof_kit.oms.fuzz.placeholders import BODY, DESTINATION
from wireproof_kit.oms.fuzz.requests import Due, is_answerable, read_due, read_request
from wireproof_kit.oms.fuzz.session import open_adapter_session
from wireproof_kit.protocols import adapter_reference, read_target
from wireproof_spec.oms.names import ATTRIBUTES

pytestmark = pytest.mark.long

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "in_memory.py"
OPERATIONS = (
    *("create_destination", "send", "prepare", "commit", "rollback"),
    *("receive", "ack", "nack", "clock"),
)
FAULTS: Mapping[str, Sequence[str]] = {
    "dies-of-depth": ("ended", '{"a":' * 40 + "1" + "}" * 40),
    "leaves-repeats-unanswered": ("no-answer", '{"a":"b","a":"c"}'),
    "cuts-long-text": ("delivery", json.dumps("x" * 4096)),
}
"""By its name, the rule that a fault violates, and a traceId that shows it."""


def generation(seed: int = 1) -> AdapterCases:
    made = make_generation(grammar(OPERATIONS, ATTRIBUTES), Choice(seed), usual=AdapterCases)
    assert isinstance(made, AdapterCases)
    return made


def test_a_seed_determines_its_cases_and_an_adapter_can_answer_all() -> None:
    first, second = generation(), generation()
    cases = [first.case(index) for index in range(120)]

    assert cases == [second.case(index) for index in reversed(range(120))][::-1]
    assert all(is_answerable(step.data) for case in cases for step in case.steps)
    assert len({(case.frame_kind, case.field, case.mutation) for case in cases}) > 80


def test_the_cases_are_odd_in_every_way_that_documents_can_be() -> None:
    made = generation()
    cases = [made.case(index) for index in range(800)]
    told = {case.mutation for case in cases}

    assert {
        *("a broken document", "a valid document", "JSON: 40 objects deep", "JSON: a name twice"),
        *("JSON: many names", "32 KiB", "right to left", "JSON: null", "largest signed"),
    } <= told
    assert {case.frame_kind for case in cases} == {
        *OPERATIONS[:-1],
        "wireproof-no-such-operation",
    }


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b'{"op":"send"',
        b'{"op":"send","id":1}',
        b'{"op":1}',
        b'{"op":"send",\n"message":{}}',
        rb'{"op":"send","message":"\ud800"}',
        b'{"op":"send","message":NaN}',
        b'{"op":"send","message":' + b"[" * 80 + b"]" * 80 + b"}",
    ],
)
def test_what_no_adapter_could_answer_is_not_sent(text: bytes) -> None:
    assert not is_answerable(text)


def due(
    attributes: object, *, header: object = None, properties: object = None, data: str = BODY
) -> Due | None:
    inner = {
        "version": "1",
        "header": header or {"destination": DESTINATION},
        "extensionHeader": attributes,
        "properties": properties or {},
        "data": data,
    }
    text = json.dumps({"op": "send", "message": {"message": inner}}).encode()
    request = read_request(text)
    assert request is not None
    return read_due(request, text, ("traceId", "priority", "delayTime"), (str,), DESTINATION, 1e12)


def test_a_valid_message_owes_its_claimed_attributes_and_the_properties_that_are_carried() -> None:
    attributes = {"traceId": "a", "messageKey": "b", "priority": 3}

    found = due(attributes, properties={"a": "b", "n": 1})

    assert found == Due(BODY, {"traceId": "a", "priority": 3}, {"a": "b"})


@pytest.mark.parametrize(
    "attributes",
    [
        {"priority": "3"},
        {"traceId": 1},
        {"delayTime": 5},
        {"expireTime": 1},
        {"traceId": "\x00"},
        [],
    ],
    ids=str,
)
def test_a_message_that_need_not_arrive_at_once_owes_nothing(attributes: object) -> None:
    assert due(attributes) is None


def test_a_message_for_another_destination_owes_nothing_here() -> None:
    assert due({}, header={"destination": "elsewhere"}) is None


def test_a_changed_attribute_is_named() -> None:
    document: Attributes = {"message": {"extensionHeader": {"traceId": "abc"}}}
    found = due({"traceId": "abcd"})

    assert found is not None
    assert found.find_change(Delivery("1", document, None, 0.0, 0.0)) == (
        "extensionHeader.traceId: expected 'abcd', found 'abc'"
    )


def try_once(trace_id: str, *faults: str) -> Sequence[ClientRunResult]:
    """Send a message with this traceId to the reference, among valid ones."""
    target = adapter_reference("oms", [word for each in faults for word in ("--fault", each)])
    assert target is not None
    session = open_adapter_session(target, FuzzSessionOptions("t", timeout_s=2), None)
    try:
        cases = [_case(number, trace) for number, trace in enumerate(('"a"', trace_id, '"b"'))]
        return list(session.perform(cases, lambda: False))
    finally:
        session.close()


def _case(number: int, trace_id: str) -> Case:
    text = (
        '{"op":"send","message":{"message":{"version":"1","header":{"destination":"'
        f'{DESTINATION}"}},"extensionHeader":{{"traceId":{trace_id}}},"properties":{{}},'
        f'"data":"{BODY}"}}}}}}'
    )
    return Case(number, "opened", "send", "traceId", "x", (Step(text.encode()),), delimited=True)


@pytest.mark.process
@pytest.mark.parametrize(("name", "told"), FAULTS.items(), ids=FAULTS)
def test_what_only_an_unusual_message_shows_is_seen_in_its_case(
    name: str, told: Sequence[str]
) -> None:
    violated, trace_id = told

    assert try_once(trace_id) == []
    (found,) = try_once(trace_id, f"parser-adapter-{name}")
    assert found.trouble is not None
    assert found.trouble.violated == violated
    assert found.cases[-1].index == 1


def script(path: Path, *arguments: str) -> int:
    return subprocess.run(
        [sys.executable, "-I", str(path), *arguments],
        env=clean_environment(),
        capture_output=True,
        check=False,
        cwd=path.parent,
    ).returncode


@pytest.mark.process
@pytest.mark.parametrize("name", ["dies-of-depth", "leaves-repeats-unanswered"])
def test_a_campaign_finds_the_fault_and_its_finding_shows_again(name: str, tmp_path: Path) -> None:
    right = read_target(f"oms+exec:{sys.executable} -m wireproof serve oms --stdio").adapter
    faulty = f"{right} --fault parser-adapter-{name}"
    done = wireproof(
        *("fuzz", f"oms+exec:{faulty}", "--frames", "send", "--seed", "1", "--time", "900", "-x"),
        *("--no-shrink", "--timeout", "2", "--bundle", "b.jsonl"),
        cwd=tmp_path,
    )
    assert done.code == 1, done.out + done.err
    (finding,) = read_bundle(tmp_path / "b.jsonl").findings
    assert finding.violated == FAULTS[name][0]
    reproducer = tmp_path / "b-findings" / f"{finding.id}.py"
    assert script(reproducer) == 0
    assert script(reproducer, str(right)) == 1
    assert script(reproducer, "/no/such/adapter") == 2
    url = read_bundle(tmp_path / "b.jsonl").header.target.url
    there = ("replay", finding.id, "--bundle", "b.jsonl")
    again = wireproof(*there, "--to", url, cwd=tmp_path)
    assert again.code == 0, again.out + again.err
    assert "are not run unasked: give --to" in wireproof(*there, cwd=tmp_path).refused()


@pytest.mark.process
@pytest.mark.parametrize("target", ["--reference oms", f"oms+exec:{sys.executable} {EXAMPLE}"])
def test_nothing_is_found_of_a_system_that_is_right(target: str, tmp_path: Path) -> None:
    words = target.split(" ") if target.startswith("-") else [target]
    done = wireproof("fuzz", *words, "--cases", "256", "--seed", "3", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "NOTHING FOUND" in done.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["oms+file:x"], "documents cannot be fuzzed"),
        (["oms+exec:/no/such/adapter"], "cannot be started"),
        (["oms+exec:x", "--pid", "1"], "--pid cannot be used with an adapter"),
        (["oms+exec:x", "--restart", "y"], "--restart cannot be used with an adapter"),
        (["--reference", "oms", "--drawn"], "--drawn cannot be used with an adapter"),
        (["oms+http://127.0.0.1:1"], "hello (unreachable); is an adapter running there?"),
        (["oms+http://192.0.2.1:80"], "give --hazardous if it may"),
    ],
)
@pytest.mark.process
def test_what_cannot_be_fuzzed_is_told_in_one_sentence(
    arguments: Sequence[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["fuzz", *arguments]) == 2

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("wireproof: ")
    assert told in last
