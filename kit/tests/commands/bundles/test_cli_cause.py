"""`wireproof report --cause`: one page about one failure."""

from pathlib import Path

import cli_bundle as made
import pytest

from wireproof.main import main


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
