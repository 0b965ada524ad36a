from pathlib import Path

import pytest
from bundle_fixture import case, header, write_bundle

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.causes import fold
from wireproof_reports.render.clauses import ClauseView, GroupView, anchor, group_views
from wireproof_spec.record import CaseRecord


def groups_of(bundle: Bundle) -> dict[str, GroupView]:
    views = group_views(bundle, bundle.catalogue(), fold(bundle.cases))
    return {view.id: view for view in views}


@pytest.fixture
def groups(tmp_path: Path) -> dict[str, GroupView]:
    return groups_of(read_bundle(write_bundle(tmp_path / "b.jsonl")))


def clause(groups: dict[str, GroupView], name: str) -> ClauseView:
    return next(view for group in groups.values() for view in group.clauses if view.id == name)


def test_states_of_groups(groups: dict[str, GroupView]) -> None:
    assert groups["ext.publish"].state == "judged"
    assert groups["ext.upgrade"].state == "not judged"
    assert (groups["ext.disk"].state, groups["ext.disk"].why) == (
        "not selected",
        "give --data to judge it",
    )
    assert list(groups)[-1] == "ext.disk"


def test_clauses_for_clients_are_none_of_a_broker(groups: dict[str, GroupView]) -> None:
    assert groups.keys().isdisjoint({"ext.client", "ext.client-header"})


def test_states_of_clauses(groups: dict[str, GroupView]) -> None:
    assert clause(groups, "ext.publish.accept").state == "asserted"
    unsupported = clause(groups, "ext.upgrade.accept")
    assert unsupported.state == "unsupported"
    assert "neither claims nor shows" in unsupported.why
    skipped = clause(groups, "ext.disk.layout")
    assert (skipped.state, skipped.why) == ("not run", "give --data to judge it")


def test_a_clause_without_conclusion_is_only_touched(tmp_path: Path) -> None:
    cases = [case("a/b", "ext.publish.accept", "t", "x", "inconclusive", reason="too slow")]
    bundle = read_bundle(write_bundle(tmp_path / "b.jsonl", cases))
    touched = clause(groups_of(bundle), "ext.publish.accept")

    assert (touched.state, touched.why) == ("touched", "too slow")


def test_failing_cases_lead_to_their_cause(groups: dict[str, GroupView]) -> None:
    cases = clause(groups, "ext.publish.header-name").cases
    causes = {view.cause for view in cases if view.word.name == "fail"}

    assert causes == {"cause-4"}
    assert all(view.exchange is None for view in cases if view.cause)


def test_passing_cases_are_plain_lines(groups: dict[str, GroupView]) -> None:
    (passing, _) = clause(groups, "ext.publish.accept").cases

    assert passing.exchange is None
    assert "PUB_EXT" in passing.talk


def test_source_names_document_and_section(groups: dict[str, GroupView]) -> None:
    source = clause(groups, "ext.publish.accept").source

    assert source == "published text 000, section “Extend PUB protocol”"


def test_only_the_documents_of_the_run_are_shown(tmp_path: Path) -> None:
    none: list[CaseRecord] = []
    path = write_bundle(tmp_path / "b.jsonl", none, first=header(spec={"smart": 1}))

    assert groups_of(read_bundle(path)).keys().isdisjoint({"ext.publish", "ext.disk"})


def test_anchors_differ_when_names_do() -> None:
    names = ["a b", "a~20b", "a%20b", "a/b", "a.b", 'a"b', "a\u2028b"]

    assert len({anchor("case", name) for name in names}) == len(names)
    assert anchor("case", "nsq/publish/x") == "case-nsq/publish/x"
