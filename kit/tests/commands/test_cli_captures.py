"""Captures through the command line: which cases, which names, and what without the extra."""

from pathlib import Path

import cli_bundle as made
import pytest

from wireproof.commands.fuzz import WITHOUT_SCAPY
from wireproof.main import main
from wireproof_kit import pcap
from wireproof_kit.bundle.file import BundleWriter, read_bundle
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord, pack_bytes

SMALL = "nsq/publish/ok/one-sign"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bundled() -> list[CaseRecord]:
    made.write(Path("b.jsonl"), made.failing())
    return list(read_bundle(Path("b.jsonl")).cases)


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).glob("*.pcapng"))


def name_of(case: CaseRecord) -> str:
    return f"{case.case.replace('/', '_')}.pcapng"


def test_failing_cases_have_one_file_each(capsys: pytest.CaptureFixture[str]) -> None:
    cases = bundled()

    assert main(["report", "b.jsonl", "--pcap", "new/captures"]) == 0

    assert capsys.readouterr().out == "pcap   new/captures\n"
    failing = [case for case in cases if case.verdict == "fail"]
    assert names("new/captures") == sorted(name_of(case) for case in failing)
    assert failing


def test_the_dissector_lies_beside_the_captures() -> None:
    bundled()

    assert main(["report", "b.jsonl", "--pcap", "captures"]) == 0

    text = Path("captures/wireproof-nsq.lua").read_text("utf-8")
    assert text.startswith("--")
    assert 'Proto("wireproof_nsq"' in text


def test_every_case_has_one_if_asked_for() -> None:
    cases = bundled()

    assert main(["report", "b.jsonl", "--pcap-all", "captures"]) == 0

    assert names("captures") == sorted(name_of(case) for case in cases)


def test_a_case_without_a_wire_has_none() -> None:
    record = made.failing()[0]
    changes = {"transcript": TranscriptRecord(())}
    made.write(Path("b.jsonl"), [made.case(made.law(record), record.clause, "x", **changes)])

    assert main(["report", "b.jsonl", "--pcap-all", "captures"]) == 0

    assert names("captures") == []


def test_names_that_would_be_the_same_are_told_apart() -> None:
    record = made.failing()[0]
    odd = [
        made.case(made.law(record), record.clause, "x", case=name, case_hash=hashed)
        for name, hashed in (("nsq/publish/a_b", "11111111"), ("nsq/publish/a/b", "22222222"))
    ]
    made.seal(Path("b.jsonl"), made.header(), odd)

    assert main(["report", "b.jsonl", "--pcap-all", "captures"]) == 0

    assert names("captures") == ["nsq_publish_a_b-22222222.pcapng", "nsq_publish_a_b.pcapng"]


def test_captures_of_a_small_bundle_that_would_fill_the_disk_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = 16 << 20
    step = StepRecord(0, "1", "receive", length=size, **pack_bytes(bytes(size)))
    changes = {"transcript": TranscriptRecord((step,))}
    cases = [
        made.case(made.law(record), record.clause, "x", case=f"nsq/many/{number}", **changes)
        for number, record in enumerate(made.failing()[:9])
    ]
    made.seal(Path("b.jsonl"), made.header(), cases)
    assert Path("b.jsonl").stat().st_size < 1 << 20

    assert main(["report", "b.jsonl", "--pcap-all", "captures"]) == 2

    err = capsys.readouterr().err
    assert err.startswith("wireproof: b.jsonl: its captures would hold 144 MiB; expected at most")
    assert not Path("captures").exists()


@pytest.mark.process
def test_a_run_writes_them_too() -> None:
    files = ("--bundle", "b.jsonl", "--pcap", "some", "--pcap-all", "all")

    assert main(["run", "--reference", SMALL, *files]) == 0

    assert names("some") == []
    corners = ("", "_third-partition", "_upgraded-topic")
    assert names("all") == [f"nsq_publish_ok_one-sign{corner}.pcapng" for corner in corners]


def test_without_the_extra_a_report_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled()
    monkeypatch.setattr(pcap, "is_installed", lambda: False)

    assert main(["report", "b.jsonl", "--pcap", "captures"]) == 2

    err = capsys.readouterr().err
    assert err == f"wireproof: {pcap.MISSING}\n"
    assert not Path("captures").exists()


@pytest.mark.process
def test_without_the_extra_a_run_says_so_first_and_judges(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pcap, "is_installed", lambda: False)

    assert main(["run", "--reference", SMALL, "--bundle", "b.jsonl", "--pcap", "some"]) == 0

    said = capsys.readouterr()
    assert said.err.startswith(f"wireproof: --pcap some left out: {pcap.MISSING}\n")
    assert "NO FAILURE" in said.out
    assert not Path("some").exists()


def test_a_file_in_the_place_of_the_folder_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("some").write_text("x")

    assert main(["run", "--reference", SMALL, "--pcap", "some"]) == 2

    assert "--pcap some: expected a folder, found a file" in capsys.readouterr().err


def test_findings_of_the_fuzzer_have_captures_too() -> None:
    finding = FindingRecord(
        id="abcdef012345",
        violated="answer",
        words="no answer",
        state="magic-sent",
        frame="PUB",
        field="size",
        answer="silence",
        seed=1,
        shown=5,
        runs=5,
        seen=9,
        at_s=1.0,
        cases=(),
        transcript=made.transcript(),
    )
    writer = BundleWriter(Path("b.jsonl"), made.header())
    writer.add(finding)
    writer.close(conclude(made.header(), [], made.catalogue(), RunFactors()))

    assert main(["report", "b.jsonl", "--pcap", "captures"]) == 0

    assert names("captures") == ["nsq_fuzz_answer_abcdef012345.pcapng"]


@pytest.mark.process
def test_without_the_extra_the_fuzzer_says_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pcap, "is_installed", lambda: False)

    assert main(["fuzz", "--reference", "nsq", "--cases", "5", "--bundle", "f.jsonl"]) == 0

    assert f"wireproof: {WITHOUT_SCAPY}; " in capsys.readouterr().err
