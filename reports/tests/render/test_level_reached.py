from pathlib import Path

import pytest
from bundle_fixture import case, failed, header, others, write_bundle

from wireproof_reports.bundle_file import read_bundle
from wireproof_reports.render.level_reached import LevelReached, levels_reached
from wireproof_spec.record import CaseRecord

MUST = case("publish/accept", "ext.publish.accept", "t", "ok,open")
SHOULD = case("publish/strict", "ext.publish.header-strict", "t", "error:*,open")
WEAK = failed("publish/name", "ext.publish.header-name", "t", "ok,open", ["error:*,open"])
FAIL = failed("publish/accept/x", "ext.publish.accept", "t", "closed", ["ok,open"])


def reached(tmp_path: Path, *cases: CaseRecord, **first: object) -> LevelReached:
    path = write_bundle(tmp_path / "run.jsonl", cases, first=header(**first))
    (found,) = levels_reached(read_bundle(path))
    return found


def against(found: LevelReached) -> str:
    """Return which cases stand against more, without the groups of which none was run."""
    first = found.but.split("; ")[0]
    return "" if first.startswith("not ") else first


def test_the_levels_are_what_the_test_takes_them_for() -> None:
    assert (MUST.level, SHOULD.level, WEAK.level) == ("must", "should", "should")


@pytest.mark.parametrize(
    ("cases", "level", "but"),
    [
        ((MUST,), "must", ""),
        ((MUST, SHOULD), "should", ""),
        ((MUST, SHOULD, WEAK), "must", "1 of 2 should cases deviate"),
        ((MUST, FAIL), "", "1 of 2 must cases deviate"),
        ((SHOULD,), "", "no must case was asserted"),
    ],
)
def test_a_level_is_reached_when_all_up_to_it_conforms(
    tmp_path: Path, cases: tuple[CaseRecord, ...], level: str, but: str
) -> None:
    found = reached(tmp_path, *cases)

    assert (found.level, against(found)) == (level, but)


def test_musts_of_an_origin_that_does_not_count_are_named_and_hold_nothing_up(
    tmp_path: Path,
) -> None:
    lost = failed("publish/x", "ext.publish.accept", "t", "closed", ["ok"], origin="premise")
    found = reached(tmp_path, MUST, lost, origins=("text", "base"))

    assert found.level == "must"
    assert against(found) == "1 of 1 must cases of an origin not counted deviate"
    assert reached(tmp_path, MUST, lost).level == ""


def test_a_known_deviation_is_counted_and_no_level_is_reached_by_it(tmp_path: Path) -> None:
    known = [record for record in others() if record.verdict == "known"]
    found = reached(tmp_path, MUST, *known)

    assert (found.level, found.known) == ("must", 2)
    assert against(found) == "2 of 2 should cases deviate"


def test_what_was_not_judged_or_not_selected_is_named(tmp_path: Path) -> None:
    lack = [record for record in others() if record.verdict == "unsupported"]
    found = reached(tmp_path, MUST, *lack)

    assert found.level == "must"
    judged, selected = found.but.split("; ")
    assert judged == "not judged: ext.upgrade"
    assert selected.startswith("not selected: ext.")
    assert {"ext.disk", "ext.dispatch", "ext.http"} <= set(selected[14:].split(", "))
    assert "ext.publish" not in found.but
    assert "ext.client" not in found.but


def test_nothing_judged_is_no_level(tmp_path: Path) -> None:
    assert reached(tmp_path).but == "not judged: nothing of it was selected"
