from pathlib import Path

import msgspec
import pytest
from bundle_fixture import failures, header, write_bundle
from page_reader import PageReader

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.render.statement import render, write


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> PageReader:
    return PageReader(render(write_bundle(tmp_path_factory.mktemp("bundle") / "run-0142.jsonl")))


def part(page: PageReader, name: str) -> str:
    return next(e.text for e in page.all("section") if e.attributes["id"] == name)


def test_well_formed_with_unique_ids(page: PageReader) -> None:
    assert page.faults == []
    ids = page.values("id")
    assert len(ids) == len(set(ids))


def test_the_level_reached_and_what_stands_against_more(page: PageReader) -> None:
    assert "ext r1" in part(page, "reached")
    told = part(page, "reached")
    assert "must cases deviate; not judged: ext.upgrade; not selected: ext.disk" in told
    assert "ext.client" not in told


def test_deviations_have_reason_and_date(page: PageReader) -> None:
    assert "known until 2027-03-31: the header reader is replaced in 4.3" in part(
        page, "deviations"
    )


def test_the_exact_command_stands_at_the_end(page: PageReader) -> None:
    assert "--profile should --seed 7319 --bundle run-0142.jsonl" in part(page, "run")


def test_failures_say_what_was_observed(page: PageReader) -> None:
    assert "the target died" in part(page, "failures")


def test_nothing_is_loaded_from_elsewhere(page: PageReader) -> None:
    assert page.all("link", "img", "iframe", "script", "object", "embed", "base") == []
    assert all(value.startswith("#") for value in page.values("href"))


def test_text_of_a_bundle_is_no_markup(tmp_path: Path) -> None:
    hostile = "</td><script>x</script>"
    strange = msgspec.structs.replace(next(failures()), case=hostile, observation=hostile)
    first = header(
        target={"url": "nsq://h:1", "protocol": "nsq", "fingerprint": {"name": hostile}}
    )
    shown = PageReader(render(write_bundle(tmp_path / "run.jsonl", [strange], first=first)))

    assert shown.all("script") == []
    assert shown.faults == []


def test_write(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "run.jsonl")
    write(path, tmp_path / "statement.html")

    assert (tmp_path / "statement.html").read_text("utf-8") == render(path)


def test_a_fault_is_told(tmp_path: Path) -> None:
    with pytest.raises(BundleFault):
        render(tmp_path / "none.jsonl")
