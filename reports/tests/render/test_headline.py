from pathlib import Path

import msgspec
import pytest
from bundle_fixture import failures, header, write_bundle

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.causes import fold
from wireproof_reports.render.page import Headline, headline, page_of
from wireproof_spec.record import CaseRecord


def bundle_of(tmp_path: Path, cases: list[CaseRecord], code: int, profile: str) -> Bundle:
    path = write_bundle(tmp_path / "b.jsonl", cases, first=header(profile=profile), exit=code)
    return read_bundle(path)


def said(bundle: Bundle) -> Headline:
    return headline(bundle, fold(bundle.cases))


def test_causes_are_counted_up_to_the_profile(tmp_path: Path) -> None:
    line = said(bundle_of(tmp_path, list(failures()), 1, "must"))

    assert (line.tone, line.title) == ("bad", "3 causes of failure up to level must")
    assert "6 cases failed, folded by what went wrong." in line.details
    assert "1 cause shown but not counted." in line.details


def test_headline_and_tally_count_the_same_failures(tmp_path: Path) -> None:
    failed = list(failures())
    mixed = msgspec.structs.replace(failed[0], level="should", case="nsq/publish/header-name/x")
    bundle = bundle_of(tmp_path, [*failed, mixed], 1, "must")
    page = page_of(bundle)
    tally = {word.title: count for word, count in page.tally}

    assert f"{tally['fail']} cases failed, folded by what went wrong." in page.headline.details
    assert page.headline.title.startswith(f"{page.counting} causes")
    assert tally["failed, not counted"] == len(failed) + 1 - tally["fail"]


@pytest.mark.parametrize(
    ("code", "tone", "word"),
    [
        (0, "good", "No failure up to level must"),
        (2, "open", "Not judged"),
        (3, "open", "Undecided"),
    ],
)
def test_only_exit_zero_is_good(tmp_path: Path, code: int, tone: str, word: str) -> None:
    line = said(bundle_of(tmp_path, [], code, "must"))

    assert line.tone == tone
    assert line.title.startswith(word)


def test_an_outdated_list_of_deviations_is_bad(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, [], 1, "must")
    stale = msgspec.structs.replace(bundle.footer, stale=("nsq/a",), expired=("nsq/b", "nsq/c"))
    line = said(Bundle(bundle.name, bundle.header, bundle.cases, stale))

    assert line.tone == "bad"
    assert "1 listed deviation no longer seen." in line.details
    assert "2 listed deviations expired." in line.details


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, [], 130, "must")
    footer = msgspec.structs.replace(bundle.footer, interrupted=True)
    line = said(Bundle(bundle.name, bundle.header, bundle.cases, footer))

    assert (line.tone, line.title) == ("open", "Interrupted: part of a run, no failure so far")
