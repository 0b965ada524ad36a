"""The recorder of a campaign: what it keeps without its corpus, what it tells of workers."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec
import pytest

from wireproof.fuzzing.corpus import Corpus
from wireproof.fuzzing.recorder import FuzzRecorder
from wireproof.options.global_options import OutputStyle
from wireproof.view.fuzzing import Conclusion, choose_fuzz_view
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import Ended, Opened, Status
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.send.counts import Counts
from wireproof_spec.fuzz_record import FindingRecord, FuzzCaseRecord, SentRecord

CASE = FuzzCaseRecord(0, "fresh", "magic", "magic", "empty", (SentRecord(),))
FOUND = FindingRecord(
    "0123456789ab", "answer", "", "fresh", "magic", "magic", "OK", 1, 5, 5, 1, 0.1, (CASE,)
)


class LastWord:
    """Remembers what a campaign came to."""

    conclusion: Conclusion | None = None

    def begin(self, url: str, seed: int, bundle: Path, first: int) -> None:
        """Show nothing."""

    def opened(self, fingerprint: Mapping[str, str]) -> None:
        """Show nothing."""

    def wait(self, what: str, seconds: float) -> None:
        """Show nothing."""

    def went_on(self, told: Sequence[Status], findings: Sequence[FindingRecord]) -> None:
        """Show nothing."""

    def show_finding(self, finding: FindingRecord, left_out: Sequence[str]) -> None:
        """Show nothing."""

    def end(self, conclusion: Conclusion) -> None:
        """Remember."""
        self.conclusion = conclusion


def recorder_in(folder: Path, view: LastWord) -> FuzzRecorder:
    return FuzzRecorder(
        bundle=folder / "b.jsonl",
        protocol="nsq",
        url="nsq://127.0.0.1:1",
        given=(),
        seed=1,
        deviations=(),
        today=date(2026, 1, 1),
        view=view,
        corpus=Corpus(folder / "gone"),
        workers=1,
        wanted="/",
    )


def test_a_corpus_that_cannot_be_written_costs_neither_finding_nor_bundle(tmp_path: Path) -> None:
    view = LastWord()
    recorder = recorder_in(tmp_path, view)

    recorder.hear(Opened({}, {}, 1.0))
    recorder.hear(FOUND)
    recorder.hear(Ended(Status(0, counts=Counts(piped=1)), Coverage()))
    code = recorder.close(interrupted=False)

    assert code == 1
    assert view.conclusion is not None
    (failure,) = view.conclusion.failures
    assert (
        failure == f"--corpus {tmp_path / 'gone'}: cannot be written (No such file or directory)"
    )
    assert [each.id for each in read_bundle(tmp_path / "b.jsonl").findings] == [FOUND.id]
    assert not (tmp_path / "b-findings").exists(), "there is nothing to write into it"


def test_a_bundle_is_named_once_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = choose_fuzz_view(OutputStyle(), WorkerPlan(Choice(1)))
    view.begin("nsq://127.0.0.1:1", 1, tmp_path / "b.jsonl", 0)
    assert "b.jsonl" not in capsys.readouterr().out

    view.opened({})
    view.show_finding(msgspec.structs.replace(FOUND, shown=0, runs=1), ())

    out = capsys.readouterr().out
    assert f"bundle   {tmp_path / 'b.jsonl'}" in out
    assert "0/1 repeats: seen in the campaign, but not again" in out


def test_the_bundle_says_from_when_on_a_process_was_not_watched(tmp_path: Path) -> None:
    recorder = recorder_in(tmp_path, LastWord())
    recorder.hear(Opened({}, {}, 1.0))
    for worker, since_s in enumerate((None, 7.5, 3.25)):
        recorder.hear(Ended(Status(worker, unwatched_s=since_s), Coverage()))

    recorder.close(interrupted=False)

    campaign = read_bundle(tmp_path / "b.jsonl").campaign
    assert campaign is not None
    assert campaign.unwatched_s == 3.25
