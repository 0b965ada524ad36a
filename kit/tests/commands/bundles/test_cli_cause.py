"""`wireproof report --cause`: one page about one failure."""

from pathlib import Path

import cli_bundle as made
import msgspec
import pytest

from wireproof.main import main
from wireproof_spec.record import CaseRecord, RepeatsRecord, SeenRecord


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("run.jsonl"), made.failing(2))


def failed() -> str:
    return next(r.case for r in made.read(Path("run.jsonl")).cases if r.verdict == "fail")


def test_a_page_is_written_beside_the_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    case = failed()
    page = Path(f"run.{case.replace('/', '-')}.html")

    assert main(["report", "run.jsonl", "--cause", case]) == 0
    assert capsys.readouterr().out == f"html   {page}\n"
    assert case in page.read_text("utf-8")
    assert main(["report", "run.jsonl", "--cause", case, "--html", "pages/one.html"]) == 0
    assert Path("pages/one.html").read_bytes() == page.read_bytes()


def test_a_failure_is_named_by_its_signature_too() -> None:
    case = next(r for r in made.read(Path("run.jsonl")).cases if r.verdict == "fail")

    assert main(["report", "run.jsonl", "--cause", case.signature or "", "--html", "x.html"]) == 0
    assert case.case in Path("x.html").read_text("utf-8")


def test_a_misspelt_case_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "run.jsonl", "--cause", f"{failed()}x"]) == 2
    assert f"did you mean {failed()!r}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run.jsonl", "--cause", "nope"], "run.jsonl: no failure has the cause or case 'nope'"),
        (["run.jsonl", "run.jsonl", "--cause", "x"], "--cause: expected one bundle"),
        (["run.jsonl", "--cause", "x", "--junit", "j.xml"], "no report beside --html FILE"),
        (["none.jsonl", "--cause", "x"], "none.jsonl"),
    ],
)
def test_mistakes_get_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["run.jsonl"]


def seen_sometimes() -> list[CaseRecord]:
    """A run in which one case failed in one of three repeats, and one that none was left for."""
    records = made.failing(2)
    first, second = (index for index, each in enumerate(records) if each.observation == made.ODD)
    kept = SeenRecord(list(made.conforming())[first].observation)
    for index, repeats in (
        (first, RepeatsRecord(3, 1, (kept, kept))),
        (second, RepeatsRecord(1, 1, (), "they were spent")),
    ):
        records[index] = msgspec.structs.replace(records[index], repeats=repeats)
    return records


def test_what_only_some_runs_showed_has_its_exchange_and_a_next_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = made.read(made.write(Path("some.jsonl"), seen_sometimes()))
    unstable, once = (case for case in run.cases if case.observation == made.ODD)
    assert (unstable.verdict, once.verdict) == ("unstable", "inconclusive")
    main(["judge", "some.jsonl"])
    block = capsys.readouterr().out.partition("UNSTABLE ")[2].partition("\n\n")[0]

    assert "1/3 repeats" in block
    assert "  sent      50 55 42" in block
    assert "  again     intermittent" in block
    for command in ("replay", "report", "explain"):
        assert f"  {command:<10}wireproof {command} " in block
    for case in (unstable.case, once.case):
        assert main(["report", "some.jsonl", "--cause", case, "--html", "one.html"]) == 0
        assert case in Path("one.html").read_text("utf-8")
