import json
from pathlib import Path

import pytest
from page_reader import PageReader
from site_fixture import ANSWERS, write_data

from wireproof_reports.site import SiteFault, write
from wireproof_reports.site.__main__ import main

PAGES = {
    "index",
    "matrix",
    "versions",
    "flakes",
    "causes",
    "durations",
    "coverage",
    "campaigns",
    "surprise",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_data(folder, {"flaky": 70_000})
    assert write(folder) == folder / "index.html"
    return folder


def test_a_page_for_each_subject_and_one_for_what_nobody_foresaw(site: Path) -> None:
    assert {path.stem for path in site.glob("*.html")} == PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_well_formed_and_loads_only_what_lies_beside_it(site: Path, name: str) -> None:
    page = PageReader((site / f"{name}.html").read_text("utf-8"))

    assert page.faults == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for place in [*page.values("src"), *page.values("href")]:
        if not place.startswith("#"):
            assert (site / place.partition("#")[0]).is_file(), place
    assert sum(element.tag == "h1" for element in page.elements) == 1


def test_the_policy_lets_nothing_else_in(site: Path) -> None:
    page = PageReader((site / "matrix.html").read_text("utf-8"))
    policy = next(value for value in page.values("content") if "default-src" in value)

    assert policy.startswith("default-src 'none'; script-src 'self' file:;")
    assert "http" not in policy


def test_plotly_is_there_once_and_loaded_where_something_is_drawn(site: Path) -> None:
    assert len(list(site.rglob("plotly*"))) == 1
    assert "plotly.min.js" in (site / "flakes.html").read_text("utf-8")
    assert "plotly.min.js" not in (site / "surprise.html").read_text("utf-8")


def test_data_in_scripts_is_the_data(site: Path) -> None:
    for name in ANSWERS:
        script = (site / "answers" / f"{name}.js").read_text("utf-8")
        begin = f'wireproof.take("{name}",'
        assert script.startswith(begin)
        assert json.loads(script[len(begin) : -3]) == json.loads(
            (site / "data" / f"{name}.json").read_text("utf-8")
        )


def test_a_cut_is_said(site: Path) -> None:
    text = (site / "flakes.html").read_text("utf-8")

    assert "The first 1 of 70,000 rows are here." in text


def test_the_law_of_each_protocol_is_beside_it(site: Path) -> None:
    script = (site / "answers" / "law.js").read_text("utf-8")
    law = json.loads(script.removeprefix('wireproof.take("law",')[:-3])

    assert law["ext.publish.header-json"]["level"] == "should"
    assert "iggy.state.codes" not in law
    assert law["ext.publish.header-json"]["again"] == "run"
    assert law["smart.client-send.trace"]["again"] == "client"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 2}, "has schema 2, this version shows 1"),
        ({"schema": None}, "has schema None"),
    ],
)
def test_data_of_another_version_is_refused(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    write_data(tmp_path)
    index = tmp_path / "data" / "index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), **change}))

    with pytest.raises(SiteFault, match=sentence):
        write(tmp_path)


def test_no_data_and_damaged_data_are_told(tmp_path: Path) -> None:
    with pytest.raises(SiteFault, match="is missing; expected what `wireproof aggregate` wrote"):
        write(tmp_path)
    write_data(tmp_path)
    (tmp_path / "data" / "matrix.json").write_text('{"schema": 1')
    with pytest.raises(SiteFault, match="cannot be read"):
        write(tmp_path)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("index.json", '{"schema": 1}'),
        ("index.json", '{"schema": 1, "questions": [{"question": "matrix"}]}'),
        ("index.json", '{"schema": 1, "questions": []}'),
        ("matrix.json", '{"schema": 1}'),
    ],
)
def test_data_with_something_missing_is_told(tmp_path: Path, file: str, text: str) -> None:
    write_data(tmp_path)
    (tmp_path / "data" / file).write_text(text)

    with pytest.raises(SiteFault, match=r"found damaged data .*; write them again with"):
        write(tmp_path)


@pytest.mark.parametrize("name", ["../x", "law", "Index", ""])
def test_a_question_with_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    write_data(tmp_path)
    index = tmp_path / "data" / "index.json"
    document = json.loads(index.read_text())
    document["questions"][0]["question"] = name
    index.write_text(json.dumps(document))

    with pytest.raises(SiteFault, match="a question is called"):
        write(tmp_path)


def test_a_site_is_written_again_over_itself(tmp_path: Path) -> None:
    write_data(tmp_path)
    write(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write(tmp_path)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_pages_of_what_a_cluster_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"wireproof: {tmp_path}/data/index.json is missing")
    write_data(tmp_path)

    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/index.html\n"
    assert main(["--help"]) == main([]) == 2


def test_a_site_that_cannot_be_written_is_told_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    (tmp_path / "assets").write_text("a file")

    assert main([str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.endswith("cannot be written (File exists)\n")
    assert len(err.splitlines()) == 1
