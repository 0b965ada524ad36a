import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as etree

import msgspec
import pytest
from bundle_fixture import case, failures, others, write_bundle

from wireproof_reports.bundle_file import read_bundle
from wireproof_reports.render.badge import badge_of, render, write
from wireproof_spec.record import CaseRecord


def badge_text(tmp_path: Path, cases: list[CaseRecord], code: int) -> tuple[str, str]:
    badge = badge_of(read_bundle(write_bundle(tmp_path / "run.jsonl", cases, exit=code)))
    return badge.message, badge.tone


def mixed() -> list[CaseRecord]:
    return [*failures(), *others(), case("publish/accept", "ext.publish.accept", "t", "ok")]


def test_failures_and_groups_not_judged_show(tmp_path: Path) -> None:
    assert badge_text(tmp_path, mixed(), 1) == (
        "3/9 must (3/7 text, 0/2 premise), ext.upgrade not judged",
        "bad",
    )


@pytest.mark.parametrize(("code", "tone"), [(0, "good"), (1, "open"), (2, "open"), (3, "open")])
def test_good_only_when_the_run_was(tmp_path: Path, code: int, tone: str) -> None:
    cases = [case("publish/accept", "ext.publish.accept", "t", "ok")]

    assert badge_text(tmp_path, cases, code) == ("1/1 must (1 text)", tone)


def test_nothing_judged(tmp_path: Path) -> None:
    assert badge_text(tmp_path, [], 2) == ("not judged", "open")


def test_a_part_of_a_group_that_fails_is_told(tmp_path: Path) -> None:
    """A group without its core is not judged, however many of its cases fail."""
    whole = read_bundle(write_bundle(tmp_path / "run.jsonl", list(failures())))
    groups = [msgspec.structs.replace(each, judged=False) for each in whole.footer.groups]
    footer = msgspec.structs.replace(whole.footer, groups=tuple(groups))

    badge = badge_of(replace(whole, footer=footer))

    assert (badge.message, badge.tone) == ("6 must failed, no group judged", "bad")


@pytest.mark.parametrize("name", ["badge.svg", "badge.json"])
def test_svg_and_json(tmp_path: Path, name: str) -> None:
    path = write_bundle(tmp_path / "run.jsonl", mixed())
    write(path, tmp_path / name)

    svg = etree.fromstring((tmp_path / "badge.svg").read_text("utf-8"))
    message = "3/9 must (3/7 text, 0/2 premise), ext.upgrade not judged"
    assert svg.get("aria-label") == f"wireproof ext: {message}"
    content = json.loads((tmp_path / "badge.json").read_text("utf-8"))
    assert content["message"] == message
    assert render(path) == (tmp_path / "badge.svg").read_text("utf-8")


def test_a_bundle_from_before_origins_counts_musts_alone(tmp_path: Path) -> None:
    cases = [case("publish/accept", "ext.publish.accept", "t", "ok", origin="")]

    assert badge_text(tmp_path, cases, 0) == ("1/1 must", "good")
