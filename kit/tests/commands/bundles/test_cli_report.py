"""Reports of bundles without running anything."""

import json
from pathlib import Path

import cli_bundle as made
import pytest

from wireproof.main import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("b.jsonl"), made.failing())


def test_without_an_option_a_page_lies_beside_the_bundle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "b.jsonl"]) == 0

    assert capsys.readouterr().out == "html   b.html\n"
    assert Path("b.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_every_form_is_written_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    forms = {
        "html": "new/r.html",
        "junit": "r.xml",
        "md": "r.md",
        "badge": "r.json",
        "statement": "s.html",
    }
    arguments = [word for name, file in forms.items() for word in (f"--{name}", file)]

    assert main(["report", "b.jsonl", *arguments, "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert {item["format"]: item["file"] for item in told} == forms
    assert all(Path(file).stat().st_size for file in forms.values())


def test_several_bundles_go_into_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("c.jsonl"), list(made.conforming()))

    assert main(["report", "b.jsonl", "c.jsonl", "--html", "pages/", "--md", "pages"]) == 0

    assert sorted(path.name for path in Path("pages").iterdir()) == [
        "b.html",
        "b.md",
        "c.html",
        "c.md",
    ]
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_allure_results_are_a_folder_one_for_each_of_several_bundles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "b.jsonl", "--allure", "results"]) == 0
    assert capsys.readouterr().out == "allure results\n"
    assert Path("results/categories.json").exists()

    made.write(Path("c.jsonl"), list(made.conforming()))
    assert main(["report", "b.jsonl", "c.jsonl", "--allure", "many"]) == 0
    assert sorted(path.name for path in Path("many").iterdir()) == ["b", "c"]


def test_without_allure_its_site_is_refused_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(Path.cwd()))
    monkeypatch.delenv("ALLURE_HOME", raising=False)

    assert main(["report", "b.jsonl", "--allure-html", "site"]) == 2

    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "no Allure was found; install Allure 3 with `npm install --global allure`" in err
    assert not Path("site").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "missing argument 'BUNDLE...'"),
        (["none.jsonl"], "none.jsonl"),
        (["no-bundle.txt"], "no-bundle.txt"),
        (["."], ". is a folder; expected bundles: `wireproof report ./*.jsonl --html pages/`"),
        ([".", "--cause", "x"], ". is a folder"),
        (["b.jsonl", "b.jsonl", "--html", "x.html"], "expected a folder for several bundles"),
        (["b.jsonl", "--html", "b.jsonl/x.html"], "cannot be written"),
        (["b.jsonl", "--htm", "x"], "'--html'"),
        (["b.jsonl", "--allure", "no-bundle.txt"], "cannot be written"),
        (["b.jsonl", "--allure-html", "no-bundle.txt"], "expected a folder for the site"),
        (["b.jsonl", "--html", "b.jsonl"], "--html b.jsonl is the place of the bundle"),
        (["b.jsonl", "--junit", "c.jsonl"], "--junit c.jsonl: the file there is a bundle"),
        (["b.jsonl", "--html", "x", "--md", "./x"], "--md x is the place of --html"),
        (["b.jsonl", "--cause", "y", "--html", "b.jsonl"], "is the place of the bundle"),
        (["b.jsonl", "--allure-html", "."], "holds something else than an Allure site"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("no-bundle.txt").write_text("hello\n")
    kept = Path("b.jsonl").read_bytes()
    Path("c.jsonl").write_bytes(kept)

    assert main(["report", *arguments]) == 2
    assert Path("b.jsonl").read_bytes() == Path("c.jsonl").read_bytes() == kept

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
